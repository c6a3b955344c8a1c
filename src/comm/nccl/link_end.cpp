// How a link ends, and the memory that is registered with it.
#include <thread>
#include <utility>

#include "comm/nccl/link.hpp"

namespace lockstep::inline v0::detail::nccl {

void Link::register_memory(void* data, std::int64_t byte_count) noexcept {
#if NCCL_VERSION_CODE >= 21900
  const std::lock_guard launching(launching_);
  const Lock lock(mutex_);
  if (failure_ || communicator_ == nullptr || registered_.count(data) != 0) return;
  void* handle = nullptr;
  // Only a faster way: what NCCL does not register it copies.
  if (ncclCommRegister(communicator_, data, static_cast<std::size_t>(byte_count), &handle) ==
      ncclSuccess)
    registered_[data] = handle;
#else
  (void)data;
  (void)byte_count;
#endif
}

void Link::forget_memory(void* data) noexcept {
#if NCCL_VERSION_CODE >= 21900
  (void)look();  // what has passed is not in flight any more
  const std::lock_guard launching(launching_);
  const Lock lock(mutex_);
  const auto found = registered_.find(data);
  if (found == registered_.end()) return;
  // What is in flight may still use it; the communicator's end gives it back then.
  if (communicator_ != nullptr && flights_.empty())
    (void)ncclCommDeregister(communicator_, found->second);
  registered_.erase(found);
#else
  (void)data;
#endif
}

// All ranks have made their last call, so what is in flight comes to its end. Only then may memory
// be deregistered.
void Link::begin_close() noexcept {
  const auto begin = Clock::now();
  while (look() && Clock::now() - begin < timeout())
    std::this_thread::sleep_for(std::chrono::microseconds{50});
  const Lock lock(mutex_);
  if (communicator_ == nullptr || closing_) return;
  closing_ = true;
#if NCCL_VERSION_CODE >= 21900
  for (const auto& [data, handle] : registered_) (void)ncclCommDeregister(communicator_, handle);
#endif
  registered_.clear();
  const ncclResult_t result = ncclCommFinalize(communicator_);
  if (result == ncclSuccess || result == ncclInProgress) return;
  // The others would wait for this rank.
  fail("close" + who() + ": " + to_string(failed(result, communicator_)), result);
}

void Link::finish_close(const std::function<void()>& poll) {
  const auto begin = Clock::now();
  Lock lock(mutex_);
  if (communicator_ == nullptr || !closing_) return;
  ncclResult_t state = ncclInProgress;
  while (ncclCommGetAsyncError(communicator_, &state) == ncclSuccess && state == ncclInProgress &&
         Clock::now() - begin < timeout()) {
    lock.unlock();
    std::this_thread::sleep_for(std::chrono::microseconds{50});
    poll();
    lock.lock();
    if (communicator_ == nullptr) return;
  }
  // Destroying waits for the other ranks unless it is finalized, so what is not is aborted.
  if (state == ncclSuccess)
    (void)ncclCommDestroy(std::exchange(communicator_, nullptr));
  else
    abort();
}

}  // namespace lockstep::inline v0::detail::nccl
