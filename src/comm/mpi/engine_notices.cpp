// What an engine tells the other ranks and learns from them, and the messages about ranks that are
// late, lost or gone.
#include <algorithm>

#include "comm/mpi/engine.hpp"

namespace lockstep::inline v0::detail::mpi {
namespace {

constexpr auto kQuiet = std::chrono::milliseconds{1};      // of a wait, before notices are read
constexpr auto kReading = std::chrono::microseconds{200};  // between two looks for notices
constexpr auto kLastWork =
    std::chrono::milliseconds{100};  // for what a rank gave its device before it failed
constexpr auto kPatience = std::chrono::seconds{1};  // before others are told or taken as lost

std::string rank_text(int rank) { return "rank " + std::to_string(rank); }

std::string step_text(std::int64_t step) {
  return step < 0 ? "" : " at step " + std::to_string(step);
}

}  // namespace

void Engine::send(const Notice& notice, int family_rank) noexcept {
  const bool idle_talk = notice.kind == NoticeKind::waiting || notice.kind == NoticeKind::status;
  if (stopped_ || (closing_ && idle_talk)) return;
  try {
    notices_.send(notice, family_rank);
  } catch (...) {
    // A notice is a courtesy: without it the others wait until their deadline.
  }
}

void Engine::read_notices() {
  if (stopped_) return;
  try {
    while (auto notice = notices_.read()) take(notice->first, notice->second);
  } catch (const CallFailed& failure) {
    for (const auto& group : groups_)
      fail(*group,
           {"[mpi] control channel on " + rank_text(group->rank) + ": " + to_string(failure), -1,
            failure.code},
           false);
  }
}

Group* Engine::group_of(std::uint64_t id) const noexcept {
  for (const auto& group : groups_)
    if (group->id == id) return group.get();
  return nullptr;
}

void Engine::take(int family_rank, const Notice& notice) {
  Peer& sender = peers_[static_cast<std::size_t>(family_rank)];
  const bool ended = notice.kind == NoticeKind::ended;
  if (ended) sender.ended = notice;
  if (ended || notice.kind == NoticeKind::failed || notice.kind == NoticeKind::left) {
    sender.gone = true;
    sender.failed = notice.kind == NoticeKind::failed || (ended && notice.threw);
    sender.only_repeats = notice.secondary;
    sender.text = notice.text;
    sender.step = notice.step;
    for (const auto& tally : notice.tallies) sender.made[tally.group] = tally.made;
  }
  Group* group = group_of(notice.group);
  const int rank = group == nullptr ? -1 : group->rank_of(family_rank);
  if (rank < 0) return;
  if (notice.kind == NoticeKind::waiting || notice.kind == NoticeKind::status) {
    group->reports[static_cast<std::size_t>(rank)] = {true, notice.waits, notice.call, notice.made};
    if (notice.kind == NoticeKind::waiting) take_waiting(*group, rank, notice);
  }
  if (notice.kind == NoticeKind::broken && !group->failure) {
    secondary_texts_.push_back(notice.text);
    fail(*group, {notice.text, notice.rank, notice.code}, false);
  }
}

const Peer& Engine::peer(const Group& group, int rank) const {
  return peers_[static_cast<std::size_t>(group.family_ranks[static_cast<std::size_t>(rank)])];
}

std::string Engine::failed_text(const Peer& peer, int rank) const {
  if (peer.only_repeats) return peer.text;
  std::string text = "[mpi] " + rank_text(rank) + " failed";
  if (peer.step >= 0) text += " in step " + std::to_string(peer.step);
  return text + ": " + peer.text;
}

void Engine::take_waiting(Group& group, int rank, const Notice& notice) {
  const Call* own = is_control(notice.call.verb) ? nullptr : group.latest_call(notice.number);
  if (own != nullptr && *own != notice.call) {
    fail(group, mismatch(notice.number, group.rank, *own, rank, notice.call), true);
    return;
  }
  send(status_of(group), group.family_ranks[static_cast<std::size_t>(rank)]);
}

Notice Engine::status_of(const Group& group) const {
  Notice notice;
  notice.kind = NoticeKind::status;
  notice.group = group.id;
  notice.made = group.made;
  // What is waited for on this group says most; any other wait still says where the rank is.
  for (const Operation* operation : waited_for_) {
    if (notice.waits && &operation->group() != &group) continue;
    notice.waits = true;
    notice.call = operation->call();
    notice.number = operation->number();
  }
  return notice;
}

void Engine::tell_waiting(const Operation& operation) {
  const Group& group = operation.group();
  Notice notice;
  notice.kind = NoticeKind::waiting;
  notice.group = group.id;
  notice.made = group.made;
  notice.waits = true;
  notice.call = operation.call();
  notice.number = operation.number();
  for (int rank = 0; rank < group.size; ++rank)
    if (rank != group.rank) send(notice, group.family_ranks[static_cast<std::size_t>(rank)]);
}

void Engine::watch(Operation& operation, Clock::duration waited) {
  if (waited < kQuiet) return;
  Group& group = operation.group();
  const auto now = Clock::now();
  if (now >= next_reading_) {
    read_notices();
    next_reading_ = now + kReading;
    if (group.failure) return;
    if (auto failure = lost(operation, waited)) {
      if (peer(group, failure->rank).failed) secondary_texts_.push_back(failure->text);
      fail(group, std::move(*failure), true);
      return;
    }
  }
  const std::chrono::milliseconds timeout{group.timeout_ms};
  if (waited > timeout) {
    read_notices();
    if (!group.failure) fail(group, overdue(operation, waited), true);
    return;
  }
  if (operation.next_telling == Clock::time_point{})
    operation.next_telling = now - waited + std::min<Clock::duration>(kPatience, timeout / 4);
  if (now < operation.next_telling) return;
  tell_waiting(operation);
  operation.next_telling = now + timeout / 4;
}

bool Engine::arrived(const Operation& operation, int rank) const {
  const Group& group = operation.group();
  if (rank == group.rank || operation.heard_of(rank)) return true;
  if (operation.number() < 0) return false;
  const auto count = [&](const Progressed& made) {
    return is_control(operation.call().verb) ? made.control : made.data;
  };
  if (count(group.reports[static_cast<std::size_t>(rank)].made) > operation.number()) return true;
  const Peer& peer =
      peers_[static_cast<std::size_t>(group.family_ranks[static_cast<std::size_t>(rank)])];
  const auto made = peer.made.find(group.id);
  return made != peer.made.end() && count(made->second) > operation.number();
}

std::string Engine::place(const Operation& operation) const {
  const Group& group = operation.group();
  std::string text =
      to_string(operation.call()) + step_text(group.step >= 0 ? group.step : latest_step_);
  if (operation.number() >= 0 && !is_control(operation.call().verb))
    text += " (data collective " + std::to_string(operation.number() + 1) + ")";
  return text + " on " + rank_text(group.rank);
}

std::optional<Failure> Engine::lost(const Operation& operation, Clock::duration waited) const {
  const Group& group = operation.group();
  // Numbers say exactly which calls a rank made before it went; a message of the user may still be
  // on its way.
  if (operation.number() < 0 && waited < kPatience) return std::nullopt;
  for (int rank = 0; rank < group.size; ++rank) {
    const Peer& gone = peer(group, rank);
    if (!gone.gone || !operation.needs(rank)) continue;
    const bool given_up = gone.failed && operation.needs_to_the_end() && waited > kLastWork;
    if (!given_up && arrived(operation, rank)) continue;
    const std::string here =
        to_string(operation.call()) + step_text(group.step >= 0 ? group.step : latest_step_);
    if (gone.failed) {
      std::string text = failed_text(gone, rank);
      if (!gone.only_repeats) text += " (" + rank_text(group.rank) + " waits in " + here + ")";
      return Failure{text, rank, 0};
    }
    std::string text = "[mpi] " + rank_text(rank) + " left";
    if (gone.step >= 0) text += " after step " + std::to_string(gone.step);
    text += " while " + rank_text(group.rank) + " waits in " + here +
            "; every rank must take part in every step, so give all ranks the same number of "
            "batches";
    return Failure{text, rank, 0};
  }
  return std::nullopt;
}

Failure Engine::overdue(const Operation& operation, Clock::duration waited) const {
  const Group& group = operation.group();
  std::vector<int> missing;
  for (int rank = 0; rank < group.size; ++rank)
    if (operation.needs(rank) && !arrived(operation, rank)) missing.push_back(rank);
  for (int rank = 0; rank < group.size && missing.empty(); ++rank)
    if (operation.number() >= 0 && !arrived(operation, rank)) missing.push_back(rank);

  std::string text = std::string("[") + operation.transport() + "] " + place(operation) +
                     ": waited " + seconds_text(waited) + "; ";
  for (const int rank : missing) {
    const Report& report = group.reports[static_cast<std::size_t>(rank)];
    text += rank_text(rank) + " did not arrive: it ";
    const std::string calls = " after " + std::to_string(report.made.data) + " data collectives; ";
    if (!report.known)
      text += "has not answered; ";
    else if (report.waiting)
      text += "waits in " + to_string(report.call) + calls;
    else
      text += "waits for nobody" + calls;
  }
  if (missing.empty()) text += "all ranks arrived, but the exchange is not complete; ";
  text +=
      "check that all ranks run and make the same calls in the same order, or allow more time "
      "(EnvironmentOptions::timeout, LOCKSTEP_TIMEOUT)";
  return {text, missing.size() == 1 ? missing.front() : -1, 0};
}

std::vector<Notice::Tally> Engine::tallies() const {
  std::vector<Notice::Tally> all;
  // What was under way on a dead group will not be finished, so nothing counts there.
  for (const auto& group : groups_)
    all.push_back({group->id, group->failure ? Progressed{} : group->made});
  return all;
}

void Engine::announce(Group& group, NoticeKind kind, std::int64_t step,
                      std::string_view text) noexcept {
  try {
    const Lock lock(mutex_);
    Notice notice;
    notice.kind = kind;
    notice.text = text;
    notice.step = kind == NoticeKind::failed ? latest_step_ : step;
    const bool fails = kind == NoticeKind::failed && !group.failure;
    if (fails)
      group.failure = {
          "[mpi] " + rank_text(group.rank) + " announced that it failed: " + notice.text,
          group.rank, 0};
    notice.tallies = tallies();
    for (int rank = 0; rank < group.size; ++rank)
      if (rank != group.rank) send(notice, group.family_ranks[static_cast<std::size_t>(rank)]);
    if (fails) drop_operations(group);  // last: it may take its time
  } catch (...) {
    // Without memory for a notice the others wait until their deadline.
  }
}

void Engine::set_step(Group& group, std::int64_t step) noexcept {
  const Lock lock(mutex_);
  group.step = step;
  latest_step_ = step;
}

std::int64_t Engine::latest_step() {
  const Lock lock(mutex_);
  return latest_step_;
}

void Engine::announce_end(Notice ended) {
  const Lock lock(mutex_);
  ended.kind = NoticeKind::ended;
  ended.step = latest_step_;
  ended.tallies = tallies();
  for (int rank = 0; rank < static_cast<int>(peers_.size()); ++rank)
    if (rank != family_rank_) send(ended, rank);
  peers_[static_cast<std::size_t>(family_rank_)].ended = std::move(ended);
}

void Engine::attend_end() {
  const Lock lock(mutex_);
  if (stopped_) return;
  drive();
  read_notices();
}

std::vector<std::optional<Notice>> Engine::endings() {
  const Lock lock(mutex_);
  std::vector<std::optional<Notice>> all;
  for (const Peer& peer : peers_) all.push_back(peer.ended);
  return all;
}

bool Engine::told() {
  const Lock lock(mutex_);
  try {
    return stopped_ || notices_.sent();
  } catch (const CallFailed&) {
    return true;  // what could not be sent will not be sent later either
  }
}

bool Engine::is_secondary(const std::string& text) {
  const Lock lock(mutex_);
  return std::find(secondary_texts_.begin(), secondary_texts_.end(), text) !=
         secondary_texts_.end();
}

}  // namespace lockstep::inline v0::detail::mpi
