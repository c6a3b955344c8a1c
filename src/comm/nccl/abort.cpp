#include "comm/nccl/abort.hpp"

#include <cuda_runtime_api.h>
#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>

#include <condition_variable>
#include <mutex>
#include <thread>

namespace lockstep::inline v0::detail::nccl {
namespace {

struct Aborts {
  std::mutex mutex;
  std::condition_variable ended;
  int running = 0;
};

// Never destroyed: an abort may run until the process ends.
Aborts& aborts() {
  static auto* instance = new Aborts;
  return *instance;
}

void run(ncclComm_t communicator, int device) {
  prctl(PR_SET_NAME, "lockstep-abort");
  (void)cudaSetDevice(device);
  (void)ncclCommAbort(communicator);
  Aborts& all = aborts();
  {
    const std::lock_guard lock(all.mutex);
    --all.running;
  }
  all.ended.notify_all();
}

}  // namespace

void begin_abort(ncclComm_t communicator, int device) noexcept {
  Aborts& all = aborts();
  {
    const std::lock_guard lock(all.mutex);
    ++all.running;
  }
  // The program's signals are handled on the program's threads.
  sigset_t every, before;
  sigfillset(&every);
  pthread_sigmask(SIG_SETMASK, &every, &before);
  try {
    std::thread(run, communicator, device).detach();
  } catch (...) {  // no thread: here, then
    run(communicator, device);
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

void wait_for_aborts(std::chrono::milliseconds longest) noexcept {
  Aborts& all = aborts();
  std::unique_lock lock(all.mutex);
  all.ended.wait_for(lock, longest, [&] { return all.running == 0; });
}

}  // namespace lockstep::inline v0::detail::nccl
