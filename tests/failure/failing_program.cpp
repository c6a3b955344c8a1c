// A program that fails in the way its first argument names, at step 3, on rank 1 unless the name
// says otherwise.
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <functional>
#include <map>
#include <new>
#include <optional>
#include <stdexcept>
#include <string>

#include <lockstep/comm/run.hpp>
#include <lockstep/core/create.hpp>
#include <lockstep/core/error.hpp>

namespace ls = lockstep;

namespace {

struct Place {
  ls::Environment& env;
  const ls::Communicator& ranks;
  int rank;
};

void reduce(const Place& place, std::int64_t count = 1024) {
  ls::Tensor values = ls::full({count}, 1.0);
  place.ranks.all_reduce(values).wait();
}

/// What one rank does at step 3 instead of an all_reduce; nothing: the all_reduce.
using Act = std::function<std::optional<int>(const Place&)>;

std::optional<int> on_rank_1(const Place& place, const std::function<std::optional<int>()>& act) {
  if (place.rank == 1) return act();
  reduce(place);
  return std::nullopt;
}

/// The process disappears or stops.
std::optional<int> strike(const Place& place, int signal) {
  return on_rank_1(place, [=]() -> std::optional<int> {
    raise(signal);
    return std::nullopt;
  });
}

/// Every call after an error gives the error again.
std::optional<int> call_again(const Place& place) {
  std::string first;
  for (int attempt = 0; attempt < 3; ++attempt) {
    try {
      if (attempt == 1)
        place.ranks.barrier();
      else
        reduce(place, place.rank == 1 ? 7 : 1024);
    } catch (const ls::CommunicationError& error) {
      if (attempt == 0) first = error.what();
      if (attempt == 2 && first == error.what())
        std::printf("rank %d: the same error again\n", place.rank);
    }
  }
  return std::nullopt;
}

[[noreturn]] void compute_for_ever() {
  for (volatile unsigned long count = 0;;) count = count + 1;
}

const std::map<std::string, Act> kActs = {
    {"nothing", [](const Place& place) { return reduce(place), std::nullopt; }},
    {"throw_on_all", [](const Place&) -> std::optional<int> { throw std::runtime_error("boom"); }},
    {"throw_differently",
     [](const Place& place) -> std::optional<int> {
       throw std::runtime_error("boom " + std::to_string(place.rank % 2));
     }},
    {"throw",
     [](const Place& place) {
       return on_rank_1(place, []() -> std::optional<int> { throw std::runtime_error("boom"); });
     }},
    {"throw_on_0",
     [](const Place& place) -> std::optional<int> {
       if (place.rank == 0) throw std::runtime_error("boom");
       return reduce(place), std::nullopt;
     }},
    {"throw_bad_alloc",
     [](const Place& place) {
       return on_rank_1(place, []() -> std::optional<int> { throw std::bad_alloc(); });
     }},
    {"throw_int",
     [](const Place& place) { return on_rank_1(place, []() -> std::optional<int> { throw 5; }); }},
    {"throw_while_others_compute",
     [](const Place& place) -> std::optional<int> {
       if (place.rank == 1) throw std::runtime_error("boom");
       compute_for_ever();
     }},
    {"return", [](const Place& place) { return on_rank_1(place, [] { return 0; }); }},
    {"return_7", [](const Place& place) { return on_rank_1(place, [] { return 7; }); }},
    {"return_7_on_all", [](const Place&) { return 7; }},
    {"return_7_alone",  // nobody waits for rank 1
     [](const Place& place) { return place.rank == 1 ? 7 : 0; }},
    {"barrier",
     [](const Place& place) {
       return on_rank_1(place, [&] { return place.ranks.barrier(), std::nullopt; });
     }},
    {"kill", [](const Place& place) { return strike(place, SIGKILL); }},
    {"stop", [](const Place& place) { return strike(place, SIGSTOP); }},
    {"_exit",
     [](const Place& place) { return on_rank_1(place, []() -> std::optional<int> { _exit(0); }); }},
    {"count",
     [](const Place& place) { return reduce(place, place.rank == 1 ? 100 : 1024), std::nullopt; }},
    {"kind",
     [](const Place& place) {
       return on_rank_1(place, [&]() -> std::optional<int> {
         ls::Tensor values = ls::full({1024}, 1.0);
         place.ranks.broadcast(values, 0).wait();
         return std::nullopt;
       });
     }},
    {"control_kind",
     [](const Place& place) -> std::optional<int> {
       if (place.rank == 1)
         place.ranks.barrier();
       else
         place.ranks.agree(true);
       return std::nullopt;
     }},
    {"message",  // that is longer than the receiver asked for
     [](const Place& place) -> std::optional<int> {
       ls::Tensor values = ls::full({place.rank == 0 ? 10 : 9}, 1.0);
       if (place.rank == 0) place.ranks.send(values, 1).wait();
       if (place.rank == 1) place.ranks.receive(values, 0).wait();
       return std::nullopt;
     }},
    {"receive_from_nobody",
     [](const Place& place) {
       if (place.rank != 0) return std::optional<int>(0);
       ls::Tensor values = ls::full({3}, 1.0);
       place.ranks.receive(values, 1, 4).wait();
       return std::optional<int>(0);
     }},
    {"split", [](const Place& place) { return on_rank_1(place, [] { return 0; }); }},
    {"never_end",
     [](const Place& place) -> std::optional<int> {
       if (place.rank == 1) compute_for_ever();
       return 0;
     }},
    {"throw_after_close",
     [](const Place& place) -> std::optional<int> {
       place.env.close();
       if (place.rank == 1) throw std::runtime_error("boom");
       return 0;
     }},
    {"return_from_reversed",  // world rank 0, which is the last one there
     [](const Place& place) -> std::optional<int> {
       const ls::Communicator reversed = place.ranks.split(0, -place.rank);
       if (place.rank == 0) return 0;
       ls::Tensor values = ls::full({1024}, 1.0);
       reversed.all_reduce(values).wait();
       return std::nullopt;
     }},
    {"call_again", call_again},
};

}  // namespace

int main(int argc, char** argv) {
  const std::string scenario = argc > 1 ? argv[1] : "nothing";
  return ls::run(argc, argv, [&](ls::Environment& env) -> int {
    const Place place{env, env.ranks(), env.rank()};
    for (int step = 1; step <= 3; ++step) {
      if (step == 3) {
        if (scenario == "split" && place.rank != 1) place.ranks.split(0);
        // A rank that leaves has begun no third step.
        if (scenario.rfind("return", 0) != 0 || place.rank != 1) place.ranks.set_step(step);
        if (const auto status = kActs.at(scenario)(place)) return *status;
      } else {
        place.ranks.set_step(step);
        reduce(place);
      }
    }
    return 0;
  });
}
