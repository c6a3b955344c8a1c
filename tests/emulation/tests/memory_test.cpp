// Copies as CUDA documents them, poisoned memory, guard zones, limits.
#include "emulation/src/sanitizers.hpp"
#include "emulation/tests/device.hpp"

using emulated_test::Buffer;
using emulated_test::check;
using emulated_test::launch;
using emulated_test::Stream;

namespace {

constexpr std::size_t kCount = 64;
constexpr std::size_t kBytes = kCount * sizeof(int);

class Pinned {
 public:
  explicit Pinned(int value) {
    check(cudaMallocHost(&data_, kBytes));
    std::fill(data_, data_ + kCount, value);
  }
  Pinned(const Pinned&) = delete;
  Pinned& operator=(const Pinned&) = delete;
  ~Pinned() { cudaFreeHost(data_); }
  int* data() const { return data_; }

 private:
  int* data_ = nullptr;
};

// It goes wrong on purpose, and the address sanitizer is to let it.
__attribute__((no_sanitize("address"))) __global__ void write_at(int* values, int index) {
  values[index] = 7;
}

}  // namespace

TEST_CASE("a copy from pageable memory reads it during the call") {
  emulation::reset();
  Stream stream;
  Buffer<int> device(kCount);
  std::vector<int> host(kCount, 1);
  check(cudaMemcpyAsync(device.data(), host.data(), kBytes, cudaMemcpyHostToDevice, stream));
  host.assign(kCount, 2);
  CHECK(device.values(stream) == std::vector<int>(kCount, 1));
}

TEST_CASE("a copy from pinned memory reads it when the stream gets there") {
  emulation::reset();
  Stream stream;
  Buffer<int> device(kCount);
  Pinned host(1);
  check(cudaMemcpyAsync(device.data(), host.data(), kBytes, cudaMemcpyHostToDevice, stream));
  std::fill(host.data(), host.data() + kCount, 2);
  CHECK(device.values(stream) == std::vector<int>(kCount, 2));
}

TEST_CASE("a copy to pageable memory is done when the call returns, one to pinned memory is not") {
  emulation::reset();
  Stream stream;
  Buffer<int> device(std::vector<int>(kCount, 5));
  std::vector<int> pageable(kCount, 0);
  Pinned pinned(0);
  check(cudaMemcpyAsync(pageable.data(), device.data(), kBytes, cudaMemcpyDeviceToHost, stream));
  check(cudaMemcpyAsync(pinned.data(), device.data(), kBytes, cudaMemcpyDeviceToHost, stream));
  CHECK(pageable.front() == 5);
  CHECK(pinned.data()[0] == 0);
  stream.synchronize();
  CHECK(pinned.data()[0] == 5);
}

TEST_CASE("new memory holds no sensible number") {
  emulation::reset();
  Stream stream;
  Buffer<float> device(kCount);
  for (const float value : device.values(stream)) CHECK(value != value);
}

TEST_CASE("memory of a stream is there in the order of the stream") {
  emulation::reset();
  Stream stream;
  int* memory = nullptr;
  std::vector<int> host(kCount, 0);
  check(cudaMallocAsync(&memory, kBytes, stream));
  check(cudaMemsetAsync(memory, 1, kBytes, stream));
  check(cudaMemcpyAsync(host.data(), memory, kBytes, cudaMemcpyDeviceToHost, stream));
  CHECK(host == std::vector<int>(kCount, 0x01010101));
  check(cudaFreeAsync(memory, stream));
  CHECK(emulation::live_objects().allocations == 1);
  stream.synchronize();
  CHECK(emulation::live_objects().allocations == 0);
}

TEST_CASE("copies are checked against what they copy") {
  emulation::reset();
  Buffer<int> device(kCount);
  std::vector<int> host(2 * kCount);
  CHECK(cudaMemcpy(device.data(), host.data(), kBytes + 1, cudaMemcpyHostToDevice) ==
        cudaErrorInvalidValue);
  CHECK(cudaMemcpy(device.data() + 1, host.data(), kBytes, cudaMemcpyHostToDevice) ==
        cudaErrorInvalidValue);
  CHECK(cudaMemcpy(device.data(), host.data(), kBytes, cudaMemcpyDeviceToHost) ==
        cudaErrorInvalidValue);
  CHECK(cudaMemcpy(host.data(), host.data() + kCount, kBytes, cudaMemcpyHostToDevice) ==
        cudaErrorInvalidValue);
  CHECK(cudaMemcpy(device.data(), host.data(), kBytes, cudaMemcpyDefault) == cudaSuccess);
  CHECK(cudaMemsetAsync(host.data(), 0, kBytes, nullptr) == cudaErrorInvalidValue);
  CHECK(cudaFree(host.data()) == cudaErrorInvalidValue);
  CHECK(cudaFree(device.data() + 1) == cudaErrorInvalidValue);
}

TEST_CASE("pointers have attributes") {
  emulation::reset();
  Buffer<int> device(kCount);
  Pinned pinned(0);
  const int pageable = 0;
  cudaPointerAttributes attributes{};
  check(cudaPointerGetAttributes(&attributes, device.data() + 3));
  CHECK(attributes.type == cudaMemoryTypeDevice);
  CHECK(attributes.device == 0);
  check(cudaPointerGetAttributes(&attributes, pinned.data()));
  CHECK(attributes.type == cudaMemoryTypeHost);
  check(cudaPointerGetAttributes(&attributes, &pageable));
  CHECK(attributes.type == cudaMemoryTypeUnregistered);
}

TEST_CASE("a device has so much memory and no more") {
  emulation::reset();
  emulation::set_device_memory(1000);
  void* first = nullptr;
  void* second = nullptr;
  check(cudaMalloc(&first, 600));
  CHECK(cudaMalloc(&second, 600) == cudaErrorMemoryAllocation);
  std::size_t free = 0;
  std::size_t total = 0;
  check(cudaMemGetInfo(&free, &total));
  CHECK(free == 400);
  CHECK(total == 1000);
  check(cudaFree(first));
  check(cudaMalloc(&second, 600));
  check(cudaFree(second));
  CHECK(emulation::live_objects().allocated_bytes == 0);
}

TEST_CASE("a write beside an allocation is found when it is freed") {
  for (const int index : {-1, static_cast<int>(kCount), static_cast<int>(kCount) + 40}) {
    emulation::reset();
    Stream stream;
    int* memory = nullptr;
    check(cudaMalloc(&memory, kBytes));
    launch(write_at, 1, 1, stream, memory, index);
    CHECK(cudaFree(memory) == cudaErrorIllegalAddress);
    CHECK(emulation::counters().guard_violations == 1);
    emulation::reset();
  }
}

TEST_CASE("freeing waits for the device") {
  emulation::reset();
  Stream stream;
  Buffer<int> other(kCount);
  int* memory = nullptr;
  check(cudaMalloc(&memory, kBytes));
  launch(write_at, 1, 1, stream, memory, 0);
  launch(write_at, 1, 1, stream, other.data(), 0);
  check(cudaFree(memory));
  CHECK(emulation::counters().device_synchronizations == 1);
  CHECK(emulation::counters().kernel_runs == 2);
}

#ifdef EMULATED_ASAN
TEST_CASE("the host may not touch device memory") {
  emulation::reset();
  Stream stream;
  Buffer<int> device(std::vector<int>(kCount, 5));
  CHECK(__asan_region_is_poisoned(device.data(), kBytes) == device.data());
  launch(write_at, 1, 1, stream, device.data(), 0);
  stream.synchronize();
  CHECK(__asan_address_is_poisoned(device.data() + kCount - 1));
  CHECK(device.values(stream).front() == 7);
}
#endif
