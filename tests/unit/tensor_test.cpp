// Handles, creation, reading back, and what a tensor refuses.
#include <catch2/catch.hpp>
#include <cmath>
#include <cstdint>

#include <lockstep/core/create.hpp>
#include <lockstep/core/error.hpp>

namespace ls = lockstep;
using Catch::Matchers::Contains;

TEST_CASE("copying a handle shares the data, clone copies it") {
  ls::Tensor x = ls::zeros({2, 3});
  const ls::Tensor handle = x;
  const ls::Tensor copy = x.clone();
  x.fill(4);
  CHECK(handle.to_vector() == std::vector<float>(6, 4));
  CHECK(copy.to_vector() == std::vector<float>(6, 0));
}

TEST_CASE("every dtype can be made, filled and read") {
  for (const ls::DType dtype :
       {ls::DType::float32, ls::DType::float64, ls::DType::bfloat16, ls::DType::float16,
        ls::DType::int64, ls::DType::int32, ls::DType::uint8}) {
    INFO(ls::name(dtype));
    const ls::Tensor x = ls::full({2, 3}, 3, dtype);
    CHECK(x.dtype() == dtype);
    CHECK(x.byte_count() == 6 * ls::byte_size(dtype));
    CHECK(x.clone().byte_count() == x.byte_count());
  }
  CHECK(ls::full({3}, 3, ls::DType::uint8).to_vector<std::uint8_t>() ==
        std::vector<std::uint8_t>{3, 3, 3});
  CHECK(ls::full({1}, -7, ls::DType::int64).item<std::int64_t>() == -7);
}

TEST_CASE("values are copied from the host and checked against the shape") {
  const ls::Tensor x = ls::tensor({1.0, 2.0, 3.0, 4.0}, {2, 2});
  CHECK(x.dtype() == ls::DType::float64);
  CHECK(x.to_vector<double>() == std::vector<double>{1, 2, 3, 4});
  CHECK_THROWS_AS(ls::tensor({1.0F, 2.0F}, {3}), ls::ShapeError);
  const std::int32_t numbers[] = {5, 6};
  CHECK(ls::from_host(numbers, {2}, ls::DType::int32).to_vector<std::int32_t>() ==
        std::vector<std::int32_t>{5, 6});
}

TEST_CASE("item needs exactly one element") {
  CHECK(ls::full({1, 1}, 2).item() == 2);
  CHECK_THROWS_AS(ls::zeros({2}).item(), ls::ShapeError);
  CHECK_THROWS_AS(ls::zeros({0}).item(), ls::ShapeError);
}

TEST_CASE("data is given only as the dtype that it has") {
  ls::Tensor x = ls::zeros({2});
  CHECK(x.data<float>() != nullptr);
  CHECK_THROWS_AS(x.data<double>(), ls::InvalidUsage);
  CHECK_THROWS_AS(x.mutable_data<std::int32_t>(), ls::InvalidUsage);
  CHECK_THROWS_WITH(x.data<double>(), Contains("float32") && Contains("float64"));
}

TEST_CASE("memory is aligned to 64 bytes") {
  for (const std::int64_t count : {1, 3, 17, 1000, 1000000}) {
    const ls::Tensor x = ls::empty({count});
    CHECK(reinterpret_cast<std::uintptr_t>(x.raw_data()) % 64 == 0);
  }
}

TEST_CASE("tensors without elements are legal") {
  ls::Tensor x = ls::zeros({0, 3});
  CHECK(x.byte_count() == 0);
  CHECK(x.to_vector().empty());
  CHECK_NOTHROW(x.fill(1));
  CHECK_NOTHROW(x.copy_from(ls::zeros({0, 3})));
  CHECK(x.clone().shape() == ls::Shape{0, 3});
  CHECK(x.to(ls::DType::float64).shape() == ls::Shape{0, 3});
}

TEST_CASE("copy_from wants the same shape and dtype") {
  ls::Tensor x = ls::zeros({2, 3});
  CHECK_THROWS_AS(x.copy_from(ls::zeros({3, 2})), ls::ShapeError);
  CHECK_THROWS_AS(x.copy_from(ls::zeros({2, 3}, ls::DType::float64)), ls::InvalidUsage);
  x.copy_from(ls::full({2, 3}, 5));
  CHECK(x.to_vector() == std::vector<float>(6, 5));
}

TEST_CASE("a tensor changes its floating-point type") {
  const ls::Tensor x = ls::tensor({1.0, 0.1, -2.5}, {3});
  CHECK(x.to(ls::DType::float64).impl() == x.impl());
  CHECK(x.to(ls::DType::float32).to_vector() == std::vector<float>{1.0F, 0.1F, -2.5F});
  CHECK(x.to(ls::DType::bfloat16).to(ls::DType::float32).to_vector()[1] == 0.10009765625F);
  CHECK(x.to(ls::Device::cpu()).impl() == x.impl());
}

TEST_CASE("an undefined tensor refuses everything but assignment") {
  const ls::Tensor none;
  CHECK_FALSE(none.defined());
  CHECK_THROWS_AS(none.shape(), ls::InvalidUsage);
  CHECK_THROWS_AS(none.clone(), ls::InvalidUsage);
  CHECK_THROWS_AS(none.backward(), ls::InvalidUsage);
  CHECK_THROWS_AS(none.to_vector(), ls::InvalidUsage);
}

TEST_CASE("a device that is not there is refused") {
  if (ls::cuda_device_count() == 0)
    CHECK_THROWS_AS(ls::zeros({2}, ls::DType::float32, ls::Device::cuda(0)),
                    ls::BackendUnavailable);
}
