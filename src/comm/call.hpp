// What a rank asked of a communicator, in a form that can be sent, compared and put into messages.
#pragma once

#include <cstdint>
#include <string>

#include <lockstep/comm/communicator.hpp>

namespace lockstep::inline v0::detail {

enum class Verb : std::int32_t {
  all_reduce,
  reduce_scatter,
  all_gather,
  all_to_all,
  broadcast,
  send,
  receive,
  gather_bytes,
  agree,
  barrier,
  split,
  duplicate,
  close,
  connect  // of a transport for devices
};

const char* name(Verb verb) noexcept;
const char* name(ReduceOp op) noexcept;

/// Sent between ranks as it stands: fixed-size members, no padding.
struct Call {
  Verb verb = Verb::barrier;
  std::int32_t op = 0;     // ReduceOp
  std::int32_t dtype = 0;  // DType
  std::int32_t peer = -1;  // root, source or destination
  std::int64_t count = 0;  // elements
  std::int32_t order = 0;  // SumOrder
  std::int32_t tag = 0;

  friend bool operator==(const Call&, const Call&) noexcept = default;
};
static_assert(sizeof(Call) == 32);

/// Whether the call belongs to the control plane.
bool is_control(Verb verb) noexcept;

/// "all_reduce of 1024 float32", "all_reduce (max) of ...", "broadcast of 3 int64 from rank 0",
/// "barrier".
std::string to_string(const Call& call);

}  // namespace lockstep::inline v0::detail
