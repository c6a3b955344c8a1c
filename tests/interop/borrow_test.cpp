// Device memory of the program.
#include <catch2/catch.hpp>

#include <memory>

#include <lockstep/interop/cuda.hpp>
#include <lockstep/lockstep.hpp>

#include "interop/program.hpp"

namespace ls = lockstep;
using Catch::Matchers::Contains;
using program::DeviceFloats;
using program::PinnedFloats;

TEST_CASE("device memory is used where it lies") {
  const DeviceFloats memory(6);
  ls::Tensor all = ls::cuda::borrow(memory.data(), {2, 3});
  CHECK(all.device() == ls::Device::cuda(0));
  CHECK(all.data<float>() == memory.data());
  all.fill(4);
  const float* read_only = memory.data() + 3;
  ls::Tensor row = ls::cuda::borrow(read_only, {3});
  CHECK(row.to_vector() == std::vector<float>{4, 4, 4});
  CHECK_THROWS_AS(row.mutable_data<float>(), ls::InvalidUsage);
  void* untyped = memory.data();
  CHECK(ls::cuda::borrow(untyped, {6}, ls::DType::int32).dtype() == ls::DType::int32);
  const void* constant = untyped;
  CHECK_THROWS_AS(ls::cuda::borrow(constant, {6}, ls::DType::int32).mutable_raw_data(),
                  ls::InvalidUsage);
}

TEST_CASE("memory of the host is refused") {
  float value = 0;
  CHECK_THROWS_WITH(ls::cuda::borrow(&value, {1}), Contains("the pointer is to host memory"));
  CHECK_THROWS_AS(ls::cuda::borrow(&value, {1}, 0), ls::InvalidUsage);
  const PinnedFloats pinned(3);
  CHECK_THROWS_AS(ls::cuda::borrow(pinned.data(), {3}), ls::InvalidUsage);
  float* nothing = nullptr;
  CHECK_THROWS_AS(ls::cuda::borrow(nothing, {3}), ls::InvalidUsage);
  CHECK_THROWS_AS(ls::cuda::borrow(nothing, {0}, 1000), ls::BackendUnavailable);
}

TEST_CASE("memory without elements is on the current device, or where it is said to be") {
  float* nothing = nullptr;
  CHECK(ls::cuda::borrow(nothing, {0, 3}).device() == ls::Device::cuda(0));
  if (ls::cuda_device_count() < 2) return;
  CHECK(ls::cuda::borrow(nothing, {0}, 1).device() == ls::Device::cuda(1));
  const program::OnDevice on(1);
  CHECK(ls::cuda::borrow(nothing, {0}).device() == ls::Device::cuda(1));
}

TEST_CASE("memory of another device is refused, and the current device stays") {
  if (ls::cuda_device_count() < 2) return;
  const DeviceFloats memory(2, 1);
  CHECK(ls::cuda::borrow(memory.data(), {2}, 1).device() == ls::Device::cuda(1));
  CHECK_THROWS_WITH(ls::cuda::borrow(memory.data(), {2}, 0),
                    Contains("memory of cuda:1, not of cuda:0"));
  CHECK(program::current_device() == 0);
}

TEST_CASE("the owner of device memory lives as long as the last handle") {
  auto memory = std::make_shared<DeviceFloats>(std::size_t{4});
  const std::weak_ptr<DeviceFloats> watched = memory;
  ls::Tensor x = ls::cuda::borrow(memory->data(), {4}, ls::cuda::kDeviceOfPointer, memory);
  memory.reset();
  CHECK_FALSE(watched.expired());
  x = {};
  CHECK(watched.expired());
}
