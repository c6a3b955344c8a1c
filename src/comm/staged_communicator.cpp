// Device memory through the host: copied out, exchanged by the host communicator, copied back. For
// ranks that share a GPU, and for messages before there is anything faster.
#include <lockstep/core/create.hpp>
#include "backend/backend.hpp"
#include "comm/device_plane.hpp"

namespace lockstep::inline v0::detail {
namespace {

using WorkPointer = DataPlane::WorkPointer;

void copy_out(const Span& device, const Span& host) {
  if (device.count == 0) return;
  backend::backend_for(device.device)
      .memory.copy_to_host(host.data, device.data, device.count * byte_size(device.dtype),
                           backend::current_queue(device.device));
}

void copy_back(const Span& host, const Span& device) {
  if (device.count == 0) return;
  backend::backend_for(device.device)
      .memory.copy_from_host(device.data, host.data, device.count * byte_size(device.dtype),
                             backend::current_queue(device.device));
}

/// Its result is on the device when wait() has been called, or done() has returned true.
class StagedWork final : public WorkState {
 public:
  StagedWork(WorkPointer host_work, Span host, Span device, DataPlane::Keep keep)
      : host_work_(std::move(host_work)), host_(host), device_(device), keep_(std::move(keep)) {}

  void wait() override {
    if (host_work_) host_work_->wait();
    finish();
  }

  bool done() override {
    if (host_work_ && !host_work_->done()) return false;
    finish();
    return true;
  }

 private:
  void finish() {
    if (finished_) return;
    copy_back(host_, device_);
    finished_ = true;
    keep_.clear();
  }

  WorkPointer host_work_;
  Span host_;
  Span device_;
  DataPlane::Keep keep_;
  bool finished_ = false;
};

class StagedCommunicator final : public DevicePlane {
 public:
  explicit StagedCommunicator(std::shared_ptr<CommunicatorBackend> host) : host_(std::move(host)) {}

  WorkPointer all_reduce(Span values, ReduceOp op, SumOrder order, Keep keep) override {
    Tensor host = tensor_like(values);
    const Span staged = span_of(host);
    copy_out(values, staged);
    return back(host_->all_reduce(staged, op, order, {host}), host, values, std::move(keep));
  }

  WorkPointer reduce_scatter(Span input, Span output, ReduceOp op, SumOrder order,
                             Keep keep) override {
    return between(input, output, std::move(keep), [&](Span from, Span to, Keep staged) {
      return host_->reduce_scatter(from, to, op, order, std::move(staged));
    });
  }

  WorkPointer all_gather(Span input, Span output, Keep keep) override {
    return between(input, output, std::move(keep), [&](Span from, Span to, Keep staged) {
      return host_->all_gather(from, to, std::move(staged));
    });
  }

  WorkPointer all_to_all(Span input, Span output, Keep keep) override {
    return between(input, output, std::move(keep), [&](Span from, Span to, Keep staged) {
      return host_->all_to_all(from, to, std::move(staged));
    });
  }

  WorkPointer broadcast(Span values, int root, Keep keep) override {
    Tensor host = tensor_like(values);
    const Span staged = span_of(host);
    if (host_->rank() != root)
      return back(host_->broadcast(staged, root, {host}), host, values, std::move(keep));
    copy_out(values, staged);
    return host_->broadcast(staged, root, {host});
  }

  WorkPointer send(Span values, int destination, int tag, Keep) override {
    Tensor host = tensor_like(values);
    const Span staged = span_of(host);
    copy_out(values, staged);
    return host_->send(staged, destination, tag, {host});
  }

  WorkPointer receive(Span values, int source, int tag, Keep keep) override {
    Tensor host = tensor_like(values);
    return back(host_->receive(span_of(host), source, tag, {host}), host, values, std::move(keep));
  }

  void park() noexcept override { host_.reset(); }

 private:
  static Tensor tensor_like(const Span& span) { return empty({span.count}, span.dtype); }
  static Span span_of(Tensor& tensor) {
    return {tensor.mutable_raw_data(), tensor.element_count(), tensor.dtype(), tensor.device()};
  }

  static WorkPointer back(WorkPointer host_work, Tensor& host, const Span& device, Keep keep) {
    const Span staged = span_of(host);
    keep.push_back(host);
    return std::make_shared<StagedWork>(std::move(host_work), staged, device, std::move(keep));
  }

  template <class Exchange>
  static WorkPointer between(const Span& input, const Span& output, Keep keep, Exchange exchange) {
    Tensor from = tensor_like(input);
    Tensor to = tensor_like(output);
    copy_out(input, span_of(from));
    return back(exchange(span_of(from), span_of(to), Keep{from, to}), to, output, std::move(keep));
  }

  std::shared_ptr<CommunicatorBackend> host_;
};

}  // namespace

std::shared_ptr<DevicePlane> make_staged_communicator(const PlaneContext& context) {
  return std::make_shared<StagedCommunicator>(context.host);
}

}  // namespace lockstep::inline v0::detail
