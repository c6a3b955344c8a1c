// A program that owns MPI and has lockstep as a guest, in the situation that its first argument
// names. Exit status 0: everything was as it should be.
#include <mpi.h>

#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <lockstep/core/create.hpp>
#include <lockstep/core/error.hpp>
#include <lockstep/interop/mpi.hpp>

namespace ls = lockstep;

namespace {

int world_rank = 0;
int world_size = 1;

void require(bool condition, const char* text) {
  if (condition) return;
  std::printf("rank %d: FAILED: %s\n", world_rank, text);
  std::fflush(stdout);
  MPI_Abort(MPI_COMM_WORLD, 3);
}

template <class Exception>
std::string message_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const Exception& error) {
    return error.what();
  }
  require(false, "an exception was expected");
  return {};
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

void reduce(const ls::Communicator& ranks, double value = 1) {
  ls::Tensor values = ls::full({1000}, value);
  ranks.all_reduce(values).wait();
  require(values.to_vector()[999] == static_cast<float>(value * ranks.size()), "sum");
}

/// The host's traffic still works: its collectives, and receives that any message would meet.
class HostTraffic {
 public:
  HostTraffic() {
    MPI_Irecv(&received_, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &request_);
  }
  void finish() {
    const int right = (world_rank + 1) % world_size;
    MPI_Send(&world_rank, 1, MPI_INT, right, 0, MPI_COMM_WORLD);
    MPI_Wait(&request_, MPI_STATUS_IGNORE);
    require(received_ == (world_rank + world_size - 1) % world_size, "message of the host");
    int sum = 0;
    MPI_Allreduce(&world_rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    require(sum == world_size * (world_size - 1) / 2, "collective of the host");
    MPI_Errhandler handler;
    MPI_Comm_get_errhandler(MPI_COMM_WORLD, &handler);
    require(handler == MPI_ERRORS_ARE_FATAL, "error handler of the host");
  }

 private:
  int received_ = -1;
  MPI_Request request_ = MPI_REQUEST_NULL;
};

// What outlives MPI: destroyed when main returns.
std::vector<std::shared_ptr<void>> kept;

template <class T>
T& keep(T value) {
  auto owner = std::make_shared<T>(std::move(value));
  kept.push_back(owner);
  return *owner;
}

/// Of a communicator made now, so that left-over ones can be counted: MPI gives out the lowest one
/// that is free.
int communicator_number() {
  MPI_Comm probe = MPI_COMM_NULL;
  MPI_Comm_dup(MPI_COMM_WORLD, &probe);
  const int number = static_cast<int>(MPI_Comm_c2f(probe));
  MPI_Comm_free(&probe);
  return number;
}

void subsets() {
  HostTraffic host;
  MPI_Comm parity = MPI_COMM_NULL;
  MPI_Comm_split(MPI_COMM_WORLD, world_rank % 2, 0, &parity);
  auto& all = keep(ls::mpi::environment(MPI_COMM_WORLD));
  auto& half = keep(ls::mpi::environment(parity));
  MPI_Comm_free(&parity);  // lockstep has its own
  require(half.size() == (world_size + 1 - world_rank % 2) / 2, "size of the subset");
  ls::Tensor first = ls::full({10}, 1), second = ls::full({10}, 1);
  ls::Work in_all = all.ranks().all_reduce(first);
  ls::Work in_half = half.ranks().all_reduce(second);
  in_half.wait();
  in_all.wait();
  require(first.to_vector()[9] == static_cast<float>(world_size), "sum over all");
  require(second.to_vector()[9] == static_cast<float>(half.size()), "sum over the subset");
  auto& more = keep(all.ranks().duplicate());
  reduce(more);
  host.finish();
}

void failure() {
  HostTraffic host;
  auto& env = keep(ls::mpi::environment(MPI_COMM_WORLD));
  reduce(env.ranks());
  if (world_rank == 1) {
    env.ranks().announce_failure("no more fuel");
  } else {
    const auto text = message_of<ls::CommunicationError>([&] { reduce(env.ranks()); });
    require(has(text, "rank 1 failed: no more fuel"), text.c_str());
  }
  message_of<ls::CommunicationError>([&] { env.ranks().barrier(); });
  host.finish();
}

void leave() {
  auto& env = keep(ls::mpi::environment(MPI_COMM_WORLD));
  reduce(env.ranks());
  if (world_rank == 1) {
    env.ranks().announce_leave(2);
  } else {
    env.ranks().set_step(3);
    const auto text = message_of<ls::CommunicationError>([&] { reduce(env.ranks()); });
    require(has(text, "rank 1 left after step 2 while rank "), text.c_str());
  }
  MPI_Barrier(MPI_COMM_WORLD);
}

void deadline() {
  HostTraffic host;
  auto& env =
      keep(ls::mpi::environment(MPI_COMM_WORLD, {.timeout = std::chrono::milliseconds{500}}));
  if (world_rank != 1) {
    const auto text = message_of<ls::CommunicationError>([&] { reduce(env.ranks()); });
    require(has(text, "rank 1 did not arrive"), text.c_str());
  }
  MPI_Barrier(MPI_COMM_WORLD);
  if (world_rank == 1)  // it comes late, and learns why nobody is there
    message_of<ls::CommunicationError>([&] { env.ranks().barrier(); });
  host.finish();
}

void in_flight() {
  auto& env = keep(ls::mpi::environment(MPI_COMM_WORLD));
  auto& memory = keep(std::vector<float>(1000, 1));
  // Nobody will ever send this, and nobody waits for it.
  env.ranks().receive(ls::borrow(memory.data(), {1000}), (world_rank + 1) % world_size, 3);
  reduce(env.ranks());
}

void close_twice() {
  auto env = ls::mpi::environment(MPI_COMM_WORLD);
  const ls::Communicator other = env.ranks().duplicate();
  env.close();
  env.close();
  const auto text = message_of<ls::InvalidUsage>([&] { other.barrier(); });
  if (world_size > 1) require(has(text, "after Environment::close()"), text.c_str());
}

void many() {
  HostTraffic host;
  constexpr int kRounds = 40;
  constexpr int kSettled = 5;
  int before = 0;
  for (int round = 0; round < kRounds; ++round) {
    auto env = ls::mpi::environment(MPI_COMM_WORLD);
    reduce(env.ranks().duplicate());
    env.close();
    if (round == kSettled) before = communicator_number();
  }
  require(communicator_number() == before, "a closed environment keeps communicators of MPI");

  // Duplicates that nobody holds are given back by the next one.
  auto env = ls::mpi::environment(MPI_COMM_WORLD);
  int after = 0;
  for (int round = 0; round < kRounds; ++round) {
    const ls::Communicator other = env.ranks().duplicate();
    reduce(other);
    after = communicator_number();
    if (round == kSettled) before = after;
  }
  require(after == before, "duplicates keep communicators of MPI");
  host.finish();
}

void thread_level() {
  const auto text = message_of<ls::InvalidUsage>([] {
    const auto env = ls::mpi::environment(MPI_COMM_WORLD, {.progress = ls::Progress::thread});
  });
  require(has(text, "MPI_THREAD_MULTIPLE"), text.c_str());
}

const std::map<std::string, std::function<void()>> kSituations = {
    {"subsets", subsets},   {"failure", failure},          {"leave", leave},
    {"deadline", deadline}, {"in_flight", in_flight},      {"close", close_twice},
    {"many", many},         {"thread_level", thread_level}};

}  // namespace

int main(int argc, char** argv) {
  const std::string situation = argc > 1 ? argv[1] : "subsets";
  const bool with_threads = argc > 2 && std::string(argv[2]) == "thread";
  message_of<ls::InvalidUsage>([] { ls::mpi::environment(MPI_COMM_WORLD); });
  if (with_threads) {
    int level = 0;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
    setenv("LOCKSTEP_PROGRESS", "thread", 1);
  } else {
    MPI_Init(&argc, &argv);
  }
  MPI_Comm_rank(MPI_COMM_WORLD, &world_rank);
  MPI_Comm_size(MPI_COMM_WORLD, &world_size);
  kSituations.at(situation)();
  MPI_Finalize();
  message_of<ls::InvalidUsage>([] { ls::mpi::environment(MPI_COMM_WORLD); });
  std::printf("rank %d: all as it should be\n", world_rank);
  return 0;
}
