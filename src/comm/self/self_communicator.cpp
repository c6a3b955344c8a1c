#include "comm/self/self_communicator.hpp"

#include <lockstep/core/error.hpp>
#include "backend/backend.hpp"

namespace lockstep::inline v0::detail {
namespace {

void copy(const Span& input, const Span& output) {
  if (input.data == output.data || output.count == 0) return;
  backend::backend_for(output.device)
      .memory.copy(output.data, input.data, output.count * byte_size(output.dtype),
                   backend::current_queue(output.device));
}

}  // namespace

void SelfCommunicator::check_open(const char* verb) const {
  if (*closed_)
    throw InvalidUsage(std::string("[self] ") + verb +
                       " after Environment::close(): finish all communication before it");
}

std::shared_ptr<CommunicatorBackend> SelfCommunicator::derive() const {
  return std::shared_ptr<CommunicatorBackend>(new SelfCommunicator(timeout(), closed_));
}

std::shared_ptr<CommunicatorBackend> SelfCommunicator::split(int, int) {
  check_open("split");
  return derive();
}

std::shared_ptr<CommunicatorBackend> SelfCommunicator::duplicate() {
  check_open("duplicate");
  return derive();
}

CommunicatorBackend::WorkPointer SelfCommunicator::all_reduce(Span, ReduceOp, SumOrder, Keep) {
  check_open("all_reduce");
  return nullptr;
}

CommunicatorBackend::WorkPointer SelfCommunicator::reduce_scatter(Span input, Span output, ReduceOp,
                                                                  SumOrder, Keep) {
  check_open("reduce_scatter");
  copy(input, output);
  return nullptr;
}

CommunicatorBackend::WorkPointer SelfCommunicator::all_gather(Span input, Span output, Keep) {
  check_open("all_gather");
  copy(input, output);
  return nullptr;
}

CommunicatorBackend::WorkPointer SelfCommunicator::all_to_all(Span input, Span output, Keep) {
  check_open("all_to_all");
  copy(input, output);
  return nullptr;
}

CommunicatorBackend::WorkPointer SelfCommunicator::broadcast(Span, int, Keep) {
  check_open("broadcast");
  return nullptr;
}

// The front refuses a rank's messages to itself, so nobody can call these two.
CommunicatorBackend::WorkPointer SelfCommunicator::send(Span, int, int, Keep) { return nullptr; }
CommunicatorBackend::WorkPointer SelfCommunicator::receive(Span, int, int, Keep) { return nullptr; }

std::vector<std::string> SelfCommunicator::gather_bytes(std::string_view own) {
  check_open("gather_bytes");
  return {std::string(own)};
}

bool SelfCommunicator::agree(bool value) {
  check_open("agree");
  return value;
}

void SelfCommunicator::barrier() { check_open("barrier"); }

void SelfCommunicator::close() { *closed_ = true; }

}  // namespace lockstep::inline v0::detail
