#include <lockstep/core/tensor.hpp>

#include <cstring>
#include <utility>

#include <lockstep/core/create.hpp>
#include <lockstep/core/error.hpp>

#include "core/arena.hpp"
#include "core/object_pool.hpp"
#include "core/tape.hpp"
#include "core/tensor_impl.hpp"

namespace lockstep::inline v0 {

namespace detail {

Storage::~Storage() {
  if (allocated)
    backend::backend_for(device).memory.release(data, byte_count, backend::current_queue(device));
}

std::shared_ptr<Storage> allocate_storage(std::int64_t byte_count, Device device) {
  auto storage = make_pooled<Storage>();
  storage->data =
      backend::backend_for(device).memory.allocate(byte_count, backend::current_queue(device));
  storage->byte_count = byte_count;
  storage->device = device;
  storage->allocated = true;
  return storage;
}

std::shared_ptr<Storage> part_of(void* data, std::int64_t byte_count, Device device,
                                 std::shared_ptr<const void> owner) {
  auto storage = make_pooled<Storage>();
  storage->data = data;
  storage->byte_count = byte_count;
  storage->device = device;
  storage->owner = std::move(owner);
  return storage;
}

Tensor make_tensor(std::shared_ptr<Storage> storage, const Shape& shape, DType dtype) {
  auto impl = make_pooled<TensorImpl>();
  impl->storage = std::move(storage);
  impl->shape = shape;
  impl->dtype = dtype;
  return Tensor(std::move(impl));
}

Tensor slice_of(const Tensor& flat, std::int64_t begin, std::int64_t count) {
  const std::int64_t element = byte_size(flat.dtype());
  auto* bytes = static_cast<std::byte*>(flat.impl()->data());
  auto storage = part_of(bytes == nullptr ? nullptr : bytes + begin * element, count * element,
                         flat.device(), flat.impl()->storage);
  return make_tensor(std::move(storage), Shape{count}, flat.dtype());
}

const TensorImpl& checked(const Tensor& tensor, const char* operation) {
  if (!tensor.defined())
    throw InvalidUsage(std::string(operation) + ": the tensor is undefined (default-constructed)");
  return *tensor.impl();
}

const backend::Backend& backend_of(const Tensor& tensor) {
  return backend::backend_for(tensor.impl()->device());
}

backend::Queue queue_of(const Tensor& tensor) {
  return backend::current_queue(tensor.impl()->device());
}

std::string describe(const Tensor& tensor) {
  return std::string(name(tensor.dtype())) + " " + to_string(tensor.shape());
}

}  // namespace detail

namespace {

using detail::checked;

/// One element or all, on the host, converted.
template <class Source, class T>
void convert(const void* bytes, std::vector<T>& values) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    Source value;
    std::memcpy(&value, static_cast<const std::byte*>(bytes) + i * sizeof(Source), sizeof(Source));
    values[i] = static_cast<T>(value);
  }
}

template <class T>
std::vector<T> host_values(const Tensor& tensor) {
  const bool half = tensor.dtype() == DType::bfloat16 || tensor.dtype() == DType::float16;
  const Tensor source = half ? tensor.detach().to(DType::float32) : tensor;
  std::vector<std::byte> bytes(static_cast<std::size_t>(source.byte_count()));
  detail::backend_of(source).memory.copy_to_host(bytes.data(), source.raw_data(),
                                                 source.byte_count(), detail::queue_of(source));
  std::vector<T> values(static_cast<std::size_t>(source.element_count()));
  switch (source.dtype()) {
    case DType::float64:
      convert<double>(bytes.data(), values);
      break;
    case DType::int64:
      convert<std::int64_t>(bytes.data(), values);
      break;
    case DType::int32:
      convert<std::int32_t>(bytes.data(), values);
      break;
    case DType::uint8:
      convert<std::uint8_t>(bytes.data(), values);
      break;
    default:
      convert<float>(bytes.data(), values);
  }
  return values;
}

}  // namespace

const Shape& Tensor::shape() const { return checked(*this, "shape").shape; }
DType Tensor::dtype() const { return checked(*this, "dtype").dtype; }
Device Tensor::device() const { return checked(*this, "device").device(); }
std::int64_t Tensor::byte_count() const { return element_count() * byte_size(dtype()); }

const void* Tensor::raw_data() const { return checked(*this, "data").data(); }

void* Tensor::mutable_raw_data() {
  detail::Storage& storage = *checked(*this, "mutable_data").storage;
  if (storage.read_only)
    throw InvalidUsage("mutable_data: the tensor borrows memory that must not be written to");
  ++storage.version;
  return storage.data;
}

const void* Tensor::checked_data(DType expected) const {
  if (dtype() != expected)
    throw InvalidUsage(std::string("data: the tensor holds ") + name(dtype()) + ", not " +
                       name(expected));
  return raw_data();
}

void* Tensor::checked_mutable_data(DType expected) {
  checked_data(expected);
  return mutable_raw_data();
}

template <class T>
T Tensor::item() const {
  if (element_count() != 1)
    throw ShapeError("item: one element is needed, the shape is " + to_string(shape()));
  return host_values<T>(*this)[0];
}

template <class T>
std::vector<T> Tensor::to_vector() const {
  checked(*this, "to_vector");
  return host_values<T>(*this);
}

#define LOCKSTEP_INSTANTIATE(T)                 \
  template LOCKSTEP_API T Tensor::item() const; \
  template LOCKSTEP_API std::vector<T> Tensor::to_vector() const;
LOCKSTEP_INSTANTIATE(float)
LOCKSTEP_INSTANTIATE(double)
LOCKSTEP_INSTANTIATE(std::int64_t)
LOCKSTEP_INSTANTIATE(std::int32_t)
LOCKSTEP_INSTANTIATE(std::uint8_t)
#undef LOCKSTEP_INSTANTIATE

Tensor Tensor::detach() const {
  return detail::make_tensor(checked(*this, "detach").storage, shape(), dtype());
}

void Tensor::copy_from(const Tensor& source) {
  checked(*this, "copy_from");
  checked(source, "copy_from");
  if (!(shape() == source.shape()))
    throw ShapeError("copy_from: shape " + to_string(shape()) + " from shape " +
                     to_string(source.shape()));
  if (dtype() != source.dtype())
    throw InvalidUsage(std::string("copy_from: ") + name(dtype()) + " from " +
                       name(source.dtype()));
  void* destination = mutable_raw_data();
  const Tensor near = source.device() == device() ? source : source.detach().to(device());
  detail::backend_of(*this).memory.copy(destination, near.raw_data(), byte_count(),
                                        detail::queue_of(*this));
}

void Tensor::fill(double value) {
  checked(*this, "fill");
  void* destination = mutable_raw_data();
  detail::backend_of(*this).elementwise.fill(dtype(), value, destination, element_count(),
                                             detail::queue_of(*this));
}

bool Tensor::requires_grad() const {
  const auto& impl = checked(*this, "requires_grad");
  return impl.node != nullptr || (impl.leaf != nullptr && impl.leaf->enabled);
}

Tensor& Tensor::set_requires_grad(bool requires_grad) {
  checked(*this, "set_requires_grad");
  if (!requires_grad && !this->requires_grad()) return *this;
  if (impl_->node != nullptr)
    throw InvalidUsage(
        "set_requires_grad: this is the result of a recorded operation; detach() it");
  if (!is_floating_point(dtype()))
    throw InvalidUsage(std::string("set_requires_grad: ") + name(dtype()) +
                       " has no gradient; use a floating-point type");
  if (impl_->leaf == nullptr && requires_grad)
    impl_->leaf = std::make_shared<detail::Leaf>(shape(), dtype(), device());
  if (impl_->leaf != nullptr) impl_->leaf->enabled = requires_grad;
  return *this;
}

void Tensor::backward(BackwardOptions options) const {
  if (element_count() != 1)
    throw ShapeError(
        "backward: without a gradient the tensor must have one element; its shape is " +
        to_string(shape()));
  detail::run_backward(*this, full(shape(), 1.0, dtype(), device()), options.retain_graph);
}

void Tensor::backward(const Tensor& gradient, BackwardOptions options) const {
  checked(*this, "backward");
  checked(gradient, "backward");
  if (!(gradient.shape() == shape()) || gradient.dtype() != dtype())
    throw ShapeError("backward: the gradient is " + detail::describe(gradient) + ", the tensor " +
                     detail::describe(*this));
  if (!(gradient.device() == device()))
    throw InvalidUsage("backward: the gradient is on " + to_string(gradient.device()) +
                       ", the tensor on " + to_string(device()));
  // A copy: the gradient may be memory that this backward writes to.
  detail::run_backward(*this, gradient.detach().clone(), options.retain_graph);
}

bool Tensor::has_gradient() const {
  const auto& impl = checked(*this, "has_gradient");
  return impl.leaf != nullptr && impl.leaf->filled();
}

Tensor Tensor::gradient() const {
  const auto& impl = checked(*this, "gradient");
  if (impl.leaf == nullptr)
    throw InvalidUsage("gradient: this is not a leaf that requires a gradient");
  return impl.leaf->read();
}

void Tensor::zero_gradient() {
  const auto& impl = checked(*this, "zero_gradient");
  if (impl.leaf != nullptr) impl.leaf->clear();
}

}  // namespace lockstep::inline v0
