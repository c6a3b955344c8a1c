// One communicator of a family, as this process sees it.
#pragma once

#include <mpi.h>

#include <atomic>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "comm/call.hpp"
#include "comm/mpi/requests.hpp"

namespace lockstep::inline v0::detail::mpi {

/// Why a group is dead.
struct Failure {
  std::string text;
  int rank = -1;  // that the error is about
  int code = 0;
};

/// How many calls a rank has made.
struct Progressed {
  std::int64_t data = 0;     // collectives of the data plane
  std::int64_t control = 0;  // calls of the control plane
};

/// What another rank last told of itself.
struct Report {
  bool known = false;
  bool waiting = false;  // in `call`
  Call call;
  Progressed made;
};

/// Everything but the constants and `timeout_ms` is guarded by the engine's lock.
struct Group {
  std::uint64_t id = 0;  // the same on all its ranks
  int rank = 0;
  int size = 1;
  std::vector<int> family_ranks;         // of the ranks of this group
  MPI_Comm data = MPI_COMM_NULL;         // collectives
  MPI_Comm control = MPI_COMM_NULL;      // control plane
  MPI_Comm messages = MPI_COMM_NULL;     // send and receive of the user, with the user's tags
  int most_tag = 32767;                  // MPI_TAG_UB
  std::atomic<std::int64_t> timeout_ms;  // of every wait

  Progressed made;
  std::int64_t library_calls = 0;   // collectives that the MPI library does, submitted
  std::int64_t library_posted = 0;  // and handed to it, in order
  std::int64_t children = 0;        // communicators that came from this one
  std::int64_t step = -1;
  bool retired = false;  // no handle refers to it any more
  std::optional<Failure> failure;
  std::vector<Report> reports;    // by rank
  std::deque<Call> latest_calls;  // of the data plane, the last one made at the back

  /// The data collective with this number, if it is among the latest.
  const Call* latest_call(std::int64_t number) const noexcept;
  void remember(const Call& call);
  /// The rank in this group of a rank of the family, -1 if it is not a member.
  int rank_of(int family_rank) const noexcept;
};

/// Collective: takes three communicators of its own from `parent`, which is not kept.
std::shared_ptr<Group> make_group(MPI_Comm parent, std::uint64_t id, std::vector<int> family_ranks,
                                  std::chrono::milliseconds timeout);
/// Collective over its ranks.
void free_communicators(Group& group) noexcept;
/// The id of the next group that comes from `parent`, the same on all ranks with this color.
std::uint64_t child_id(const Group& parent, std::int64_t color) noexcept;

}  // namespace lockstep::inline v0::detail::mpi
