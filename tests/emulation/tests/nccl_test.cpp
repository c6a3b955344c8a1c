// The stand-in of NCCL does what NCCL promises, and not more.
#include <catch2/catch.hpp>

#include <nccl.h>

#include <memory>

#include "emulation/control.hpp"
#include "emulation/nccl_control.hpp"
#include "emulation/tests/device.hpp"

using namespace emulated_test;

namespace {

ncclResult_t state_of(ncclComm_t communicator) {
  ncclResult_t state = ncclSuccess;
  REQUIRE(ncclCommGetAsyncError(communicator, &state) == ncclSuccess);
  return state;
}

void settle(ncclComm_t communicator) {
  while (state_of(communicator) == ncclInProgress) continue;
}

/// A communicator of several devices of this process, and a stream on each.
class Clique {
 public:
  explicit Clique(int size, bool one_device = false) {
    emulation::set_device_count(one_device ? 1 : size);
    ncclUniqueId id;
    REQUIRE(ncclGetUniqueId(&id) == ncclSuccess);
    for (int rank = 0; rank < size; ++rank) {
      check(cudaSetDevice(one_device ? 0 : rank));
      ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
      config.blocking = 0;
      communicators_.emplace_back();
      REQUIRE(ncclCommInitRankConfig(&communicators_.back(), size, id, rank, &config) ==
              ncclInProgress);
      streams_.push_back(std::make_unique<Stream>());
    }
    for (const ncclComm_t communicator : communicators_) settle(communicator);
  }
  ~Clique() {
    for (const ncclComm_t communicator : communicators_)
      if (communicator != nullptr) ncclCommAbort(communicator);
    check(cudaSetDevice(0));
  }
  Clique(const Clique&) = delete;
  Clique& operator=(const Clique&) = delete;

  ncclComm_t& operator[](int rank) { return communicators_[static_cast<std::size_t>(rank)]; }
  const Stream& stream(int rank) const { return *streams_[static_cast<std::size_t>(rank)]; }
  int size() const { return static_cast<int>(communicators_.size()); }

  /// The sum of one value per rank, as rank 0 has it.
  template <class T>
  T sum(ncclDataType_t type, const std::vector<T>& values) {
    std::vector<std::unique_ptr<Buffer<T>>> buffers;
    for (int rank = 0; rank < size(); ++rank) {
      check(cudaSetDevice(rank));
      buffers.push_back(
          std::make_unique<Buffer<T>>(std::vector<T>{values[static_cast<std::size_t>(rank)]}));
      T* const data = buffers.back()->data();
      REQUIRE(ncclAllReduce(data, data, 1, type, ncclSum, (*this)[rank], stream(rank)) ==
              ncclInProgress);
      settle((*this)[rank]);
    }
    const std::vector<T> result = buffers[0]->values(stream(0));
    stream(0).synchronize();
    return result[0];
  }

 private:
  std::vector<ncclComm_t> communicators_;
  std::vector<std::unique_ptr<Stream>> streams_;
};

}  // namespace

TEST_CASE("a sum is complete, and not taken in rank order") {
  Clique clique(3);
  REQUIRE(clique.sum<std::int32_t>(ncclInt32, {1, 20, 300}) == 321);
  // (2^24 + 1) + -2^24 is 0 in float32, in any other order it is 1.
  REQUIRE(clique.sum<float>(ncclFloat32, {0x1p24F, 1.0F, -0x1p24F}) == 1);
}

TEST_CASE("a call before the one before it was taken is refused") {
  Clique clique(2);
  const Buffer<float> values(4);
  REQUIRE(ncclBroadcast(values.data(), values.data(), 4, ncclFloat32, 0, clique[1],
                        clique.stream(1)) == ncclInProgress);
  REQUIRE(ncclBroadcast(values.data(), values.data(), 4, ncclFloat32, 0, clique[1],
                        clique.stream(1)) == ncclInvalidArgument);
}

TEST_CASE("an operation without its peer waits, and ends when it is aborted") {
  Clique clique(2);
  check(cudaSetDevice(0));
  const Buffer<float> values(4);
  REQUIRE(ncclAllReduce(values.data(), values.data(), 4, ncclFloat32, ncclSum, clique[0],
                        clique.stream(0)) == ncclInProgress);
  settle(clique[0]);
  for (int i = 0; i < 20; ++i) REQUIRE(cudaStreamQuery(clique.stream(0)) == cudaErrorNotReady);
  REQUIRE(ncclCommAbort(clique[0]) == ncclSuccess);
  clique[0] = nullptr;
  clique.stream(0).synchronize();
}

TEST_CASE("two ranks on one device are refused") {
  Clique clique(2, true);
  REQUIRE(state_of(clique[0]) == ncclInvalidUsage);
  REQUIRE(std::string(ncclGetLastError(clique[0])).find("Duplicate GPU") != std::string::npos);
}

TEST_CASE("communicators are counted, and end together") {
  REQUIRE(emulation::live_handles("ncclComm") == 0);
  Clique clique(2);
  REQUIRE(emulation::live_handles("ncclComm") == 2);
  REQUIRE(ncclCommDestroy(clique[0]) == ncclInvalidUsage);
  REQUIRE(ncclCommFinalize(clique[0]) == ncclInProgress);
  for (int i = 0; i < 5; ++i) REQUIRE(state_of(clique[0]) == ncclInProgress);
  REQUIRE(ncclCommFinalize(clique[1]) == ncclInProgress);
  settle(clique[1]);
  settle(clique[0]);
  for (int rank = 0; rank < 2; ++rank) {
    REQUIRE(ncclCommDestroy(clique[rank]) == ncclSuccess);
    clique[rank] = nullptr;
  }
  REQUIRE(emulation::live_handles("ncclComm") == 0);
}

TEST_CASE("host memory is refused") {
  Clique clique(2);
  float host = 0;
  REQUIRE(ncclSend(&host, 1, ncclFloat32, 1, clique[0], clique.stream(0)) == ncclInvalidArgument);
}
