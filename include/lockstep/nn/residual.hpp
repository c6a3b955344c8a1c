// A module with a path around it.
#pragma once

#include <utility>

#include <lockstep/core/error.hpp>
#include <lockstep/core/module.hpp>
#include <lockstep/core/operations.hpp>

namespace lockstep::inline v0::nn {

/// x + block(x) (He et al., arXiv:1512.03385); the block is named "block". May be a layer of a
/// Sequential.
template <class Block>
class Residual {
 public:
  /// Moves the block in; pass clone() of one that is to be kept.
  explicit Residual(Block block) : block_(std::move(block)) {}

  /// @throws ShapeError unless the block keeps the shape: it would be broadcast.
  Tensor operator()(const Tensor& x) const {
    const Tensor y = block_(x);
    if (!(y.shape() == x.shape()))
      throw ShapeError("Residual: the block made " + to_string(y.shape()) + " of " +
                       to_string(x.shape()) + "; it must keep the shape");
    return x + y;
  }

  Block& block() noexcept { return block_; }
  const Block& block() const noexcept { return block_; }

  Residual clone() const { return Residual(block_.clone()); }
  template <class Visitor>
  void visit(Visitor&& visitor) {
    visitor("block", block_);
  }

 private:
  Block block_;
};

}  // namespace lockstep::inline v0::nn
