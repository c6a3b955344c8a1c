// A step that is recorded once and replayed. What changes from step to step is not recorded: it is
// registered here, and done again before each replay.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>

#include "backend/queue.hpp"

namespace lockstep::inline v0::backend {

class Capture {
 public:
  virtual ~Capture() = default;
  /// Before each replay, the first included: fill(host bytes), which are then copied to
  /// `destination` (device memory that the caller keeps) on the queue of the replay. In the order
  /// of registration.
  virtual void upload_each_time(void* destination, std::int64_t byte_count,
                                std::function<void(std::byte*)> fill) = 0;
  /// Lives as long as the recording: what it reads at each replay.
  virtual void keep(std::shared_ptr<void> object) = 0;
  /// @throws InvalidUsage: the step does something that cannot be replayed.
  [[noreturn]] virtual void refuse(const char* what) = 0;
};

/// The capture of this thread; null outside of one.
Capture* current_capture() noexcept;
void set_current_capture(Capture* capture) noexcept;

}  // namespace lockstep::inline v0::backend
