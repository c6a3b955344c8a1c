// The runtime's functions for streams, events and host functions.
#include <algorithm>

#include "emulation/src/graph.hpp"
#include "emulation/src/operations.hpp"
#include "emulation/src/streams.hpp"

using namespace emulation;

namespace {

constexpr int kGreatestPriority = -5;  // lower numbers go first; 0 is the least

// A stream that may be waited for or queried, as a point.
cudaError_t point_of(cudaStream_t handle, Point& point) {
  const Lock lock(state().mutex);
  const StreamRef stream = find_stream(handle);
  if (stream == nullptr) return cudaErrorInvalidResourceHandle;
  if (stream->capture != nullptr) return invalidate(*stream->capture);
  if (const cudaError_t error = check_implicit_capture(*stream)) return error;
  point = tail_of(stream);
  return cudaSuccess;
}

// The last record of an event; a point without a stream if there is none.
cudaError_t point_of(cudaEvent_t handle, Point& point) {
  const Lock lock(state().mutex);
  const CUevent_st* event = find_event(handle);
  if (event == nullptr) return cudaErrorInvalidResourceHandle;
  if (event->capture != nullptr) return cudaErrorCapturedEvent;
  if (const cudaError_t error = check_unsafe_call()) return error;
  if (event->last != nullptr) point = event->last->point;
  return cudaSuccess;
}

template <typename Handle>
cudaError_t wait_for(Handle handle) {
  Point target;
  if (const cudaError_t error = point_of(handle, target)) return error;
  {
    const Lock lock(state().mutex);
    ++state().counters.host_synchronizations;
  }
  if (target.stream != nullptr) synchronize({target});
  const Lock lock(state().mutex);
  return state().sticky_error;
}

template <typename Handle>
cudaError_t ask(Handle handle) {
  Point target;
  if (const cudaError_t error = point_of(handle, target)) return error;
  const bool reached = target.stream == nullptr || query({target});
  const Lock lock(state().mutex);
  if (state().sticky_error != cudaSuccess) return state().sticky_error;
  return reached ? cudaSuccess : cudaErrorNotReady;
}

cudaError_t create(cudaStream_t* stream, unsigned int flags, int priority) {
  if (stream == nullptr || flags > cudaStreamNonBlocking) return cudaErrorInvalidValue;
  const Lock lock(state().mutex);
  // Priorities out of range are taken to the nearest one.
  *stream = create_stream(flags, std::clamp(priority, kGreatestPriority, 0)).get();
  return cudaSuccess;
}

cudaError_t create(cudaEvent_t* event, unsigned int flags) {
  if (event == nullptr || flags > 7) return cudaErrorInvalidValue;
  const Lock lock(state().mutex);
  *event = new CUevent_st;
  (*event)->device = this_thread().device;
  (*event)->flags = flags;
  add_event(*event);
  return cudaSuccess;
}

cudaError_t record(cudaEvent_t handle, cudaStream_t stream_handle) {
  const Lock lock(state().mutex);
  CUevent_st* event = find_event(handle);
  const StreamRef stream = find_stream(stream_handle);
  if (event == nullptr || stream == nullptr || event->device != stream->device) {
    return cudaErrorInvalidResourceHandle;
  }
  if (stream->capture != nullptr) return capture_event_record(*stream, *event);
  if (const cudaError_t error = check_implicit_capture(*stream)) return error;
  event->capture = nullptr;
  event->last = std::make_shared<EventRecord>();
  append(stream, {std::make_unique<RecordOperation>(event->last), {}});
  event->last->point = tail_of(stream);
  return cudaSuccess;
}

bool is_dropped(std::int64_t number) {
  const auto& dropped = state().dropped_waits;
  return std::find(dropped.begin(), dropped.end(), number) != dropped.end();
}

cudaError_t wait_event(cudaStream_t stream_handle, cudaEvent_t handle) {
  const Lock lock(state().mutex);
  const CUevent_st* event = find_event(handle);
  const StreamRef stream = find_stream(stream_handle);
  if (event == nullptr || stream == nullptr) return cudaErrorInvalidResourceHandle;
  if (is_dropped(state().event_waits++)) return cudaSuccess;
  if (stream->capture != nullptr && event->last == nullptr && event->capture == nullptr) {
    return cudaSuccess;  // never recorded
  }
  if (stream->capture != nullptr || event->capture != nullptr) {
    return capture_event_wait(stream, *event);
  }
  if (const cudaError_t error = check_implicit_capture(*stream)) return error;
  if (event->last == nullptr || event->last->point.reached()) return cudaSuccess;
  append(stream, {nullptr, {event->last->point}});
  return cudaSuccess;
}

cudaError_t elapsed(float* milliseconds, cudaEvent_t start, cudaEvent_t end) {
  if (milliseconds == nullptr) return cudaErrorInvalidValue;
  const Lock lock(state().mutex);
  const CUevent_st* events[] = {find_event(start), find_event(end)};
  for (const CUevent_st* event : events) {
    if (event == nullptr || event->last == nullptr) return cudaErrorInvalidResourceHandle;
    if ((event->flags & cudaEventDisableTiming) != 0) return cudaErrorInvalidResourceHandle;
    if (event->capture != nullptr) return cudaErrorCapturedEvent;
  }
  for (const CUevent_st* event : events) {
    if (!event->last->point.reached()) return cudaErrorNotReady;
  }
  const auto time = events[1]->last->time - events[0]->last->time;
  *milliseconds = std::chrono::duration<float, std::milli>(time).count();
  return cudaSuccess;
}

// Calls use with the stream of the handle, if there is one.
template <typename Use>
cudaError_t with_stream(cudaStream_t handle, Use&& use) {
  const Lock lock(state().mutex);
  const StreamRef stream = find_stream(handle);
  if (stream == nullptr) return cudaErrorInvalidResourceHandle;
  return use(stream);
}

}  // namespace

extern "C" {

cudaError_t cudaDeviceGetStreamPriorityRange(int* leastPriority, int* greatestPriority) {
  return api_call("cudaDeviceGetStreamPriorityRange", [&] {
    if (leastPriority != nullptr) *leastPriority = 0;
    if (greatestPriority != nullptr) *greatestPriority = kGreatestPriority;
    return cudaSuccess;
  });
}

cudaError_t cudaStreamCreate(cudaStream_t* pStream) {
  return api_call("cudaStreamCreate", [&] { return create(pStream, cudaStreamDefault, 0); });
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* pStream, unsigned int flags) {
  return api_call("cudaStreamCreateWithFlags", [&] { return create(pStream, flags, 0); });
}

cudaError_t cudaStreamCreateWithPriority(cudaStream_t* pStream, unsigned int flags, int priority) {
  return api_call("cudaStreamCreateWithPriority", [&] { return create(pStream, flags, priority); });
}

cudaError_t cudaStreamDestroy(cudaStream_t handle) {
  return api_call("cudaStreamDestroy", [&] {
    return with_stream(handle, [](const StreamRef& stream) {
      if (stream->legacy) return cudaErrorInvalidResourceHandle;
      if (stream->capture != nullptr) return invalidate(*stream->capture);
      destroy_stream(stream);
      return cudaSuccess;
    });
  });
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  return api_call("cudaStreamSynchronize", [&] { return wait_for(stream); });
}

cudaError_t cudaStreamQuery(cudaStream_t stream) {
  return api_call("cudaStreamQuery", [&] { return ask(stream); });
}

cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned int flags) {
  return api_call("cudaStreamWaitEvent",
                  [&] { return flags == 0 ? wait_event(stream, event) : cudaErrorNotSupported; });
}

cudaError_t cudaStreamGetDevice(cudaStream_t hStream, int* device) {
  return api_call("cudaStreamGetDevice", [&] {
    return with_stream(hStream, [&](const StreamRef& stream) {
      *device = stream->device;
      return cudaSuccess;
    });
  });
}

cudaError_t cudaStreamGetFlags(cudaStream_t hStream, unsigned int* flags) {
  return api_call("cudaStreamGetFlags", [&] {
    return with_stream(hStream, [&](const StreamRef& stream) {
      *flags = stream->flags;
      return cudaSuccess;
    });
  });
}

cudaError_t cudaStreamGetPriority(cudaStream_t hStream, int* priority) {
  return api_call("cudaStreamGetPriority", [&] {
    return with_stream(hStream, [&](const StreamRef& stream) {
      *priority = stream->priority;
      return cudaSuccess;
    });
  });
}

cudaError_t cudaEventCreate(cudaEvent_t* event) {
  return api_call("cudaEventCreate", [&] { return create(event, cudaEventDefault); });
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned int flags) {
  return api_call("cudaEventCreateWithFlags", [&] { return create(event, flags); });
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  return api_call("cudaEventRecord", [&] { return record(event, stream); });
}

cudaError_t cudaEventQuery(cudaEvent_t event) {
  return api_call("cudaEventQuery", [&] { return ask(event); });
}

cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  return api_call("cudaEventSynchronize", [&] { return wait_for(event); });
}

cudaError_t cudaEventElapsedTime(float* ms, cudaEvent_t start, cudaEvent_t end) {
  return api_call("cudaEventElapsedTime", [&] { return elapsed(ms, start, end); });
}

cudaError_t cudaEventDestroy(cudaEvent_t handle) {
  return api_call("cudaEventDestroy", [&] {
    const Lock lock(state().mutex);
    CUevent_st* event = find_event(handle);
    if (event == nullptr) return cudaErrorInvalidResourceHandle;
    remove_event(event);
    delete event;
    return cudaSuccess;
  });
}

cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t fn, void* userData) {
  return api_call("cudaLaunchHostFunc", [&] {
    if (fn == nullptr) return cudaErrorInvalidValue;
    return enqueue(stream, std::make_unique<HostOperation>(fn, userData));
  });
}

}  // extern "C"
