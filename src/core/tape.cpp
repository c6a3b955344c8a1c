#include "core/tape.hpp"

#include <algorithm>
#include <atomic>
#include <string>
#include <utility>

#include <lockstep/core/create.hpp>
#include <lockstep/core/error.hpp>

#include "core/arena.hpp"

namespace lockstep::inline v0::detail {

namespace {

std::uint64_t next_number() {
  static std::atomic<std::uint64_t> counter{0};
  return counter.fetch_add(1, std::memory_order_relaxed) + 1;
}

/// Everything that one backward passes through.
class Backward {
 public:
  Backward(const Tensor& root, bool retain_graph) : retain_graph_(retain_graph) {
    collect(slot_of(root));
    for (const auto& leaf : leaves_) note_listener(leaf->arena);
  }

  void run(GradientSlot& root, Tensor gradient) {
    begin();
    try {
      root.give(std::move(gradient));
      if (Leaf* leaf = root.as_leaf()) finish_contribution(*leaf);
      for (const auto& node : nodes_) step(*node);
      while (!begun_.empty()) {
        begun_.back()->end_backward();
        begun_.pop_back();
      }
    } catch (...) {
      for (const auto& node : nodes_) node->take_gradient();
      abandon();
      throw;
    }
  }

 private:
  void collect(const std::shared_ptr<GradientSlot>& root) {
    const std::uint64_t mark = next_number();
    PoolVector<const std::shared_ptr<GradientSlot>*> stack{&root};
    while (!stack.empty()) {
      const std::shared_ptr<GradientSlot>& slot = *stack.back();
      stack.pop_back();
      if (Leaf* leaf = slot->as_leaf()) {
        if (leaf->pending++ == 0) leaves_.push_back(std::static_pointer_cast<Leaf>(slot));
        continue;
      }
      Node* node = slot->as_node();
      if (node->visit_mark == mark) continue;
      node->visit_mark = mark;
      check_usable(*node);
      for (const auto& input : node->inputs())
        if (input != nullptr) stack.push_back(&input);
      nodes_.push_back(std::static_pointer_cast<Node>(slot));
    }
    // Inputs are recorded before results, so this order visits a result before its inputs, on every
    // rank alike. A chain is found in it.
    const auto later = [](const auto& a, const auto& b) { return a->sequence() > b->sequence(); };
    if (!std::is_sorted(nodes_.begin(), nodes_.end(), later))
      std::sort(nodes_.begin(), nodes_.end(), later);
  }

  void check_usable(const Node& node) {
    try {
      if (node.used_up())
        throw InvalidUsage(std::string("backward: the tape of ") + node.name() +
                           " was used up by a backward before; pass {.retain_graph = true} there "
                           "to go through it twice");
      node.check_saved();
    } catch (...) {
      reset_pending();
      throw;
    }
  }

  void note_listener(Arena* arena) {
    if (arena == nullptr) return;
    if (std::find(arenas_.begin(), arenas_.end(), arena) == arenas_.end()) arenas_.push_back(arena);
    GradientListener* listener = arena->listener;
    if (listener != nullptr &&
        std::find(listeners_.begin(), listeners_.end(), listener) == listeners_.end())
      listeners_.push_back(listener);
  }

  void begin() {
    try {
      for (GradientListener* listener : listeners_) {
        listener->begin_backward();
        begun_.push_back(listener);
      }
      for (Arena* arena : arenas_)
        if (arena->listener == nullptr) arena->begin_backward();
    } catch (...) {
      reset_pending();
      abandon();
      throw;
    }
  }

  void abandon() noexcept {
    for (GradientListener* listener : begun_) listener->abandon_backward();
    begun_.clear();
  }

  void step(Node& node) {
    if (node.filled()) node.backward(node.take_gradient());
    for (const auto& input : node.inputs())
      if (input != nullptr)
        if (Leaf* leaf = input->as_leaf()) finish_contribution(*leaf);
    if (!retain_graph_) node.release();
  }

  void finish_contribution(Leaf& leaf) {
    if (--leaf.pending > 0) return;
    if (leaf.arena != nullptr && leaf.arena->listener != nullptr && leaf.filled())
      leaf.arena->listener->ready(*leaf.arena, leaf.arena_index);
  }

  void reset_pending() noexcept {
    for (const auto& leaf : leaves_) leaf->pending = 0;
  }

 public:
  ~Backward() { reset_pending(); }
  Backward(const Backward&) = delete;
  Backward& operator=(const Backward&) = delete;

 private:
  bool retain_graph_;
  PoolVector<std::shared_ptr<Node>> nodes_;
  // The tape may be their last owner, and is released on the way.
  PoolVector<std::shared_ptr<Leaf>> leaves_;
  PoolVector<Arena*> arenas_;
  PoolVector<GradientListener*> listeners_;
  PoolVector<GradientListener*> begun_;  // and not ended
};

}  // namespace

Node::Node(const Tensor& result, std::span<const Tensor* const> inputs)
    : GradientSlot(result.shape(), result.dtype(), result.device()), sequence_(next_number()) {
  inputs_.reserve(inputs.size());
  for (const Tensor* input : inputs)
    inputs_.push_back(input->defined() ? slot_of(*input) : nullptr);
}

namespace {

/// Releasing a long chain must not recurse: slots to be released wait in a list of this thread.
void release_iteratively(Node::Inputs&& slots) noexcept {
  thread_local Node::Inputs* waiting = nullptr;
  if (waiting != nullptr) {
    for (auto& slot : slots)
      if (slot != nullptr) waiting->push_back(std::move(slot));
    slots.clear();
    return;
  }
  Node::Inputs list = std::move(slots);
  waiting = &list;
  while (!list.empty()) {
    std::shared_ptr<GradientSlot> last = std::move(list.back());
    list.pop_back();
    last.reset();  // may append to the list
  }
  waiting = nullptr;
}

}  // namespace

Node::~Node() { release_iteratively(std::move(inputs_)); }

Tensor Node::take_gradient() {
  filled_ = false;
  return std::exchange(gradient_, Tensor());
}

void Node::release() noexcept {
  release_saved();
  release_iteratively(std::exchange(inputs_, {}));
  used_up_ = true;
}

Saved::Saved(const Tensor& tensor)
    : storage_(tensor.impl()->storage),
      shape_(tensor.shape()),
      dtype_(tensor.dtype()),
      version_(storage_->version) {}

Tensor Saved::value() const { return make_tensor(storage_, shape_, dtype_); }

void Saved::check(const char* operation) const {
  if (storage_ != nullptr && storage_->version != version_)
    throw InvalidUsage(std::string("backward of ") + operation + ": a value of shape " +
                       to_string(shape_) +
                       " that it needs was written to after the forward pass; use a clone() of it "
                       "in the forward pass");
}

std::shared_ptr<GradientSlot> slot_of(const Tensor& tensor) {
  const TensorImpl& impl = *tensor.impl();
  if (impl.node != nullptr) return impl.node;
  if (impl.leaf != nullptr && impl.leaf->enabled) return impl.leaf;
  return nullptr;
}

bool wants_tape(std::span<const Tensor* const> inputs) {
  if (!grad_enabled()) return false;
  for (const Tensor* input : inputs)
    if (input->defined() && input->requires_grad()) return true;
  return false;
}

void attach(Tensor& result, std::shared_ptr<Node> node) { result.impl()->node = std::move(node); }

GradientSlot* Node::input(std::size_t index) const noexcept {
  GradientSlot* slot = inputs_[index].get();
  Leaf* leaf = slot != nullptr ? slot->as_leaf() : nullptr;
  return leaf != nullptr && !leaf->enabled ? nullptr : slot;
}

void run_backward(const Tensor& root, Tensor gradient, bool retain_graph) {
  const std::shared_ptr<GradientSlot> slot = slot_of(root);
  if (slot == nullptr)
    throw InvalidUsage("backward: nothing that leads to this tensor requires a gradient");
  Backward(root, retain_graph).run(*slot, std::move(gradient));
}

}  // namespace lockstep::inline v0::detail
