// Tensor: a handle on dense, row-major storage, with a place on the tape.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include <lockstep/core/device.hpp>
#include <lockstep/core/dtype.hpp>
#include <lockstep/core/export.hpp>
#include <lockstep/core/shape.hpp>

namespace lockstep::inline v0 {

namespace detail {
struct TensorImpl;
}

struct BackwardOptions {
  bool retain_graph = false;  // keep what the tape saved, so that backward can run again
};

/// Copying the handle is cheap and shares the data; clone() copies the data. Zero elements are
/// legal everywhere. One tensor may be read by several threads at once; writing needs the caller's
/// own order.
class LOCKSTEP_API Tensor {
 public:
  /// Undefined: only defined() and assignment are allowed.
  Tensor() = default;
  Tensor(const Tensor&) = default;
  Tensor(Tensor&&) noexcept = default;
  /// Only to a tensor with a name: assigned to a call's result, the tensor would be lost.
  Tensor& operator=(const Tensor&) & = default;
  Tensor& operator=(Tensor&&) & noexcept = default;

  bool defined() const noexcept { return impl_ != nullptr; }
  const Shape& shape() const;
  std::int64_t element_count() const { return shape().element_count(); }
  std::int64_t byte_count() const;
  DType dtype() const;
  Device device() const;

  /// The elements; device memory where device() is CUDA. @throws InvalidUsage if T is not the
  /// dtype.
  template <class T>
  const T* data() const {
    return static_cast<const T*>(checked_data(dtype_of<T>));
  }
  /// As data(), for writing: a value that the tape saved is then refused by backward.
  /// @throws InvalidUsage on borrowed const memory.
  template <class T>
  T* mutable_data() {
    return static_cast<T*>(checked_mutable_data(dtype_of<T>));
  }
  /// The first byte, whatever the dtype.
  const void* raw_data() const;
  void* mutable_raw_data();

  /// The only element, read back to the host (synchronizes). @throws ShapeError unless there is
  /// exactly one.
  template <class T = double>
  T item() const;
  /// All elements on the host (synchronizes).
  template <class T = float>
  std::vector<T> to_vector() const;

  /// A new tensor with its own data (differentiable).
  Tensor clone() const;
  /// The same data without the tape.
  Tensor detach() const;
  /// A copy on another device (differentiable); the same handle if it is there already.
  Tensor to(Device device) const;
  /// A copy in another type (differentiable between floating-point types); the same handle if it
  /// has it already. Rounds to nearest even; a floating-point value is truncated to an integer, to
  /// the nearest that there is, NaN to 0; integers wrap.
  Tensor to(DType dtype) const;
  /// Overwrites the elements. Shapes and dtypes must agree. @throws ShapeError, InvalidUsage
  void copy_from(const Tensor& source);
  void fill(double value);

  /// Whether backward brings a gradient here. Only leaves of floating-point type may be switched.
  bool requires_grad() const;
  Tensor& set_requires_grad(bool requires_grad);
  /// Runs the tape from this scalar (gradient 1). Gradients of leaves are added to what they hold.
  /// @throws ShapeError if this is not one element; InvalidUsage if nothing here needs a gradient,
  /// if the tape was used up, or if a saved value was written over.
  void backward(BackwardOptions options = {}) const;
  /// The same from any shape, with the gradient of this tensor given.
  void backward(const Tensor& gradient, BackwardOptions options = {}) const;
  /// Whether a leaf has received a gradient since it was made or zeroed.
  bool has_gradient() const;
  /// The final gradient of a leaf, which later backwards may write to (clone() to keep it): waits
  /// for an exchange in flight. @throws InvalidUsage if there is none.
  Tensor gradient() const;
  /// Forgets the gradient of a leaf; the next backward overwrites it.
  void zero_gradient();

  const std::shared_ptr<detail::TensorImpl>& impl() const& noexcept { return impl_; }
  std::shared_ptr<detail::TensorImpl> impl() && noexcept { return std::move(impl_); }
  explicit Tensor(std::shared_ptr<detail::TensorImpl> impl) noexcept : impl_(std::move(impl)) {}

 private:
  const void* checked_data(DType dtype) const;
  void* checked_mutable_data(DType dtype);

  std::shared_ptr<detail::TensorImpl> impl_;
};

}  // namespace lockstep::inline v0
