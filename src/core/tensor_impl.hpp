// What a Tensor handle refers to.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include <lockstep/core/tensor.hpp>

#include "backend/backend.hpp"

namespace lockstep::inline v0::detail {

class Leaf;
class Node;

/// Memory of elements: allocated, borrowed, or a part of another storage that `owner` keeps alive.
struct Storage {
  Storage() = default;
  Storage(const Storage&) = delete;
  Storage& operator=(const Storage&) = delete;
  ~Storage();

  void* data = nullptr;
  std::int64_t byte_count = 0;
  Device device;
  bool allocated = false;  // from the backend's allocator, released with this object
  bool borrowed = false;   // the program's memory
  bool read_only = false;
  std::uint64_t version =
      0;  // counts writes; views share it, parameters in an arena have their own
  std::shared_ptr<const void> owner;
};

struct TensorImpl {
  std::shared_ptr<Storage> storage;
  Shape shape;
  DType dtype = DType::float32;
  std::shared_ptr<Node> node;  // the recorded operation that produced it
  std::shared_ptr<Leaf>
      leaf;  // the place of its gradient if it is a leaf that had requires_grad switched on

  void* data() const noexcept { return storage->data; }
  Device device() const noexcept { return storage->device; }
};

std::shared_ptr<Storage> allocate_storage(std::int64_t byte_count, Device device);
/// A part of other memory; `owner` keeps that alive.
std::shared_ptr<Storage> part_of(void* data, std::int64_t byte_count, Device device,
                                 std::shared_ptr<const void> owner);
Tensor make_tensor(std::shared_ptr<Storage> storage, const Shape& shape, DType dtype);
/// Elements [begin, begin + count) of a contiguous tensor, as a tensor of one axis. Shares the
/// data.
Tensor slice_of(const Tensor& flat, std::int64_t begin, std::int64_t count);

/// @throws InvalidUsage naming the operation if the tensor is undefined.
const TensorImpl& checked(const Tensor& tensor, const char* operation);

/// The backend and queue of a tensor.
const backend::Backend& backend_of(const Tensor& tensor);
backend::Queue queue_of(const Tensor& tensor);

/// "float32 (32, 1000)".
std::string describe(const Tensor& tensor);

}  // namespace lockstep::inline v0::detail
