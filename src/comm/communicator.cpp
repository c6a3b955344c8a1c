#include <lockstep/comm/communicator.hpp>

#include <lockstep/core/error.hpp>
#include "comm/checks.hpp"
#include "comm/communicator_backend.hpp"
#include "comm/self/self_communicator.hpp"

namespace lockstep::inline v0 {

using detail::ArgumentCheck;
using detail::Span;
using detail::Verb;

// A group of one gives nothing away, so only transports between ranks have this.
detail::CommunicatorBackend::WorkPointer detail::CommunicatorBackend::follow(
    const Call& call, std::shared_ptr<Task>) {
  throw InvalidUsage(std::string(name(call.verb)) +
                     ": this communicator carries out its own calls");
}

void Work::wait() {
  if (state_) state_->wait();
}

bool Work::done() { return !state_ || state_->done(); }

Communicator::Communicator()
    : backend_(std::make_shared<detail::SelfCommunicator>(std::chrono::minutes{10})) {}

int Communicator::rank() const noexcept { return backend_->rank(); }
int Communicator::size() const noexcept { return backend_->size(); }

Communicator Communicator::split(int color, int key) const {
  return Communicator(backend_->split(color, key));
}

Communicator Communicator::duplicate() const { return Communicator(backend_->duplicate()); }

Work Communicator::all_reduce(Tensor values, ReduceOp op, SumOrder order) const {
  const ArgumentCheck check(Verb::all_reduce, *backend_);
  const Span span = check.output(values);
  check.reducible(span, op);
  return Work(backend_->all_reduce(span, op, order, {std::move(values)}));
}

Work Communicator::reduce_scatter(const Tensor& input, Tensor output, ReduceOp op,
                                  SumOrder order) const {
  const ArgumentCheck check(Verb::reduce_scatter, *backend_);
  const Span from = check.input(input);
  const Span to = check.output(output);
  check.same_kind(from, to);
  check.reducible(from, op);
  check.parts(from, to, "input", "output");
  check.apart_or_own_part(from, to);
  return Work(backend_->reduce_scatter(from, to, op, order, {input, std::move(output)}));
}

Work Communicator::all_gather(const Tensor& input, Tensor output) const {
  const ArgumentCheck check(Verb::all_gather, *backend_);
  const Span from = check.input(input);
  const Span to = check.output(output);
  check.same_kind(from, to);
  check.parts(to, from, "output", "input");
  check.apart_or_own_part(to, from);
  return Work(backend_->all_gather(from, to, {input, std::move(output)}));
}

Work Communicator::all_to_all(const Tensor& input, Tensor output) const {
  const ArgumentCheck check(Verb::all_to_all, *backend_);
  const Span from = check.input(input);
  const Span to = check.output(output);
  check.same_kind(from, to);
  if (from.count != to.count || from.count % size() != 0)
    throw ShapeError("all_to_all on rank " + std::to_string(rank()) + ": the input has " +
                     std::to_string(from.count) + " elements and the output " +
                     std::to_string(to.count) + "; both need the same multiple of " +
                     std::to_string(size()) + ", one part per rank");
  check.apart(from, to);
  return Work(backend_->all_to_all(from, to, {input, std::move(output)}));
}

Work Communicator::broadcast(Tensor values, int root) const {
  const ArgumentCheck check(Verb::broadcast, *backend_);
  check.root(root);
  const Span span = rank() == root ? check.input(values) : check.output(values);
  return Work(backend_->broadcast(span, root, {std::move(values)}));
}

Work Communicator::send(const Tensor& values, int destination, int tag) const {
  const ArgumentCheck check(Verb::send, *backend_);
  check.peer(destination, tag);
  return Work(backend_->send(check.input(values), destination, tag, {values}));
}

Work Communicator::receive(Tensor values, int source, int tag) const {
  const ArgumentCheck check(Verb::receive, *backend_);
  check.peer(source, tag);
  const Span span = check.output(values);
  return Work(backend_->receive(span, source, tag, {std::move(values)}));
}

std::vector<std::string> Communicator::gather_bytes(std::string_view own) const {
  return backend_->gather_bytes(own);
}

bool Communicator::agree(bool value) const { return backend_->agree(value); }
void Communicator::barrier() const { backend_->barrier(); }
void Communicator::poll() const { backend_->poll(); }

void Communicator::announce_failure(std::string_view text) const noexcept {
  backend_->announce_failure(text);
}

void Communicator::announce_leave(std::int64_t after_step) const noexcept {
  backend_->announce_leave(after_step);
}

void Communicator::set_step(std::int64_t step) const noexcept { backend_->set_step(step); }

std::chrono::milliseconds Communicator::timeout() const noexcept { return backend_->timeout(); }

void Communicator::set_timeout(std::chrono::milliseconds timeout) const noexcept {
  backend_->set_timeout(timeout);
}

}  // namespace lockstep::inline v0
