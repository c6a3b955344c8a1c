#include "comm/mpi/engine.hpp"

#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>

#include <algorithm>
#include <cstring>

#include <lockstep/core/error.hpp>
#include "comm/mpi/finalize_guard.hpp"

namespace lockstep::inline v0::detail::mpi {
namespace {

constexpr auto kThreadSleep = std::chrono::microseconds{50};
constexpr auto kThreadReading = std::chrono::milliseconds{5};

/// The host's signals are handled on the host's threads.
std::thread start_without_signals(auto body) {
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  std::thread thread(body);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return thread;
}

}  // namespace

void leak(std::shared_ptr<Operation> operation) noexcept {
  static std::mutex mutex;
  static auto* leaked = new std::vector<std::shared_ptr<Operation>>;
  const std::lock_guard lock(mutex);
  leaked->push_back(std::move(operation));
}

/// While it lives, a caller looks after the operations, and the thread need not.
class Engine::Waiting {
 public:
  Waiting(Engine& engine, const Operation& operation) : engine_(engine), operation_(operation) {
    const std::lock_guard lock(engine_.mutex_);
    engine_.waited_for_.push_back(&operation_);
  }
  ~Waiting() {
    const std::lock_guard lock(engine_.mutex_);
    auto& all = engine_.waited_for_;
    all.erase(std::find(all.begin(), all.end(), &operation_));
    if (all.empty() && !engine_.operations_.empty()) engine_.changed_.notify_one();
  }
  Waiting(const Waiting&) = delete;
  Waiting& operator=(const Waiting&) = delete;

 private:
  Engine& engine_;
  const Operation& operation_;
};

Engine::Engine(MPI_Comm notices, Settings settings) : settings_(settings), notices_(notices) {
  int size = 0;
  check(MPI_Comm_size(notices, &size), "MPI_Comm_size");
  check(MPI_Comm_rank(notices, &family_rank_), "MPI_Comm_rank");
  peers_.resize(static_cast<std::size_t>(size));
  guard(*this);
  if (settings_.thread) thread_ = start_without_signals([this] { run_thread(); });
}

Engine::~Engine() {
  unguard(*this);
  stop();
}

void Engine::stop() noexcept {
  std::vector<std::shared_ptr<Operation>> ended;  // released without the lock
  {
    const Lock lock(mutex_);
    ended.swap(operations_);
    const bool alive = !stopped_ && !is_finalized();
    for (auto& operation : ended)
      if (!alive || !operation->abandon()) leak(std::move(operation));
    stopped_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void Engine::add(const std::shared_ptr<Group>& group) {
  const Lock lock(mutex_);
  groups_.push_back(group);
}

void Engine::retire(Group& group) noexcept {
  const Lock lock(mutex_);
  group.retired = true;
}

std::string Engine::retired() {
  const Lock lock(mutex_);
  std::string ids;
  for (const auto& group : groups_) {
    const bool busy = std::any_of(operations_.begin(), operations_.end(), [&](const auto& other) {
      return &other->group() == group.get();
    });
    if (group->retired && !group->failure && !busy)
      ids.append(reinterpret_cast<const char*>(&group->id), sizeof group->id);
  }
  return ids;
}

void Engine::free_retired(const std::vector<std::string>& lists) {
  std::unordered_map<std::uint64_t, int> holders;
  for (const std::string& ids : lists)
    for (std::size_t at = 0; at + sizeof(std::uint64_t) <= ids.size();
         at += sizeof(std::uint64_t)) {
      std::uint64_t id = 0;
      std::memcpy(&id, ids.data() + at, sizeof id);
      ++holders[id];
    }
  const Lock lock(mutex_);
  std::erase_if(groups_, [&](const std::shared_ptr<Group>& group) {
    const auto found = holders.find(group->id);
    if (found == holders.end() || found->second != group->size) return false;
    free_communicators(*group);
    return true;
  });
}

void Engine::require_alive(const Group& group, const char* call) const {
  if (group.failure)
    throw CommunicationError(group.failure->text, group.failure->rank, group.failure->code);
  const char* ended = closed_ ? "Environment::close()" : stopped_ ? "MPI_Finalize" : nullptr;
  if (ended != nullptr)
    throw InvalidUsage(std::string("[mpi] ") + call + " on rank " + std::to_string(group.rank) +
                       " after " + ended + ": finish all communication before it");
}

void Engine::break_group(Group& group, Failure failure) {
  const Lock lock(mutex_);
  fail(group, std::move(failure), true);
  throw CommunicationError(group.failure->text, group.failure->rank, group.failure->code);
}

void Engine::submit(const std::shared_ptr<Operation>& operation) {
  const Lock lock(mutex_);
  Group& group = operation->group();
  const Call& call = operation->call();
  require_alive(group, name(call.verb));
  if (is_control(call.verb)) {
    operation->set_number(group.made.control++);
  } else if (call.verb != Verb::send && call.verb != Verb::receive) {
    operation->set_number(group.made.data++);
    group.remember(call);
  }
  operations_.push_back(operation);
  try {
    operation->start();
  } catch (const CallFailed& failure) {
    fail(group, {"[mpi] " + place(*operation) + ": " + to_string(failure), -1, failure.code}, true);
  } catch (const Failure& failure) {
    fail(group, failure, true);
  } catch (const std::exception& error) {  // its number is spent, so the ranks are out of step
    fail(group, {"[mpi] " + place(*operation) + ": " + error.what(), group.rank, 0}, true);
  }
  require_alive(group, name(call.verb));
  drive();
  if (waited_for_.empty()) changed_.notify_one();
}

bool Engine::advance(Operation& operation) {
  Group& group = operation.group();
  try {
    return operation.advance();
  } catch (const CallFailed& failure) {
    fail(group, {"[mpi] " + place(operation) + ": " + to_string(failure), -1, failure.code}, true);
  } catch (const Failure& failure) {
    fail(group, failure, true);
  }
  return false;
}

bool Engine::drive() {
  bool moved = false;
  // By index: a failure drops operations from the list.
  for (std::size_t i = 0; i < operations_.size();) {
    const std::shared_ptr<Operation> operation = operations_[i];
    const std::int64_t before = operation->movement();
    const bool finished = advance(*operation);
    moved = moved || finished || operation->movement() != before;
    const auto place = std::find(operations_.begin(), operations_.end(), operation);
    if (place == operations_.end()) {
      i = 0;
      continue;
    }
    if (finished) {
      operations_.erase(place);
      operation->set_finished();
    } else {
      ++i;
    }
  }
  return moved;
}

void Engine::fail(Group& group, Failure failure, bool tell) {
  if (group.failure) return;
  group.failure = std::move(failure);
  if (tell) tell_of_failure(group);  // first: what is dropped may take its time
  drop_operations(group);
}

void Engine::tell_of_failure(const Group& group) {
  Notice notice;
  notice.kind = NoticeKind::broken;
  notice.group = group.id;
  notice.rank = group.failure->rank;
  notice.code = group.failure->code;
  notice.text = group.failure->text;
  for (int rank = 0; rank < group.size; ++rank)
    if (rank != group.rank) send(notice, group.family_ranks[static_cast<std::size_t>(rank)]);
}

void Engine::drop_operations(const Group& group) {
  std::vector<std::shared_ptr<Operation>> kept;
  for (auto& operation : operations_) {
    if (&operation->group() != &group)
      kept.push_back(std::move(operation));
    else if (!operation->abandon())
      leak(std::move(operation));
  }
  operations_.swap(kept);
}

void Engine::wait(Operation& operation) {
  if (operation.finished()) return;
  const Waiting waiting(*this, operation);
  Pause pause(settings_.cores_are_shared);
  operation.next_telling = {};
  for (;; pause()) {
    const Lock lock(mutex_);
    if (operation.finished()) return;
    require_alive(operation.group(), name(operation.call().verb));
    if (drive()) pause.restart();
    if (operation.finished()) return;
    watch(operation, pause.waited());
    require_alive(operation.group(), name(operation.call().verb));
  }
}

bool Engine::done(Operation& operation) {
  if (operation.finished()) return true;
  constexpr auto kLongBreak = std::chrono::seconds{1};
  const Lock lock(mutex_);
  if (operation.finished()) return true;
  // A device may come to the end of a collective that another rank has given up: what that rank
  // said of it comes first.
  if (operation.needs_to_the_end()) read_notices();
  require_alive(operation.group(), name(operation.call().verb));
  drive();
  if (operation.finished()) return true;
  // A loop over done() has the deadline of wait(); single questions far apart have none.
  const auto now = Clock::now();
  if (now - operation.asked_last > kLongBreak) {
    operation.asked_since = now;
    operation.next_telling = {};
  }
  operation.asked_last = now;
  watch(operation, now - operation.asked_since);
  require_alive(operation.group(), name(operation.call().verb));
  return false;
}

void Engine::poll(Group& group) {
  const Lock lock(mutex_);
  require_alive(group, "poll");
  drive();
  read_notices();
  for (int rank = 0; rank < group.size && !group.failure; ++rank) {
    const Peer& other = peer(group, rank);
    if (!other.failed) continue;
    secondary_texts_.push_back(failed_text(other, rank));
    fail(group, {secondary_texts_.back(), rank, 0}, false);
  }
  require_alive(group, "poll");
}

void Engine::run_thread() {
  prctl(PR_SET_NAME, "lockstep-mpi");
  prctl(PR_SET_TIMERSLACK, 1000UL);  // of this thread: sleep 50 us, not 100
  Lock lock(mutex_);
  while (!stopped_) {
    if (operations_.empty() || !waited_for_.empty()) {
      changed_.wait(lock);
      continue;
    }
    const bool moved = drive();
    if (const auto now = Clock::now(); now >= next_reading_) {
      read_notices();
      next_reading_ = now + kThreadReading;
    }
    lock.unlock();
    if (moved)
      std::this_thread::yield();
    else
      std::this_thread::sleep_for(kThreadSleep);
    lock.lock();
  }
}

void Engine::set_closing() noexcept {
  const Lock lock(mutex_);
  closing_ = true;
}

bool Engine::closed() const noexcept {
  const Lock lock(mutex_);
  return closed_;
}

void Engine::close() {
  {
    const Lock lock(mutex_);
    closed_ = true;
    read_notices();
    if (settings_.ends_job) return;
  }
  unguard(*this);
  stop();
  for (const auto& group : groups_) free_communicators(*group);
  MPI_Comm notices = notices_.communicator();
  MPI_Comm_free(&notices);
}

}  // namespace lockstep::inline v0::detail::mpi
