// Parameter: a trained tensor with identity. Buffer: state that is saved and broadcast but not
// trained.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <lockstep/core/tensor.hpp>

namespace lockstep::inline v0 {

/// Every handle to a parameter sees its value and gradient wherever they lie in memory. Move-only,
/// so a module that holds parameters is move-only too: share() ties, clone() copies, and both have
/// to be said.
class LOCKSTEP_API Parameter {
 public:
  Parameter() = default;
  /// Takes the tensor as the value; it becomes a leaf that requires a gradient. @throws
  /// InvalidUsage if it is not a leaf of floating-point type.
  explicit Parameter(Tensor value);
  Parameter(Parameter&&) noexcept = default;
  Parameter& operator=(Parameter&&) noexcept = default;

  bool defined() const noexcept { return value_.defined(); }
  /// Another handle on the same parameter (tied weights).
  Parameter share() const;
  /// A new parameter with the same value.
  Parameter clone() const;
  bool same(const Parameter& other) const noexcept { return value_.impl() == other.value_.impl(); }

  /// The value, for operations. Handles to it stay valid when the parameter is packed into an
  /// arena. To change it write to it (copy_from, fill, mutable_data). Another tensor cannot be
  /// assigned to it: that would take the parameter away from its optimizer.
  const Tensor& value() const noexcept { return value_; }
  Tensor value() noexcept { return value_; }
  operator const Tensor&() const noexcept { return value_; }
  const Shape& shape() const { return value_.shape(); }

  /// Frozen parameters get no gradient, no update, and take no part in the exchange.
  void freeze() { value_.set_requires_grad(false); }
  void unfreeze() { value_.set_requires_grad(true); }
  bool frozen() const { return !value_.requires_grad(); }

  bool has_gradient() const { return value_.has_gradient(); }
  /// Final: waits for an exchange in flight. Once packed, later backwards write to the same memory:
  /// clone() to keep it. @throws InvalidUsage if there is none
  Tensor gradient() const { return value_.gradient(); }

 private:
  Tensor value_;
};

class LOCKSTEP_API Buffer {
 public:
  Buffer() = default;
  explicit Buffer(Tensor value) : value_(std::move(value)) {}
  Buffer(Buffer&&) noexcept = default;
  Buffer& operator=(Buffer&&) noexcept = default;
  Buffer clone() const { return Buffer(value_.detach().clone()); }

  bool defined() const noexcept { return value_.defined(); }
  const Tensor& value() const noexcept { return value_; }
  Tensor& value() noexcept { return value_; }
  void assign(Tensor value) { value_ = std::move(value); }

 private:
  Tensor value_;
};

/// A parameter under the name by which messages and checkpoints call it.
struct NamedParameter {
  std::string name;
  Parameter parameter;
};

/// The parameters of a model in order of registration, each once (tied ones under their first
/// name).
using ParameterList = std::vector<NamedParameter>;

/// Further handles on the same parameters.
LOCKSTEP_API ParameterList share(const ParameterList& parameters);

}  // namespace lockstep::inline v0
