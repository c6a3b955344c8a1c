#include <catch2/catch.hpp>

#include <cstdlib>
#include <optional>
#include <string>

#include <lockstep/comm/environment.hpp>
#include <lockstep/core/error.hpp>
#include "comm/environment_state.hpp"
#include "comm/settings.hpp"

namespace ls = lockstep;
using namespace lockstep::detail;
using Catch::Matchers::Contains;
using std::chrono::milliseconds;

namespace {

/// Sets (or, with null, unsets) an environment variable while it lives.
class Variable {
 public:
  Variable(const char* variable, const char* value) : name_(variable) {
    if (const char* text = std::getenv(variable)) before_ = text;
    if (value != nullptr)
      setenv(variable, value, 1);
    else
      unsetenv(variable);
  }
  ~Variable() {
    if (before_)
      setenv(name_, before_->c_str(), 1);
    else
      unsetenv(name_);
  }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;

 private:
  const char* name_;
  std::optional<std::string> before_;
};

}  // namespace

TEST_CASE("the deadline is the option, else LOCKSTEP_TIMEOUT, else 10 minutes") {
  {
    const Variable unset("LOCKSTEP_TIMEOUT", nullptr);
    REQUIRE(chosen_timeout({}) == std::chrono::minutes{10});
  }
  const Variable set("LOCKSTEP_TIMEOUT", "2.5");
  REQUIRE(chosen_timeout({}) == milliseconds{2500});
  REQUIRE(chosen_timeout({.timeout = milliseconds{7}}) == milliseconds{7});
  REQUIRE_THROWS_AS(chosen_timeout({.timeout = milliseconds{-1}}), ls::InvalidUsage);
}

TEST_CASE("a LOCKSTEP_TIMEOUT that is no positive number of seconds is refused") {
  for (const char* text : {"soon", "5s", "0", "-1", "nan", "inf", "1e12"}) {
    const Variable set("LOCKSTEP_TIMEOUT", text);
    CAPTURE(text);
    REQUIRE_THROWS_AS(chosen_timeout({}), ls::InvalidUsage);
  }
}

TEST_CASE("progress is the option, else LOCKSTEP_PROGRESS") {
  const Variable set("LOCKSTEP_PROGRESS", "thread");
  REQUIRE(chosen_progress({}) == ls::Progress::thread);
  REQUIRE(chosen_progress({.progress = ls::Progress::inline_calls}) == ls::Progress::inline_calls);
  const Variable wrong("LOCKSTEP_PROGRESS", "threads");
  REQUIRE_THROWS_AS(chosen_progress({}), ls::InvalidUsage);
}

TEST_CASE("the number of launched ranks is what the launcher says") {
  const Variable no_open_mpi("OMPI_COMM_WORLD_SIZE", nullptr), no_pmi("PMI_SIZE", nullptr),
      no_pmi_rank("PMI_RANK", nullptr), no_pmix("PMIX_RANK", nullptr),
      no_slurm("SLURM_STEP_NUM_TASKS", nullptr);
  REQUIRE_FALSE(launched_rank_count());
  {
    const Variable slurm("SLURM_STEP_NUM_TASKS", "4");
    REQUIRE_FALSE(launched_rank_count());  // a step alone does not make this process a rank
    const Variable pmix("PMIX_RANK", "2");
    REQUIRE(launched_rank_count() == 4);
    REQUIRE(launched_rank() == 2);
    const Variable open_mpi("OMPI_COMM_WORLD_SIZE", "3");
    REQUIRE(launched_rank_count() == 3);
  }
  const Variable pmi("PMI_SIZE", "5");
  REQUIRE(launched_rank_count() == 5);
}

TEST_CASE("OMP_NUM_THREADS comes before MKL_NUM_THREADS, and a list counts by its first number") {
  const Variable omp("OMP_NUM_THREADS", "4,2"), mkl("MKL_NUM_THREADS", "3");
  REQUIRE(threads_asked_for() == 4);
  const Variable no_omp("OMP_NUM_THREADS", nullptr);
  REQUIRE(threads_asked_for() == 3);
  const Variable no_mkl("MKL_NUM_THREADS", nullptr);
  REQUIRE_FALSE(threads_asked_for());
}

TEST_CASE("a number of threads that is no positive number is refused, by name") {
  const Variable no_omp("OMP_NUM_THREADS", nullptr), no_mkl("MKL_NUM_THREADS", nullptr);
  for (const char* name : {"OMP_NUM_THREADS", "MKL_NUM_THREADS"}) {
    for (const char* text : {"abc", "0", "-2", "4x", "2.5", ",4", " ", "10000000"}) {
      const Variable set(name, text);
      CAPTURE(name, text);
      REQUIRE_THROWS_WITH(threads_asked_for(), Contains(std::string(name) + " is \"" + text));
    }
    const Variable spaces(name, " 4 , 2");
    REQUIRE(threads_asked_for() == 4);
    const Variable empty(name, "");
    REQUIRE_FALSE(threads_asked_for());
  }
}

TEST_CASE("a device is chosen by its name, and one that is not there is refused") {
  REQUIRE(ls::device_choice("auto") == ls::DeviceChoice::automatic);
  REQUIRE(ls::device_choice("cpu") == ls::DeviceChoice::cpu);
  REQUIRE(ls::device_choice("cuda") == ls::DeviceChoice::cuda);
  REQUIRE_THROWS_AS(ls::device_choice("gpu"), ls::InvalidUsage);
  if (ls::cuda_device_count() == 0) {
    REQUIRE_THROWS_AS(choose_device(ls::DeviceChoice::cuda, 0), ls::BackendUnavailable);
    REQUIRE(choose_device(ls::DeviceChoice::automatic, 0) == ls::Device::cpu());
  }
}
