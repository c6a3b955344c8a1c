#include "comm/device_communicator.hpp"

#include <chrono>
#include <cstring>
#include <thread>

#include <lockstep/core/error.hpp>
#include <lockstep/core/log.hpp>
#include "backend/capture.hpp"
#include "comm/call.hpp"

namespace lockstep::inline v0::detail {

void describe(DeviceFamily& family, const RankDevices& devices, int rank) {
  if (rank != 0 || family.described.exchange(true)) return;
  log(LogLevel::information, devices.any_shared()
                                 ? "ranks share a GPU: they exchange through host memory"
                                 : "GPUs exchange through " + nccl_version());
  for (const std::string& line : devices.lines()) log(LogLevel::information, line);
}

DeviceCommunicator::~DeviceCommunicator() {
  const std::lock_guard lock(family_->mutex);
  if (family_->closed) return;
  for (auto& [index, plane] : planes_) {
    if (!plane || plane->id() == 0) continue;
    plane->park();
    family_->parked.push_back({std::move(plane), size()});
  }
}

std::shared_ptr<CommunicatorBackend> DeviceCommunicator::wrap(
    std::shared_ptr<CommunicatorBackend> host) const {
  if (host->size() == 1) return host;  // a group of one gives nothing away
  return std::make_shared<DeviceCommunicator>(std::move(host), family_);
}

std::shared_ptr<CommunicatorBackend> DeviceCommunicator::split(int color, int key) {
  return wrap(host_->split(color, key));
}

std::shared_ptr<CommunicatorBackend> DeviceCommunicator::duplicate() {
  return wrap(host_->duplicate());
}

CommunicatorBackend::WorkPointer DeviceCommunicator::follow(const Call& call,
                                                            std::shared_ptr<Task> task) {
  return host_->follow(call, std::move(task));
}

void DeviceCommunicator::end_parked() {
  std::string ids;
  {
    const std::lock_guard lock(family_->mutex);
    for (const auto& parked : family_->parked) {
      const std::uint64_t id = parked.plane->id();
      if (parked.plane->idle()) ids.append(reinterpret_cast<const char*>(&id), sizeof id);
    }
  }
  std::map<std::uint64_t, int> holders;
  for (const std::string& list : host_->gather_bytes(ids))
    for (std::size_t at = 0; at + sizeof(std::uint64_t) <= list.size();
         at += sizeof(std::uint64_t)) {
      std::uint64_t id = 0;
      std::memcpy(&id, list.data() + at, sizeof id);
      ++holders[id];
    }
  std::vector<std::shared_ptr<DevicePlane>> ended;  // released without the lock
  const std::lock_guard lock(family_->mutex);
  std::erase_if(family_->parked, [&](DeviceFamily::Parked& parked) {
    const auto found = holders.find(parked.plane->id());
    if (found == holders.end() || found->second != parked.size) return false;
    ended.push_back(std::move(parked.plane));
    return true;
  });
}

DataPlane& DeviceCommunicator::plane(Device device) {
  if (device.kind == DeviceKind::cpu) return *host_;
  const std::lock_guard lock(mutex_);
  auto& plane = planes_[device.index];
  if (plane) return *plane;
  if (backend::Capture* capture = backend::current_capture())
    capture->refuse("makes the first collective of a communicator");
  end_parked();
  const RankDevices devices = compare_devices(*host_, device, family_->share_device);
  describe(*family_, devices, rank());
  const bool shared = devices.any_shared();
  plane =
      shared ? make_staged_communicator(context(device)) : make_nccl_communicator(context(device));
  for (const auto& [data, registration] : registrations_)
    if (registration.device == device) plane->register_memory(data, registration.byte_count);
  const std::lock_guard family_lock(family_->mutex);
  std::erase_if(family_->planes, [](const auto& known) { return known.expired(); });
  family_->planes.push_back(plane);
  return *plane;
}

DataPlane& DeviceCommunicator::message_plane(Device device) {
  if (device.kind == DeviceKind::cpu) return *host_;
  const std::lock_guard lock(mutex_);
  if (const auto found = planes_.find(device.index); found != planes_.end() && found->second)
    return *found->second;
  auto& plane = message_planes_[device.index];
  if (!plane) plane = make_staged_communicator(context(device));
  return *plane;
}

void DeviceCommunicator::register_memory(Device device, void* data, std::int64_t byte_count) {
  if (device.kind == DeviceKind::cpu) return;
  const std::lock_guard lock(mutex_);
  registrations_[data] = {device, byte_count};
  if (const auto found = planes_.find(device.index); found != planes_.end() && found->second)
    found->second->register_memory(data, byte_count);
}

void DeviceCommunicator::forget_memory(Device device, void* data) noexcept {
  const std::lock_guard lock(mutex_);
  if (registrations_.erase(data) == 0) return;
  if (const auto found = planes_.find(device.index); found != planes_.end() && found->second)
    found->second->forget_memory(data);
}

CommunicatorBackend::WorkPointer DeviceCommunicator::all_reduce(Span values, ReduceOp op,
                                                                SumOrder order, Keep keep) {
  return plane(values.device).all_reduce(values, op, order, std::move(keep));
}

CommunicatorBackend::WorkPointer DeviceCommunicator::reduce_scatter(Span input, Span output,
                                                                    ReduceOp op, SumOrder order,
                                                                    Keep keep) {
  return plane(input.device).reduce_scatter(input, output, op, order, std::move(keep));
}

CommunicatorBackend::WorkPointer DeviceCommunicator::all_gather(Span input, Span output,
                                                                Keep keep) {
  return plane(input.device).all_gather(input, output, std::move(keep));
}

CommunicatorBackend::WorkPointer DeviceCommunicator::all_to_all(Span input, Span output,
                                                                Keep keep) {
  return plane(input.device).all_to_all(input, output, std::move(keep));
}

CommunicatorBackend::WorkPointer DeviceCommunicator::broadcast(Span values, int root, Keep keep) {
  return plane(values.device).broadcast(values, root, std::move(keep));
}

CommunicatorBackend::WorkPointer DeviceCommunicator::send(Span values, int destination, int tag,
                                                          Keep keep) {
  return message_plane(values.device).send(values, destination, tag, std::move(keep));
}

CommunicatorBackend::WorkPointer DeviceCommunicator::receive(Span values, int source, int tag,
                                                             Keep keep) {
  return message_plane(values.device).receive(values, source, tag, std::move(keep));
}

void DeviceCommunicator::set_step(std::int64_t step) noexcept {
  *family_->step = step;
  host_->set_step(step);
}

void DeviceCommunicator::end_planes(const std::vector<std::shared_ptr<DevicePlane>>& planes) {
  const auto begin = std::chrono::steady_clock::now();
  for (const auto& plane : planes) {
    while (!plane->idle() && std::chrono::steady_clock::now() - begin < timeout()) {
      plane->require_alive();
      host_->poll();
      std::this_thread::sleep_for(std::chrono::microseconds{50});
    }
    plane->require_alive();
  }
  host_->barrier();  // nobody starts anything on them after this
  // All begin before any is waited for: ranks may hold them in different orders.
  for (const auto& plane : planes) {
    plane->begin_close();
    plane->require_alive();
  }
  for (const auto& plane : planes) plane->finish_close([this] { host_->poll(); });
}

void DeviceCommunicator::close() {
  std::vector<std::shared_ptr<DevicePlane>> open;
  {
    const std::lock_guard lock(family_->mutex);
    if (family_->closed) return host_->close();
    for (const auto& known : family_->planes)
      if (auto plane = known.lock()) open.push_back(std::move(plane));
  }
  for (const auto& plane : open)
    if (plane->is_recorded())
      throw InvalidUsage(
          "close: a CapturedStep that exchanges between ranks is still there; destroy it first");
  try {
    end_planes(open);
  } catch (const CommunicationError& error) {
    host_->announce_failure(error.what());  // the others may be waiting for this rank's part
    throw;
  }
  {
    const std::lock_guard lock(family_->mutex);
    family_->closed = true;
    family_->parked.clear();
  }
  host_->close();
}

}  // namespace lockstep::inline v0::detail
