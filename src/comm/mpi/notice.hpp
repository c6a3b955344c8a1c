// Notices: what ranks tell each other outside of collectives.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "comm/call.hpp"
#include "comm/mpi/group.hpp"

namespace lockstep::inline v0::detail::mpi {

enum class NoticeKind : std::int32_t {
  waiting,  // the sender waits in `call`, and asks what the others do
  status,   // the answer
  broken,   // a group is dead: `text`
  failed,   // the sender will not go on: `text`
  left,     // the sender makes no further call
  ended     // the sender's program ended (in a job that lockstep runs)
};

struct Notice {
  NoticeKind kind = NoticeKind::status;
  std::uint64_t group = 0;  // waiting, status, broken
  Progressed made;          // on that group
  bool waits = false;       // in `call`
  std::int64_t number = -1;
  Call call;
  std::int64_t step = -1;  // left, failed, ended: the last step begun
  int rank = -1;           // broken: the rank of the group that the failure is about
  int code = 0;            // broken: of the MPI library. ended: the exit status
  bool threw = false;      // ended
  bool secondary = false;  // ended: the exception only repeats what another rank told
  std::string text;

  struct Tally {
    std::uint64_t group;
    Progressed made;
  };
  std::vector<Tally> tallies;  // left, ended: the calls made on every group, the newest group last
};

/// Short enough to be sent without the receiver's help (MPI's eager protocol); text and tallies are
/// cut where they are longer.
inline constexpr std::size_t kMostNoticeBytes = 3500;
std::vector<char> encode(const Notice& notice);
/// A damaged notice comes back as a status of no group.
Notice decode(const std::vector<char>& bytes);

}  // namespace lockstep::inline v0::detail::mpi
