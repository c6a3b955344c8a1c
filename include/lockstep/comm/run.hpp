// run: starts the communication, calls the program, and ends the job as one.
#pragma once

#include <functional>
#include <type_traits>
#include <utility>

#include <lockstep/comm/environment.hpp>

namespace lockstep::inline v0 {

namespace detail {
LOCKSTEP_API int run(int& argc, char**& argv, const EnvironmentOptions& options,
                     const std::function<int(Environment&)>& program);
}

/// Calls program(environment) on every rank and returns the exit status: 0, what the program
/// returned, or 1 if it threw. If it throws on all ranks the message is printed once; if it throws
/// on some, it is printed with the rank and the whole job is ended. Sets the number of compute
/// threads to the cores that the launcher gave to this rank, unless OMP_NUM_THREADS or
/// MKL_NUM_THREADS says otherwise; one that is not a positive number is an error. A thread's
/// current CUDA device may become the one of this rank. Call it once, from main.
template <class Program>
requires std::is_invocable_v<Program&, Environment&>
int run(int& argc, char**& argv, const EnvironmentOptions& options, Program&& program) {
  using Result = std::invoke_result_t<Program&, Environment&>;
  static_assert(std::is_void_v<Result> || std::is_convertible_v<Result, int>,
                "the program returns void or its exit status");
  return detail::run(argc, argv, options, [&](Environment& environment) -> int {
    if constexpr (std::is_void_v<Result>) {
      program(environment);
      return 0;
    } else {
      return program(environment);
    }
  });
}

template <class Program>
requires std::is_invocable_v<Program&, Environment&>
int run(int& argc, char**& argv, Program&& program) {
  return run(argc, argv, EnvironmentOptions{}, std::forward<Program>(program));
}

}  // namespace lockstep::inline v0
