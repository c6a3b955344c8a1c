#include "comm/mpi/group.hpp"

#include <algorithm>

namespace lockstep::inline v0::detail::mpi {
namespace {

constexpr std::size_t kRememberedCalls = 256;

/// The finalizer of splitmix64.
std::uint64_t mix(std::uint64_t value) noexcept {
  value += 0x9e3779b97f4a7c15ULL;
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9ULL;
  value = (value ^ (value >> 27)) * 0x94d049bb133111ebULL;
  return value ^ (value >> 31);
}

}  // namespace

const Call* Group::latest_call(std::int64_t number) const noexcept {
  const std::int64_t back = made.data - 1 - number;
  const auto kept = static_cast<std::int64_t>(latest_calls.size());
  if (back < 0 || back >= kept) return nullptr;
  return &latest_calls[static_cast<std::size_t>(kept - 1 - back)];
}

void Group::remember(const Call& call) {
  latest_calls.push_back(call);
  if (latest_calls.size() > kRememberedCalls) latest_calls.pop_front();
}

int Group::rank_of(int family_rank) const noexcept {
  const auto found = std::find(family_ranks.begin(), family_ranks.end(), family_rank);
  return found == family_ranks.end() ? -1 : static_cast<int>(found - family_ranks.begin());
}

std::shared_ptr<Group> make_group(MPI_Comm parent, std::uint64_t id, std::vector<int> family_ranks,
                                  std::chrono::milliseconds timeout) {
  auto group = std::make_shared<Group>();
  group->id = id;
  group->family_ranks = std::move(family_ranks);
  group->timeout_ms = timeout.count();
  check(MPI_Comm_rank(parent, &group->rank), "MPI_Comm_rank");
  check(MPI_Comm_size(parent, &group->size), "MPI_Comm_size");
  group->data = duplicate(parent, timeout);
  group->control = duplicate(group->data, timeout);
  group->messages = duplicate(group->data, timeout);
  int* most_tag = nullptr;
  int found = 0;
  check(MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, static_cast<void*>(&most_tag), &found),
        "MPI_Comm_get_attr");
  if (found != 0) group->most_tag = *most_tag;
  group->reports.resize(static_cast<std::size_t>(group->size));
  return group;
}

void free_communicators(Group& group) noexcept {
  for (MPI_Comm* communicator : {&group.data, &group.control, &group.messages})
    if (*communicator != MPI_COMM_NULL) MPI_Comm_free(communicator);
}

std::uint64_t child_id(const Group& parent, std::int64_t color) noexcept {
  return mix(mix(parent.id + static_cast<std::uint64_t>(parent.children)) +
             static_cast<std::uint64_t>(color));
}

}  // namespace lockstep::inline v0::detail::mpi
