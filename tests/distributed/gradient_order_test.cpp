// Gradients of the program's own on a device: the exchange never reads one before the kernel that
// writes it, and what comes after finish() never reads one before the exchange, in whatever order
// streams run; and the host waits for nothing.
#include <catch2/catch.hpp>

#include <cuda_runtime_api.h>

#include <chrono>
#include <limits>
#include <string>
#include <vector>

#include <lockstep/lockstep.hpp>

#include "backend/backend.hpp"
#include "comm/nccl/monitor.hpp"
#include "emulation/control.hpp"
#include "support/test_environment.hpp"

namespace ls = lockstep;

namespace {

constexpr std::uint64_t kSeeds = 16;
constexpr int kRounds = 100;
constexpr int kRoundsBetweenReads = 10;

/// This thread's operations run on a stream of its own while it lives.
class OwnStream {
 public:
  explicit OwnStream(int device) : device_(device) {
    REQUIRE(cudaSetDevice(device) == cudaSuccess);
    REQUIRE(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking) == cudaSuccess);
    before_ = ls::backend::set_cuda_queue(device, {true, {stream_}});
  }
  ~OwnStream() {
    ls::backend::set_cuda_queue(device_, before_);
    static_cast<void>(cudaDeviceSynchronize());
    static_cast<void>(cudaStreamDestroy(stream_));
  }
  OwnStream(const OwnStream&) = delete;
  OwnStream& operator=(const OwnStream&) = delete;

 private:
  int device_;
  cudaStream_t stream_ = nullptr;
  ls::backend::ChosenQueue before_;
};

struct Gradients {
  ls::GradientSynchronizer synchronizer;
  std::vector<ls::Tensor> all;
  std::vector<std::int64_t> ids;

  Gradients(const ls::Communicator& ranks, ls::SumOrder order)
      : synchronizer(ranks, {.bucket_bytes = 256, .first_bucket_bytes = 100, .order = order}) {
    for (const std::int64_t count : {40, 7, 65}) {
      all.push_back(ls::zeros({count}, ls::DType::float32, test_environment().device()));
      ids.push_back(synchronizer.add("g" + std::to_string(count), all.back()));
    }
    synchronizer.commit();
  }

  /// Returns what an optimizer reads that does not wait for anything.
  std::vector<ls::Tensor> round() {
    for (ls::Tensor& gradient : all) gradient.fill(std::numeric_limits<double>::quiet_NaN());
    for (std::size_t i = all.size(); i-- > 0;) {
      all[i].fill(3);
      synchronizer.ready(ids[i]);
    }
    synchronizer.finish();
    std::vector<ls::Tensor> read;
    for (const ls::Tensor& gradient : all) read.push_back(gradient + gradient);
    return read;
  }
};

/// The number of elements that are not 6, the double of 3.
std::int64_t wrong_elements(const std::vector<ls::Tensor>& tensors) {
  std::int64_t wrong = 0;
  for (const ls::Tensor& tensor : tensors)
    for (const float value : tensor.to_vector<float>()) wrong += value == 6 ? 0 : 1;
  return wrong;
}

void check_rounds(const ls::Communicator& ranks, ls::SumOrder order) {
  Gradients gradients(ranks, order);
  REQUIRE(gradients.synchronizer.bucket_count() >= 2);
  gradients.round();  // connects
  REQUIRE(cudaDeviceSynchronize() == cudaSuccess);
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    emulation::set_seed(seed);
    for (int round = 0; round < kRounds; round += kRoundsBetweenReads) {
      INFO("seed " << seed << ", rounds from " << round);
      const emulation::Counters before = emulation::counters();
      std::vector<ls::Tensor> read;
      for (int i = 0; i < kRoundsBetweenReads; ++i)
        for (ls::Tensor& tensor : gradients.round()) read.push_back(std::move(tensor));
      const emulation::Counters after = emulation::counters();
      REQUIRE(after.host_synchronizations == before.host_synchronizations);
      REQUIRE(after.device_synchronizations == before.device_synchronizations);
      REQUIRE(wrong_elements(read) == 0);
    }
  }
}

void check_orders(const ls::Communicator& ranks) {
  REQUIRE(test_environment().device().kind == ls::DeviceKind::cuda);
  // A look at an event lets the stand-in run what comes before it.
  ls::detail::nccl::set_monitor_interval(std::chrono::hours{1});
  check_rounds(ranks, ls::SumOrder::fastest);
  check_rounds(ranks, ls::SumOrder::ranks);
}

}  // namespace

TEST_CASE("gradients are exchanged after they are written and before they are read") {
  check_orders(test_environment().ranks());
}

TEST_CASE("the same on a stream of the caller's own") {
  const OwnStream stream(test_environment().device().index);
  check_orders(test_environment().ranks());
}

TEST_CASE("the same in groups of one") {
  check_orders(test_environment().ranks().split(test_environment().rank()));
}
