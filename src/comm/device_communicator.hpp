// A communicator for memory of the host and of devices. Host memory and the control plane are left
// to the communicator that it wraps. What moves memory of a device is made by the first collective
// on that device, which all ranks reach in the same order.
#pragma once

#include <map>
#include <mutex>
#include <vector>

#include "comm/device_choice.hpp"
#include "comm/device_plane.hpp"

namespace lockstep::inline v0::detail {

/// What all communicators that came from one environment share.
struct DeviceFamily {
  bool share_device = false;  // ranks on one GPU are wanted
  std::shared_ptr<std::atomic<std::int64_t>> step = std::make_shared<std::atomic<std::int64_t>>(-1);
  std::mutex mutex;
  std::vector<std::weak_ptr<DevicePlane>> planes;
  // Of communicators whose last handle is gone: another rank may still receive from this one, so
  // they stay until the ranks meet again and all are done with it, until close(), or until the job
  // has ended.
  struct Parked {
    std::shared_ptr<DevicePlane> plane;
    int size = 1;  // ranks
  };
  std::vector<Parked> parked;
  bool closed = false;
  std::atomic<bool> described = false;  // the devices, in the log
};

/// Rank 0 says once what all ranks run on.
void describe(DeviceFamily& family, const RankDevices& devices, int rank);

class DeviceCommunicator final : public CommunicatorBackend {
 public:
  DeviceCommunicator(std::shared_ptr<CommunicatorBackend> host,
                     std::shared_ptr<DeviceFamily> family)
      : host_(std::move(host)), family_(std::move(family)) {
    *timeout_ms_ = host_->timeout().count();
  }
  ~DeviceCommunicator() override;
  DeviceCommunicator(const DeviceCommunicator&) = delete;
  DeviceCommunicator& operator=(const DeviceCommunicator&) = delete;

  int rank() const noexcept override { return host_->rank(); }
  int size() const noexcept override { return host_->size(); }
  std::shared_ptr<CommunicatorBackend> split(int color, int key) override;
  std::shared_ptr<CommunicatorBackend> duplicate() override;
  WorkPointer follow(const Call& call, std::shared_ptr<Task> task) override;
  void register_memory(Device device, void* data, std::int64_t byte_count) override;
  void forget_memory(Device device, void* data) noexcept override;

  WorkPointer all_reduce(Span values, ReduceOp op, SumOrder order, Keep keep) override;
  WorkPointer reduce_scatter(Span input, Span output, ReduceOp op, SumOrder order,
                             Keep keep) override;
  WorkPointer all_gather(Span input, Span output, Keep keep) override;
  WorkPointer all_to_all(Span input, Span output, Keep keep) override;
  WorkPointer broadcast(Span values, int root, Keep keep) override;
  /// Through the host as long as there was no collective on the device: two ranks alone cannot make
  /// what all ranks make together.
  WorkPointer send(Span values, int destination, int tag, Keep keep) override;
  WorkPointer receive(Span values, int source, int tag, Keep keep) override;

  std::vector<std::string> gather_bytes(std::string_view own) override {
    return host_->gather_bytes(own);
  }
  bool agree(bool value) override { return host_->agree(value); }
  void barrier() override { host_->barrier(); }
  void close() override;

  void poll() override { host_->poll(); }
  void announce_failure(std::string_view text) noexcept override { host_->announce_failure(text); }
  void announce_leave(std::int64_t after_step) noexcept override {
    host_->announce_leave(after_step);
  }
  void set_step(std::int64_t step) noexcept override;
  std::chrono::milliseconds timeout() const noexcept override { return host_->timeout(); }
  void set_timeout(std::chrono::milliseconds timeout) noexcept override {
    *timeout_ms_ = timeout.count();
    host_->set_timeout(timeout);
  }

 private:
  /// Collective. What is in flight lands, then all are released together.
  void end_planes(const std::vector<std::shared_ptr<DevicePlane>>& planes);
  struct Registration {
    Device device;
    std::int64_t byte_count = 0;
  };

  std::shared_ptr<CommunicatorBackend> wrap(std::shared_ptr<CommunicatorBackend> host) const;
  PlaneContext context(Device device) const { return {host_, device, family_->step, timeout_ms_}; }
  /// Collective. Ends what all its ranks have parked.
  void end_parked();
  /// For a collective: makes it where there is none.
  DataPlane& plane(Device device);
  DataPlane& message_plane(Device device);

  std::shared_ptr<CommunicatorBackend> host_;
  std::shared_ptr<DeviceFamily> family_;
  std::shared_ptr<std::atomic<std::int64_t>> timeout_ms_ =
      std::make_shared<std::atomic<std::int64_t>>();
  std::mutex mutex_;
  std::map<std::int32_t, std::shared_ptr<DevicePlane>> planes_;  // by index of the device
  std::map<std::int32_t, std::shared_ptr<DevicePlane>> message_planes_;
  std::map<void*, Registration> registrations_;
};

}  // namespace lockstep::inline v0::detail
