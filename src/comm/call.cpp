#include "comm/call.hpp"

namespace lockstep::inline v0::detail {

const char* name(Verb verb) noexcept {
  switch (verb) {
    case Verb::all_reduce:
      return "all_reduce";
    case Verb::reduce_scatter:
      return "reduce_scatter";
    case Verb::all_gather:
      return "all_gather";
    case Verb::all_to_all:
      return "all_to_all";
    case Verb::broadcast:
      return "broadcast";
    case Verb::send:
      return "send";
    case Verb::receive:
      return "receive";
    case Verb::gather_bytes:
      return "gather_bytes";
    case Verb::agree:
      return "agree";
    case Verb::barrier:
      return "barrier";
    case Verb::split:
      return "split";
    case Verb::duplicate:
      return "duplicate";
    case Verb::close:
      return "close";
    case Verb::connect:
      return "connect";
  }
  return "unknown call";
}

const char* name(ReduceOp op) noexcept {
  switch (op) {
    case ReduceOp::sum:
      return "sum";
    case ReduceOp::min:
      return "min";
    case ReduceOp::max:
      return "max";
  }
  return "unknown operation";
}

bool is_control(Verb verb) noexcept { return verb >= Verb::gather_bytes; }

std::string to_string(const Call& call) {
  std::string text = name(call.verb);
  if (is_control(call.verb)) return text;
  if (const auto op = static_cast<ReduceOp>(call.op); op != ReduceOp::sum)
    text += std::string(" (") + name(op) + ")";
  text += " of " + std::to_string(call.count) + " " + name(static_cast<DType>(call.dtype));
  const std::string peer = "rank " + std::to_string(call.peer);
  if (call.verb == Verb::broadcast || call.verb == Verb::receive) text += " from " + peer;
  if (call.verb == Verb::send) text += " to " + peer;
  if (static_cast<SumOrder>(call.order) == SumOrder::ranks) text += " in rank order";
  return text;
}

}  // namespace lockstep::inline v0::detail
