#include "comm/nccl/link.hpp"

#include <algorithm>
#include <cstdio>
#include <thread>

#include "backend/backend.hpp"
#include "comm/nccl/abort.hpp"
#include "comm/nccl/given_up.hpp"

namespace lockstep::inline v0::detail::nccl {
namespace {

constexpr auto kBetweenLooks = std::chrono::microseconds{50};
constexpr auto kBeforeSleep = std::chrono::microseconds{100};
constexpr auto kLongestAbort = std::chrono::milliseconds{500};  // that a destructor waits for

std::string seconds_text(Clock::duration time) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f s", std::chrono::duration<double>(time).count());
  return text;
}

}  // namespace

/// While it lives, errors that NCCL reports are told of this flight, if none is ahead of it.
class Link::Launching {
 public:
  Launching(Link& link, const std::string& place) : link_(link) { set(place); }
  ~Launching() { set({}); }
  Launching(const Launching&) = delete;
  Launching& operator=(const Launching&) = delete;

 private:
  void set(const std::string& place) {
    const Lock lock(link_.mutex_);
    link_.launching_place_ = place;
  }
  Link& link_;
};

void Launcher::run(const std::function<ncclResult_t(ncclComm_t)>& call) { link_.call(call); }

void Launcher::run_group(const std::function<ncclResult_t(ncclComm_t)>& calls) {
  link_.call([&](ncclComm_t communicator) {
    if (const auto result = ncclGroupStart(); result != ncclSuccess) return result;
    const ncclResult_t inside = calls(communicator);
    const ncclResult_t ended = ncclGroupEnd();  // also where a call in the group was refused
    return inside == ncclSuccess || inside == ncclInProgress ? ended : inside;
  });
}

Link::Link(Identity identity, const ncclUniqueId& id,
           std::shared_ptr<const std::atomic<std::int64_t>> timeout_ms)
    : identity_(identity), timeout_ms_(std::move(timeout_ms)) {
  const DeviceGuard guard(identity_.device);
  stream_.emplace();
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  config.blocking = 0;  // the only way to a deadline, and to an abort while it connects
  const ncclResult_t result =
      ncclCommInitRankConfig(&communicator_, identity_.size, id, identity_.rank, &config);
  const Lock lock(mutex_);
  if (result != ncclSuccess && result != ncclInProgress)
    fail("connect" + who() + ": " + to_string(failed(result, nullptr)) + interface_text(), result);
}

Link::~Link() {
  abort();
  for (auto& flight : flights_) stopped_.push_back(std::move(flight));
  try {
    release_kept();
  } catch (...) {  // without memory; what is left is leaked as well
  }
  keep_given_up(std::move(stopped_));
  if (aborted_) wait_for_aborts(kLongestAbort);  // as a rule it has come to its end already
}

void Link::abort() noexcept {
  if (communicator_ == nullptr) return;
  aborted_ = true;
  begin_abort(std::exchange(communicator_, nullptr), identity_.device);
}

std::string Link::who() const { return " on rank " + std::to_string(identity_.rank); }

void Link::fail(std::string text, int code) noexcept {
  if (failure_) return;
  failure_.emplace("[nccl] " + std::move(text), identity_.rank, code);
  backend::forget_problems_of_ranks(identity_.device);
  for (auto& flight : flights_) stopped_.push_back(std::move(flight));
  flights_.clear();
  abort();
  registered_.clear();
}

void Link::require_alive() {
  const Lock lock(mutex_);
  if (failure_) throw CommunicationError(*failure_);
}

bool Link::connected() {
  const Lock lock(mutex_);
  if (failure_) throw CommunicationError(*failure_);
  if (connected_) return true;
  ncclResult_t state = ncclSuccess;
  const ncclResult_t asked = ncclCommGetAsyncError(communicator_, &state);
  if (asked != ncclSuccess) state = asked;
  if (state == ncclInProgress) return false;
  if (state != ncclSuccess) {
    fail("connect" + who() + ": " + to_string(failed(state, communicator_)) + interface_text(),
         state);
    throw CommunicationError(*failure_);
  }
  return connected_ = true;
}

// NCCL may take a call in the background; the next one must wait for that.
void Link::settle(Lock& lock, ncclResult_t result) {
  const auto begin = Clock::now();
  while (result == ncclInProgress) {
    lock.unlock();
    if (Clock::now() - begin < kBeforeSleep)
      std::this_thread::yield();  // as a rule it takes a few microseconds
    else
      std::this_thread::sleep_for(kBetweenLooks);
    lock.lock();
    if (failure_) throw CommunicationError(*failure_);
    ncclResult_t state = ncclSuccess;
    const ncclResult_t asked = ncclCommGetAsyncError(communicator_, &state);
    result = asked == ncclSuccess ? state : asked;
    if (const auto waited = Clock::now() - begin; waited > timeout())
      throw NcclFailed{ncclInProgress, "NCCL has not taken the call after " + seconds_text(waited)};
  }
  if (result != ncclSuccess) throw failed(result, communicator_);
}

void Link::call(const std::function<ncclResult_t(ncclComm_t)>& call) {
  Lock lock(mutex_);
  if (failure_) throw CommunicationError(*failure_);
  if (communicator_ == nullptr) throw NcclFailed{ncclInvalidUsage, "the communicator is closed"};
  settle(lock, call(communicator_));
}

void Link::launch(const std::shared_ptr<Flight>& flight, cudaStream_t compute,
                  const std::function<void(Launcher&)>& enqueue) {
  const std::lock_guard launching(launching_);
  const Launching named(*this, flight->place);
  const DeviceGuard guard(identity_.device);
  try {
    const bool captured = enqueue_between_events(*flight, compute, enqueue);
    const Lock lock(mutex_);
    flight->launched = true;
    flight->captured = captured;
    if (captured) return;
    (failure_ ? stopped_ : flights_).push_back(flight);
  } catch (const NcclFailed& failure) {
    const Lock lock(mutex_);
    fail(flight->place + ": " + to_string(failure), failure.result);
    stop(flight);
  } catch (const DeviceError& error) {
    const Lock lock(mutex_);
    fail(flight->place + ": " + error.what(), error.code());
    stop(flight);
  } catch (const CommunicationError&) {  // it failed meanwhile; finished() says how
    const Lock lock(mutex_);
    stop(flight);
  } catch (const std::exception& error) {  // of memory, or of what folds
    const Lock lock(mutex_);
    fail(flight->place + ": " + error.what(), 0);
    stop(flight);
  }
}

// Whether it is part of a graph.
bool Link::enqueue_between_events(Flight& flight, cudaStream_t compute,
                                  const std::function<void(Launcher&)>& enqueue) {
  const cudaStream_t stream = stream_->handle();
  cudaStreamCaptureStatus capture = cudaStreamCaptureStatusNone;
  check(cudaStreamIsCapturing(compute, &capture), "cudaStreamIsCapturing");
  flight.begin.emplace();
  flight.end.emplace();
  Event ready;
  ready.record(compute);
  ready.order(stream);
  flight.begin->record(stream);
  const bool captured = capture != cudaStreamCaptureStatusNone;
  flight.on_device = !captured;
  Launcher launcher(*this, stream);
  enqueue(launcher);
  flight.end->record(stream);
  return captured;
}

void Link::replayed(const std::shared_ptr<Flight>& flight, cudaStream_t compute) try {
  const DeviceGuard guard(identity_.device);
  flight->end.emplace();
  flight->end->record(compute);
  const Lock lock(mutex_);
  flight->launched = true;
  (failure_ ? stopped_ : flights_).push_back(flight);
} catch (const DeviceError& error) {
  const Lock lock(mutex_);
  fail(flight->place + ": " + error.what(), error.code());
}

void Link::stop(const std::shared_ptr<Flight>& flight) {
  if (!flight->on_device) return;
  try {
    flight->end->record(stream_->handle());
  } catch (const DeviceError&) {
    flight->end.reset();
  }
  stopped_.push_back(flight);
}

void Link::check_errors() {
  if (communicator_ == nullptr || closing_) return;
  ncclResult_t state = ncclSuccess;
  const ncclResult_t asked = ncclCommGetAsyncError(communicator_, &state);
  if (asked != ncclSuccess) state = asked;
  if (state == ncclSuccess || state == ncclInProgress) return;
  const std::string what = !flights_.empty()           ? flights_[0]->place
                           : !launching_place_.empty() ? launching_place_
                                                       : "between collectives" + who();
  fail(what + ": " + to_string(failed(state, communicator_)), state);
}

bool Link::event_passed(const Flight& flight, const Event& event) {
  const CaptureGuard guard;
  const cudaError_t code = event.query();
  if (code == cudaSuccess) return true;
  if (code != cudaErrorNotReady)
    fail(flight.place + ": " + cudaGetErrorName(code) + ": " + cudaGetErrorString(code), code);
  return false;
}

void Link::land(Flight& flight) {
  flight.passed = true;
  kept_.push_back(std::move(flight.keep));
  flight.keep.clear();
  std::erase_if(flights_, [&](const auto& other) { return other.get() == &flight; });
}

bool Link::finished(Flight& flight) {
  const Lock lock(mutex_);
  if (flight.passed || flight.captured) return true;
  if (!failure_ && flight.launched) {
    check_errors();
    if (!failure_ && event_passed(flight, *flight.end)) {
      land(flight);
      return true;
    }
  }
  if (failure_) throw CommunicationError(*failure_);
  return false;
}

bool Link::order(Flight& flight, cudaStream_t compute) {
  std::vector<Tensor> keep;
  const DeviceGuard guard(identity_.device);  // null is the default stream of the current device
  const Lock lock(mutex_);
  if (flight.passed) return true;
  if (failure_ || !flight.launched) return false;
  flight.end->order(compute);
  // Whoever gets this memory next on that stream comes after the collective.
  keep.swap(flight.keep);
  return true;
}

bool Link::landed(const Flight& flight) const {
  const Lock lock(mutex_);
  return flight.passed || flight.captured;
}

void Link::abandon() noexcept {
  const Lock lock(mutex_);
  try {
    fail("given up" + who() + ", because another call on the communicator failed", 0);
  } catch (...) {  // without memory for the text
    abort();
  }
}

bool Link::look() noexcept try {
  const Lock lock(mutex_);
  if (failure_ || !connected_ || closing_) return false;
  check_errors();
  while (!failure_ && !flights_.empty()) {
    const std::shared_ptr<Flight> flight = flights_.front();
    if (event_passed(*flight, *flight->end)) {
      land(*flight);
      continue;
    }
    // Of a flight within a graph only the end can be asked for.
    if (failure_ || (!flight->begun && flight->begin && !event_passed(*flight, *flight->begin)))
      break;
    const auto now = Clock::now();
    if (!flight->begun) flight->begun = now;
    // Whoever waits on the host comes to the deadline first, and can name the ranks.
    const auto waited = now - *flight->begun;
    if (waited > timeout() + std::max<Clock::duration>(timeout() / 4, std::chrono::seconds{1}))
      fail(flight->place + ": on the device for " + seconds_text(waited) +
               "; not all ranks take part, or one of them has stopped",
           0);
    break;
  }
  return !failure_ && !flights_.empty();
} catch (...) {
  return false;
}

void Link::release_kept() {
  std::vector<std::vector<Tensor>> kept;  // released without the lock
  std::vector<std::shared_ptr<Flight>> passed;
  const Lock lock(mutex_);
  kept.swap(kept_);
  // What was aborted may write until the device has come to its end.
  if (!stopped_.empty()) passed = take_passed(stopped_);
}

}  // namespace lockstep::inline v0::detail::nccl
