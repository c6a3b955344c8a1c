// A table of rows that are looked up by number.
#pragma once

#include <optional>

#include <lockstep/core/module.hpp>
#include <lockstep/core/random.hpp>

namespace lockstep::inline v0::nn {

struct EmbeddingOptions {
  std::optional<std::int64_t> padding_index = {};  // starts as zeros, gets no gradient
  DType dtype = DType::float32;
};

/// Indices of any shape, int64 or int32 -> (..., columns): lockstep::embedding. weight (rows,
/// columns).
class LOCKSTEP_API Embedding {
 public:
  /// weight normal with mean 0 and deviation 1, PyTorch's default, from the default generator.
  /// @throws InvalidUsage for a padding index that is no row.
  Embedding(std::int64_t rows, std::int64_t columns, EmbeddingOptions options = {});
  Embedding(std::int64_t rows, std::int64_t columns, Generator& generator,
            EmbeddingOptions options = {});
  /// From a given parameter, for example a tied one, whose elements stay as they are. @throws
  /// ShapeError, InvalidUsage
  explicit Embedding(Parameter weight, std::optional<std::int64_t> padding_index = {});

  Tensor operator()(const Tensor& indices) const;

  Parameter& weight() noexcept { return weight_; }
  const Parameter& weight() const noexcept { return weight_; }
  std::int64_t rows() const { return weight_.shape()[0]; }
  std::int64_t columns() const { return weight_.shape()[1]; }
  std::optional<std::int64_t> padding_index() const noexcept { return padding_index_; }

  Embedding clone() const;
  template <class Visitor>
  void visit(Visitor&& visitor) {
    visitor("weight", weight_);
  }

 private:
  Parameter weight_;
  std::optional<std::int64_t> padding_index_;
};

}  // namespace lockstep::inline v0::nn
