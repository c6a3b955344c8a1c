// NCCL's functions for communicators, memory and messages about errors.
#include <ifaddrs.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <sstream>
#include <system_error>
#include <thread>

#include "emulation/control.hpp"
#include "emulation/nccl/communicator.hpp"

namespace {

using emulation::count_call;
using emulation::nccl::Communicator;

constexpr const char* kLive = "ncclComm";
constexpr const char* kRegistrations = "ncclRegistration";

thread_local std::string last_error;

/// Counts the call, and fails it where a test asked for that.
template <class Body>
ncclResult_t call(const char* name, Body body) {
  if (const auto error = count_call(name)) return static_cast<ncclResult_t>(*error);
  return body();
}

ncclResult_t refuse(const char* why) {
  last_error = why;
  return ncclInvalidArgument;
}

/// What is still registered stays counted, unless it is aborted.
void close(ncclComm_t comm, bool aborted) {
  if (aborted)
    emulation::count_live(kRegistrations, -static_cast<int>(comm->state->registered.size()));
  emulation::count_live(kLive, -1);
  delete comm;
}

/// Whether the host has an interface that NCCL_SOCKET_IFNAME allows: a list of beginnings, or of
/// whole names after "=", or of what is not to be used after "^".
bool has_interface() {
  const char* setting = std::getenv("NCCL_SOCKET_IFNAME");
  if (setting == nullptr || *setting == '\0') return true;
  std::string list = setting;
  const bool excluded = list[0] == '^';
  const bool exact = list[excluded ? 1 : 0] == '=';
  list.erase(0, static_cast<std::size_t>(excluded) + static_cast<std::size_t>(exact));
  const auto named = [&](const std::string& name) {
    std::stringstream entries(list);
    for (std::string entry; std::getline(entries, entry, ',');)
      if (exact ? name == entry : name.rfind(entry, 0) == 0) return true;
    return false;
  };
  ifaddrs* all = nullptr;
  if (getifaddrs(&all) != 0) return false;
  bool found = false;
  for (const ifaddrs* one = all; one != nullptr; one = one->ifa_next)
    found = found || named(one->ifa_name) != excluded;
  freeifaddrs(all);
  return found;
}

/// As NCCL does when it is initialized, with the first call.
ncclResult_t refuse_network() {
  last_error = "Bootstrap : no socket interface found";
  return ncclInvalidUsage;
}

ncclResult_t init(ncclComm_t* comm, int size, const ncclUniqueId& id, int rank, bool blocking) {
  int device = 0;
  if (cudaGetDevice(&device) != cudaSuccess) return ncclUnhandledCudaError;
  auto state = std::make_shared<Communicator>();
  state->rank = rank;
  state->size = size;
  state->blocking = blocking;
  const std::string name(id.internal, strnlen(id.internal, sizeof id.internal));
  try {
    state->segment = std::make_unique<emulation::nccl::Segment>(name, size, rank,
                                                                emulation::device_uuid(device));
  } catch (const std::system_error& error) {
    last_error = error.what();
    return ncclSystemError;
  }
  *comm = new ncclComm{state};
  emulation::count_live(kLive, 1);
  if (!blocking) return ncclInProgress;
  ncclResult_t result = ncclInProgress;
  while (result == ncclInProgress) {
    const std::lock_guard lock(state->mutex);
    result = settle(*state);
    std::this_thread::sleep_for(std::chrono::microseconds{50});
  }
  return result;
}

}  // namespace

extern "C" {

ncclResult_t ncclGetVersion(int* version) {
  if (version == nullptr) return ncclInvalidArgument;
  *version = NCCL_VERSION_CODE;
  return ncclSuccess;
}

ncclResult_t ncclGetUniqueId(ncclUniqueId* id) {
  return call("ncclGetUniqueId", [&] {
    if (!has_interface()) return refuse_network();
    static std::atomic<int> number = 0;
    const auto now = std::chrono::system_clock::now().time_since_epoch().count();
    const std::string name = "/emulated-nccl-" + std::to_string(getpid()) + "-" +
                             std::to_string(now) + "-" + std::to_string(number++);
    std::memset(id->internal, 0, sizeof id->internal);
    std::memcpy(id->internal, name.data(), name.size());
    return ncclSuccess;
  });
}

const char* ncclGetErrorString(ncclResult_t result) {
  constexpr const char* kTexts[] = {"no error",
                                    "unhandled cuda error",
                                    "unhandled system error",
                                    "internal error",
                                    "invalid argument",
                                    "invalid usage",
                                    "remote process exited or there was a network error",
                                    "NCCL operation in progress"};
  return result >= 0 && result < ncclNumResults ? kTexts[result] : "unknown result code";
}

const char* ncclGetLastError(ncclComm_t comm) {
  if (comm == nullptr) return last_error.c_str();
  const std::lock_guard lock(comm->state->mutex);
  if (!comm->state->last_error.empty()) last_error = comm->state->last_error;
  return last_error.c_str();
}

ncclResult_t ncclCommInitRankConfig(ncclComm_t* comm, int size, ncclUniqueId id, int rank,
                                    ncclConfig_t* config) {
  return call("ncclCommInitRankConfig", [&] {
    if (comm == nullptr || size < 1 || size > emulation::nccl::kMostRanks || rank < 0 ||
        rank >= size)
      return refuse("a rank or a number of ranks that the stand-in does not have");
    if (config != nullptr && config->magic != 0xcafebeef)
      return refuse("the configuration was not initialized by NCCL_CONFIG_INITIALIZER");
    if (!has_interface()) return refuse_network();
    return init(comm, size, id, rank, config == nullptr || config->blocking != 0);
  });
}

ncclResult_t ncclCommGetAsyncError(ncclComm_t comm, ncclResult_t* error) {
  return call("ncclCommGetAsyncError", [&] {
    if (comm == nullptr || error == nullptr) return ncclInvalidArgument;
    const std::lock_guard lock(comm->state->mutex);
    *error = settle(*comm->state);
    return ncclSuccess;
  });
}

ncclResult_t ncclCommFinalize(ncclComm_t comm) {
  return call("ncclCommFinalize", [&] {
    if (comm == nullptr) return ncclInvalidArgument;
    const std::lock_guard lock(comm->state->mutex);
    if (comm->state->finalizing) return ncclInvalidUsage;
    comm->state->finalizing = true;
    comm->state->progress_answers = 1;
    return ncclInProgress;
  });
}

// Where NCCL would wait for the other ranks, this refuses: a caller should have finalized it.
ncclResult_t ncclCommDestroy(ncclComm_t comm) {
  return call("ncclCommDestroy", [&] {
    if (comm == nullptr) return ncclInvalidArgument;
    {
      const std::lock_guard lock(comm->state->mutex);
      if (!comm->state->finalizing || !comm->state->segment->all_finalized())
        return ncclInvalidUsage;
    }
    close(comm, false);
    return ncclSuccess;
  });
}

ncclResult_t ncclCommAbort(ncclComm_t comm) {
  return call("ncclCommAbort", [&] {
    if (comm == nullptr) return ncclInvalidArgument;
    comm->state->aborted = true;
    while (emulation::nccl::held_aborts())
      std::this_thread::sleep_for(std::chrono::milliseconds{1});
    close(comm, true);
    return ncclSuccess;
  });
}

ncclResult_t ncclCommCount(const ncclComm_t comm, int* count) {
  if (comm == nullptr || count == nullptr) return ncclInvalidArgument;
  *count = comm->state->size;
  return ncclSuccess;
}

ncclResult_t ncclCommUserRank(const ncclComm_t comm, int* rank) {
  if (comm == nullptr || rank == nullptr) return ncclInvalidArgument;
  *rank = comm->state->rank;
  return ncclSuccess;
}

ncclResult_t ncclMemAlloc(void** memory, size_t byte_count) {
  return call("ncclMemAlloc", [&] {
    return cudaMalloc(memory, byte_count) == cudaSuccess ? ncclSuccess : ncclUnhandledCudaError;
  });
}

ncclResult_t ncclMemFree(void* memory) {
  return call("ncclMemFree", [&] {
    return cudaFree(memory) == cudaSuccess ? ncclSuccess : ncclUnhandledCudaError;
  });
}

ncclResult_t ncclCommRegister(const ncclComm_t comm, void* memory, size_t byte_count,
                              void** handle) {
  return call("ncclCommRegister", [&] {
    if (comm == nullptr || !emulation::is_device_memory(memory, byte_count))
      return refuse("registered memory must be device memory");
    const std::lock_guard lock(comm->state->mutex);
    if (!comm->state->registered.emplace(memory, byte_count).second)
      return refuse("this memory is registered");
    emulation::count_live(kRegistrations, 1);
    *handle = memory;
    return ncclSuccess;
  });
}

ncclResult_t ncclCommDeregister(const ncclComm_t comm, void* handle) {
  return call("ncclCommDeregister", [&] {
    if (comm == nullptr) return ncclInvalidArgument;
    const std::lock_guard lock(comm->state->mutex);
    if (comm->state->registered.erase(handle) == 0) return refuse("this memory is not registered");
    emulation::count_live(kRegistrations, -1);
    return ncclSuccess;
  });
}

}  // extern "C"
