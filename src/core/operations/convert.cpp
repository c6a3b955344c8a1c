// to(dtype), to(device), clone(): the gradient goes back the same way.
#include <vector>

#include <lockstep/core/tensor.hpp>

#include "core/operations/support.hpp"

namespace lockstep::inline v0 {

namespace detail {
namespace {

Tensor cast(const Tensor& x, DType dtype) {
  Tensor result = empty(x.shape(), dtype, x.device());
  backend_of(x).elementwise.cast(x.dtype(), x.raw_data(), dtype, result.impl()->data(),
                                 x.element_count(), queue_of(x));
  return result;
}

Tensor transfer(const Tensor& x, Device device) {
  Tensor result = empty(x.shape(), x.dtype(), device);
  void* destination = result.impl()->data();
  if (x.device().kind == DeviceKind::cpu) {
    backend_of(result).memory.copy_from_host(destination, x.raw_data(), x.byte_count(),
                                             queue_of(result));
  } else if (device.kind == DeviceKind::cpu) {
    backend_of(x).memory.copy_to_host(destination, x.raw_data(), x.byte_count(), queue_of(x));
  } else {
    return transfer(transfer(x, Device::cpu()), device);
  }
  return result;
}

class CastNode final : public Node {
 public:
  CastNode(const Tensor& result, const Tensor& x) : Node(result, {&x}), from_(x.dtype()) {}
  const char* name() const noexcept override { return "to"; }
  void release_saved() noexcept override {}
  void backward(const Tensor& gradient) override {
    if (GradientSlot* x = input(0)) x->give(cast(gradient, from_));
  }

 private:
  DType from_;
};

class CloneNode final : public Node {
 public:
  CloneNode(const Tensor& result, const Tensor& x) : Node(result, {&x}) {}
  const char* name() const noexcept override { return "clone"; }
  void release_saved() noexcept override {}
  void backward(const Tensor& gradient) override {
    if (GradientSlot* x = input(0)) x->give(gradient);
  }
};

class TransferNode final : public Node {
 public:
  TransferNode(const Tensor& result, const Tensor& x) : Node(result, {&x}), from_(x.device()) {}
  const char* name() const noexcept override { return "to"; }
  void release_saved() noexcept override {}
  void backward(const Tensor& gradient) override {
    if (GradientSlot* x = input(0)) x->give(transfer(gradient, from_));
  }

 private:
  Device from_;
};

}  // namespace
}  // namespace detail

Tensor Tensor::to(DType dtype) const {
  detail::checked(*this, "to");
  if (dtype == this->dtype()) return *this;
  Tensor result = detail::cast(*this, dtype);
  if (is_floating_point(dtype) && detail::wants_tape({this}))
    attach(result, detail::make_pooled<detail::CastNode>(result, *this));
  return result;
}

Tensor Tensor::clone() const {
  detail::checked(*this, "clone");
  Tensor result = empty(shape(), dtype(), device());
  detail::backend_of(*this).memory.copy(result.impl()->data(), raw_data(), byte_count(),
                                        detail::queue_of(*this));
  if (detail::wants_tape({this}))
    attach(result, detail::make_pooled<detail::CloneNode>(result, *this));
  return result;
}

Tensor Tensor::to(Device device) const {
  detail::checked(*this, "to");
  if (device == this->device()) return *this;
  Tensor result = detail::transfer(*this, device);
  if (detail::wants_tape({this}))
    attach(result, detail::make_pooled<detail::TransferNode>(result, *this));
  return result;
}

}  // namespace lockstep::inline v0
