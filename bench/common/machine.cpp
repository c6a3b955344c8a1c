#include "machine.hpp"

#include <sched.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <string>

namespace bench {

namespace {

std::string cpu_model() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);)
    if (line.rfind("model name", 0) == 0) return line.substr(line.find(':') + 2);
  return "unknown";
}

int allowed_cores() {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  return sched_getaffinity(0, sizeof allowed, &allowed) == 0 ? CPU_COUNT(&allowed) : 0;
}

double load() {
  double last_minute = 0;
  return getloadavg(&last_minute, 1) == 1 ? last_minute : 0;
}

std::string compiler() {
#if defined(__clang__)
  return std::string("clang ") + __clang_version__;
#else
  return std::string("g++ ") + __VERSION__;
#endif
}

}  // namespace

nlohmann::ordered_json machine() {
  return {{"cpu", cpu_model()},
          {"cores", sysconf(_SC_NPROCESSORS_ONLN)},
          {"cores_of_rank_0", allowed_cores()},
          {"load_at_start", load()},
          {"compiler", compiler()},
          {"build_type", BENCH_BUILD_TYPE},
          {"lockstep", BENCH_VERSION},
          {"gemm", BENCH_BLAS}};
}

}  // namespace bench
