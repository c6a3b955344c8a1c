// The engine of a family of communicators in this process: keeps the operations in flight, moves
// them along, reads notices, and watches deadlines. One lock guards all of it.
//
// Who moves operations along: whoever waits or polls; and, with Progress::thread, a thread that
// looks every 50 us while something is in flight and nobody waits, and sleeps otherwise.
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>
#include <unordered_map>
#include <vector>

#include "comm/mpi/notice_channel.hpp"
#include "comm/mpi/operation.hpp"

namespace lockstep::inline v0::detail::mpi {

/// What a rank of the family said about its end.
struct Peer {
  bool gone = false;          // it makes no further call
  bool failed = false;        // and that is because of `text`
  bool only_repeats = false;  // the text is another rank's, as it stands
  std::string text;
  std::int64_t step = -1;
  std::unordered_map<std::uint64_t, Progressed> made;  // its calls by group
  std::optional<Notice> ended;
};

class Engine {
 public:
  struct Settings {
    bool thread = false;
    bool cores_are_shared = false;
    bool ends_job = false;  // `run` owns it: the channel for notices outlives close()
  };

  /// Takes `notices`, a communicator over the ranks of the family for this engine alone.
  Engine(MPI_Comm notices, Settings settings);
  /// Neither waits for operations nor runs a collective; what cannot be cancelled is leaked.
  ~Engine();
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  void add(const std::shared_ptr<Group>& group);
  /// Its last handle is gone. Its MPI communicators stay until its ranks meet again.
  void retire(Group& group) noexcept;
  /// The ids of the retired groups with nothing in flight, as bytes for the other ranks.
  std::string retired();
  /// Given these bytes of ranks that are here together: frees the groups that all their ranks have
  /// retired.
  void free_retired(const std::vector<std::string>& lists);

  /// Numbers and posts it. @throws CommunicationError if the group is dead, or dies of it
  void submit(const std::shared_ptr<Operation>& operation);
  /// @throws CommunicationError
  void wait(Operation& operation);
  bool done(Operation& operation);
  void poll(Group& group);

  /// @throws CommunicationError always, also from every later call on the group
  [[noreturn]] void break_group(Group& group, Failure failure);
  /// To the ranks of the group; kind failed or left.
  void announce(Group& group, NoticeKind kind, std::int64_t step, std::string_view text) noexcept;
  void set_step(Group& group, std::int64_t step) noexcept;
  /// Tells all ranks of the family how the program ended here.
  void announce_end(Notice ended);
  /// Reads notices and moves operations along; never throws for what ranks did.
  void attend_end();
  /// By rank of the family.
  std::vector<std::optional<Notice>> endings();
  /// Whether all notices have left this rank.
  bool told();
  /// Whether the text of an exception only repeats what another rank told.
  bool is_secondary(const std::string& text);
  std::int64_t latest_step();

  /// From now on this rank sends no notice about waiting.
  void set_closing() noexcept;
  /// Every later call throws InvalidUsage. Collective: frees the communicators, unless the engine
  /// still has to end the job.
  void close();
  bool closed() const noexcept;
  /// Ends the thread and every use of MPI, without waiting for anything else. Called before MPI is
  /// finalized.
  void stop() noexcept;
  bool cores_are_shared() const noexcept { return settings_.cores_are_shared; }

 private:
  class Waiting;
  using Lock = std::unique_lock<std::mutex>;

  // All of these need the lock.
  void require_alive(const Group& group, const char* call) const;
  bool advance(Operation& operation);
  /// Whether something moved.
  bool drive();
  void fail(Group& group, Failure failure, bool tell);
  void tell_of_failure(const Group& group);
  void drop_operations(const Group& group);
  void read_notices();
  void take(int family_rank, const Notice& notice);
  void take_waiting(Group& group, int rank, const Notice& notice);
  const Peer& peer(const Group& group, int rank) const;
  std::string failed_text(const Peer& peer, int rank) const;
  void tell_waiting(const Operation& operation);
  void watch(Operation& operation, Clock::duration waited);
  bool arrived(const Operation& operation, int rank) const;
  std::optional<Failure> lost(const Operation& operation, Clock::duration waited) const;
  Failure overdue(const Operation& operation, Clock::duration waited) const;
  std::string place(const Operation& operation) const;
  Group* group_of(std::uint64_t id) const noexcept;
  Notice status_of(const Group& group) const;
  std::vector<Notice::Tally> tallies() const;
  void send(const Notice& notice, int family_rank) noexcept;

  void run_thread();

  const Settings settings_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  NoticeChannel notices_;
  int family_rank_ = 0;
  std::vector<Peer> peers_;                     // by rank of the family
  std::vector<std::shared_ptr<Group>> groups_;  // all that were made, in order
  std::vector<std::shared_ptr<Operation>> operations_;
  std::vector<const Operation*> waited_for_;
  std::vector<std::string> secondary_texts_;
  std::int64_t latest_step_ = -1;
  Clock::time_point next_reading_{};
  bool closing_ = false;
  bool closed_ = false;
  bool stopped_ = false;
  std::thread thread_;
};

/// Memory of operations that MPI may still write to when nobody is left to hold it. Never freed.
void leak(std::shared_ptr<Operation> operation) noexcept;

}  // namespace lockstep::inline v0::detail::mpi
