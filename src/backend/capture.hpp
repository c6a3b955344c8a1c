// A step that is recorded once and replayed. What changes from step to step is not recorded: it is
// registered here, and done again with each replay.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>

#include <lockstep/core/device.hpp>
#include "backend/queue.hpp"

namespace lockstep::inline v0::backend {

class Capture {
 public:
  virtual ~Capture() = default;
  /// Device memory for values that change from step to step; it lives as long as the recording.
  /// Before each replay, the first included, fill(host bytes) is called and the bytes are copied
  /// there. In the order of registration.
  virtual void* upload_each_time(std::int64_t byte_count, std::function<void(std::byte*)> fill) = 0;
  /// Called before each replay: may throw, and nothing is queued.
  virtual void before_each_time(std::function<void()> check) = 0;
  /// Called after each replay was queued: brings the host's view to where the capture left it.
  virtual void after_each_time(std::function<void()> restore) = 0;
  /// Lives as long as the recording: what it reads at each replay.
  virtual void keep(std::shared_ptr<void> object) = 0;
  /// @throws CaptureRefused: the step does something that cannot be replayed.
  [[noreturn]] void refuse(const char* what) const;
};

/// The capture of this thread; null outside of one.
Capture* current_capture() noexcept;
void set_current_capture(Capture* capture) noexcept;

/// begin(), the step, end(), then replay() any number of times. One thread at a time.
class Recording : public Capture {
 public:
  /// From here on, operations of this thread on the device are recorded and not run.
  virtual void begin() = 0;
  /// @throws DeviceError if what was recorded cannot be run, CaptureRefused if the device says no
  virtual void end() = 0;
  /// After an exception of the step: forgets what was recorded.
  virtual void abandon() noexcept = 0;
  /// Queues everything on the device's current queue; does not wait.
  virtual void replay() = 0;
};

/// Null for a device that cannot record.
std::unique_ptr<Recording> make_recording(Device device);
/// One per device kind.
std::unique_ptr<Recording> make_cuda_recording(int index);

}  // namespace lockstep::inline v0::backend
