// The tape: recorded operations, the places of gradients, and backward.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <span>
#include <vector>

#include <lockstep/core/no_grad.hpp>

#include "core/object_pool.hpp"
#include "core/tensor_impl.hpp"

namespace lockstep::inline v0::detail {

class Arena;

/// Where a gradient arrives during backward: a leaf, or the result of a recorded operation.
/// Collects the contributions of all uses of one value.
class GradientSlot {
 public:
  GradientSlot(const Shape& shape, DType dtype, Device device)
      : shape_(shape), dtype_(dtype), device_(device) {}
  GradientSlot(const GradientSlot&) = delete;
  GradientSlot& operator=(const GradientSlot&) = delete;
  virtual ~GradientSlot() = default;

  /// A finished contribution. The slot may keep the handle itself if it is the first.
  void give(Tensor gradient);

  struct Destination {
    Tensor tensor;            // write here
    bool accumulate = false;  // add to what is there instead of overwriting
  };
  /// For operations that write in place (a GEMM with beta 0 or 1). The contribution counts as
  /// given.
  Destination destination();

  bool filled() const noexcept { return filled_; }
  const Shape& shape() const noexcept { return shape_; }
  virtual Node* as_node() noexcept { return nullptr; }
  virtual Leaf* as_leaf() noexcept { return nullptr; }

 protected:
  /// The fixed place of the gradient, undefined if it has none.
  virtual const Tensor& fixed_place() const noexcept;

  Shape shape_;
  DType dtype_;
  Device device_;
  Tensor gradient_;
  bool filled_ = false;
};

/// Hears about the leaves of an arena during backward. The synchronizer of a replica is one.
class GradientListener {
 public:
  virtual ~GradientListener() = default;
  /// Before the first write of a backward: what is in flight has to be finished.
  virtual void begin_backward() = 0;
  /// The gradient of entry `index` of the arena got its last contribution of this backward.
  virtual void ready(Arena& arena, std::size_t index) = 0;
  virtual void end_backward() = 0;
  /// An exception ended the backward early.
  virtual void abandon_backward() noexcept = 0;
  /// Blocks until gradients may be read (orders the queue on a device). The arena's factor is set
  /// then.
  virtual void wait() = 0;
};

/// The gradient of a tensor that the user differentiates with respect to.
class Leaf final : public GradientSlot {
 public:
  using GradientSlot::GradientSlot;
  ~Leaf() override;

  bool enabled = true;     // false: frozen
  Arena* arena = nullptr;  // null until packed; kept alive by keep_arena
  std::size_t arena_index = 0;
  std::shared_ptr<Arena> keep_arena;
  std::int64_t pending = 0;  // contributions still to come in this backward

  /// The final gradient: waits for an exchange, applies a factor still to be applied.
  Tensor read();
  void clear();
  /// Makes `place` (a view into an arena) the place of the gradient; what there is moves there.
  void move_to(Tensor place);
  /// Declares the fixed place to hold a gradient.
  void mark_filled() {
    filled_ = true;
    gradient_ = place_;
  }
  const Tensor& place() const noexcept { return place_; }
  Leaf* as_leaf() noexcept override { return this; }

 private:
  const Tensor& fixed_place() const noexcept override { return place_; }
  Tensor place_;
};

/// A recorded operation with one result. `backward` gives to the inputs that want it.
class Node : public GradientSlot {
 public:
  using Inputs = PoolVector<std::shared_ptr<GradientSlot>>;

  Node(const Tensor& result, std::span<const Tensor* const> inputs);
  Node(const Tensor& result, std::initializer_list<const Tensor*> inputs)
      : Node(result, std::span<const Tensor* const>(inputs.begin(), inputs.size())) {}
  ~Node() override;

  virtual const char* name() const noexcept = 0;
  virtual void backward(const Tensor& gradient) = 0;
  /// @throws InvalidUsage if a value that backward needs was written to since. Asked of the whole
  /// tape before anything is written.
  virtual void check_saved() const {}
  /// Forgets what was saved for backward.
  virtual void release_saved() noexcept = 0;

  /// The slot of an input; null if it needs no gradient, or was frozen since.
  GradientSlot* input(std::size_t index) const noexcept;
  const Inputs& inputs() const noexcept { return inputs_; }
  Node* as_node() noexcept override { return this; }

  /// Takes the collected gradient out of the slot.
  Tensor take_gradient();
  void release() noexcept;
  bool used_up() const noexcept { return used_up_; }
  std::uint64_t sequence() const noexcept { return sequence_; }
  std::uint64_t visit_mark = 0;  // of the backward that saw it last

 private:
  Inputs inputs_;
  std::uint64_t sequence_;
  bool used_up_ = false;
};

/// A value kept for backward, with the version that it had.
class Saved {
 public:
  Saved() = default;
  explicit Saved(const Tensor& tensor);
  Tensor value() const;
  /// @throws InvalidUsage naming the operation if the value was written to since.
  void check(const char* operation) const;
  bool defined() const noexcept { return storage_ != nullptr; }
  void reset() noexcept { storage_.reset(); }

 private:
  std::shared_ptr<Storage> storage_;
  Shape shape_;
  DType dtype_ = DType::float32;
  std::uint64_t version_ = 0;
};

std::shared_ptr<GradientSlot> slot_of(const Tensor& tensor);
/// destination += source, of any floating-point type.
void add_to(const Tensor& source, const Tensor& destination);
/// Whether an operation on these has to be recorded.
bool wants_tape(std::span<const Tensor* const> inputs);
inline bool wants_tape(std::initializer_list<const Tensor*> inputs) {
  return wants_tape(std::span<const Tensor* const>(inputs.begin(), inputs.size()));
}
void attach(Tensor& result, std::shared_ptr<Node> node);

void run_backward(const Tensor& root, Tensor gradient, bool retain_graph);

}  // namespace lockstep::inline v0::detail
