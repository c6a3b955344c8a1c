#include <lockstep/optim/optimizer.hpp>

#include <utility>

#include "optim/optimizer_state.hpp"

namespace lockstep::inline v0::optim {

namespace detail {

namespace {

/// Parameters of one device and dtype belong into one arena, whatever their group.
ParameterList joined(const std::vector<ParameterList>& groups) {
  ParameterList all;
  for (const auto& group : groups)
    for (const auto& [name, parameter] : group) {
      for (const auto& known : all)
        if (known.parameter.same(parameter))
          throw InvalidUsage("optimizer: parameter " + name + " is in two places of its groups");
      all.push_back({name, parameter.share()});
    }
  return all;
}

}  // namespace

OptimizerState::OptimizerState(std::vector<ParameterList> groups)
    : parameters_(joined(groups)), group_count_(groups.size()) {
  if (parameters_.empty()) throw InvalidUsage("optimizer: there are no parameters");
  // On the device of the first one.
  const Device device = parameters_.front().parameter.value().device();
  for (auto& arena : lockstep::detail::pack(parameters_, device)) {
    const std::size_t count = arena->entries.size();
    slots_.push_back({std::move(arena),
                      std::vector<int>(count, -1),
                      std::vector<std::int64_t>(count, 0),
                      {},
                      {}});
  }
  for (std::size_t group = 0; group < groups.size(); ++group)
    for (const auto& named : groups[group]) {
      const auto& leaf = *named.parameter.value().impl()->leaf;
      for (auto& slot : slots_)
        if (slot.arena.get() == leaf.arena) slot.group[leaf.arena_index] = static_cast<int>(group);
    }
}

void OptimizerState::step() {
  for (auto& slot : slots_) slot.arena->wait();
  const bool captured = backend::current_capture() != nullptr;
  first_of_capture_ = captured;  // the replays count, the capture itself updates nothing
  for (auto& slot : slots_)
    if (captured ? any_due(slot) : advance(slot)) update(slot);
  if (!captured) ++step_count_;
}

bool OptimizerState::any_due(const ArenaSlot& slot) {
  for (std::size_t i = 0; i < slot.group.size(); ++i)
    if (due(slot, i)) return true;
  return false;
}

bool OptimizerState::advance(ArenaSlot& slot) {
  bool any = false;
  for (std::size_t i = 0; i < slot.group.size(); ++i) {
    if (!due(slot, i)) continue;
    any = true;
    ++slot.steps[i];
    ++slot.arena->entries[i].value->version;
  }
  return any;
}

void OptimizerState::zero_grad() {
  for (auto& named : parameters_) named.parameter.value().zero_gradient();
}

void OptimizerState::check_group(std::size_t group) const {
  if (group >= group_count_)
    throw InvalidUsage("optimizer: group " + std::to_string(group) + " of " +
                       std::to_string(group_count_));
}

}  // namespace detail

Optimizer::Optimizer(std::unique_ptr<detail::OptimizerState> state) noexcept
    : state_(std::move(state)) {}
Optimizer::Optimizer(Optimizer&&) noexcept = default;
Optimizer& Optimizer::operator=(Optimizer&&) noexcept = default;
Optimizer::~Optimizer() = default;

void Optimizer::step() { state_->step(); }
void Optimizer::zero_grad() { state_->zero_grad(); }
std::int64_t Optimizer::step_count() const noexcept { return state_->step_count(); }
const ParameterList& Optimizer::parameters() const noexcept { return state_->parameters(); }
std::size_t Optimizer::group_count() const noexcept { return state_->group_count(); }
double Optimizer::learning_rate(std::size_t group) const { return state_->learning_rate(group); }
void Optimizer::set_learning_rate(double learning_rate) {
  for (std::size_t group = 0; group < group_count(); ++group)
    state_->set_learning_rate(group, learning_rate);
}
void Optimizer::set_learning_rate(std::size_t group, double learning_rate) {
  state_->set_learning_rate(group, learning_rate);
}

}  // namespace lockstep::inline v0::optim
