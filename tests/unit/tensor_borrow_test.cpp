// Memory of the program: who writes to it, who keeps it alive, and when it is copied.
#include <array>
#include <catch2/catch.hpp>
#include <memory>
#include <vector>

#include <lockstep/core/create.hpp>
#include <lockstep/core/error.hpp>
#include <lockstep/core/operations.hpp>
#include <lockstep/core/trace.hpp>

namespace ls = lockstep;

TEST_CASE("borrowed memory is used where it lies") {
  std::vector<float> memory{1, 2, 3, 4};
  ls::Tensor x = ls::borrow(memory.data(), {2, 2});
  CHECK(x.data<float>() == memory.data());
  x.mutable_data<float>()[3] = 9;
  CHECK(memory[3] == 9);
  memory[0] = -1;
  CHECK(ls::sum(x).item() == 13);
}

TEST_CASE("const memory refuses every way of writing") {
  const std::vector<double> memory{1, 2, 3};
  ls::Tensor x = ls::borrow(memory.data(), {3});
  CHECK_THROWS_AS(x.mutable_data<double>(), ls::InvalidUsage);
  CHECK_THROWS_AS(x.mutable_raw_data(), ls::InvalidUsage);
  CHECK_THROWS_AS(x.fill(0), ls::InvalidUsage);
  CHECK_THROWS_AS(x.copy_from(ls::zeros({3}, ls::DType::float64)), ls::InvalidUsage);
  CHECK_THROWS_AS(x.detach().fill(0), ls::InvalidUsage);
  CHECK_THROWS_AS(ls::reshape(x, {3, 1}).fill(0), ls::InvalidUsage);
  CHECK(memory == std::vector<double>{1, 2, 3});
  ls::Tensor copy = x.clone();
  CHECK_NOTHROW(copy.fill(0));
}

TEST_CASE("the owner lives as long as the last handle, and no longer") {
  auto owner = std::make_shared<std::vector<float>>(3, 2.0F);
  const std::weak_ptr<std::vector<float>> watch = owner;
  ls::Tensor x = ls::borrow(owner->data(), {3}, ls::Device::cpu(), owner);
  owner.reset();
  ls::Tensor view = ls::reshape(x, {3, 1});
  x = {};
  REQUIRE_FALSE(watch.expired());
  CHECK(ls::sum(view).item() == 6);
  view = {};
  CHECK(watch.expired());
}

TEST_CASE("an owner whose memory the tape saved lives until the tape is gone") {
  auto owner = std::make_shared<std::vector<float>>(2, 3.0F);
  const std::weak_ptr<std::vector<float>> watch = owner;
  const ls::Tensor weight = ls::tensor({1.0F, 1.0F}, {2}).set_requires_grad(true);
  ls::Tensor loss;
  {
    const ls::Tensor x = ls::borrow(owner->data(), {2}, ls::Device::cpu(), owner);
    loss = ls::sum(weight * x);
  }
  owner.reset();
  REQUIRE_FALSE(watch.expired());
  loss.backward();
  CHECK(weight.gradient().to_vector() == std::vector<float>{3, 3});
  loss = {};
  CHECK(watch.expired());
}

TEST_CASE("row-major strides refer, others copy") {
  std::vector<double> memory{1, 2, 3, 4, 5, 6};
  const auto borrow = [&](const ls::Shape& shape, std::vector<std::int64_t> strides) {
    return ls::borrow(memory.data(), shape, strides, ls::DType::float64);
  };
  CHECK(borrow({2, 3}, {3, 1}).raw_data() == memory.data());
  CHECK(borrow({6}, {1}).raw_data() == memory.data());
  // The stride of an axis of one element does not matter.
  CHECK(borrow({1, 6}, {1, 1}).raw_data() == memory.data());
  CHECK(borrow({6, 1}, {1, 99}).raw_data() == memory.data());

  const ls::Tensor columns = borrow({2, 3}, {1, 2});
  CHECK(columns.raw_data() != memory.data());
  CHECK(columns.to_vector<double>() == std::vector<double>{1, 3, 5, 2, 4, 6});
  CHECK(borrow({3}, {2}).to_vector<double>() == std::vector<double>{1, 3, 5});
  CHECK(borrow({2, 2}, {0, 1}).to_vector<double>() == std::vector<double>{1, 2, 1, 2});
  const std::array<std::int64_t, 1> backwards{-2};
  CHECK(ls::borrow(memory.data() + 4, {3}, backwards, ls::DType::float64).to_vector<double>() ==
        std::vector<double>{5, 3, 1});
  CHECK_THROWS_AS(borrow({2, 3}, {1}), ls::ShapeError);
}

TEST_CASE("a copy of strided memory is reported to the trace sink") {
  std::vector<std::int64_t> copied_bytes;
  ls::set_trace_sink([&](const ls::TraceEvent& event) {
    if (event.category == "copy") copied_bytes.push_back(event.byte_count);
  });
  const std::vector<double> memory(6);
  for (const std::array<std::int64_t, 2>& strides : {std::array<std::int64_t, 2>{3, 1}, {1, 2}})
    ls::borrow(memory.data(), {2, 3}, strides, ls::DType::float64);
  ls::set_trace_sink({});
  CHECK(copied_bytes == std::vector<std::int64_t>{48});
}

TEST_CASE("strided memory that is referred to is for reading, a copy is the caller's") {
  std::vector<double> memory{1, 2, 3, 4};
  const std::array<std::int64_t, 2> rows{2, 1};
  const std::array<std::int64_t, 2> columns{1, 2};
  ls::Tensor referred = ls::borrow(memory.data(), {2, 2}, rows, ls::DType::float64);
  CHECK_THROWS_AS(referred.fill(0), ls::InvalidUsage);
  ls::Tensor copied = ls::borrow(memory.data(), {2, 2}, columns, ls::DType::float64);
  copied.fill(0);
  CHECK(memory == std::vector<double>{1, 2, 3, 4});
}

TEST_CASE("a strided copy keeps no owner, row-major strides do") {
  auto owner = std::make_shared<std::vector<double>>(4, 2.0);
  const std::weak_ptr<std::vector<double>> watch = owner;
  const auto borrow = [&](const std::array<std::int64_t, 2>& strides) {
    return ls::borrow(owner->data(), {2, 2}, strides, ls::DType::float64, ls::Device::cpu(), owner);
  };
  ls::Tensor referred = borrow({2, 1});
  const ls::Tensor copied = borrow({1, 2});
  owner.reset();
  REQUIRE_FALSE(watch.expired());
  CHECK(ls::sum(referred).item<double>() == 8);
  referred = {};
  CHECK(watch.expired());
  CHECK(ls::sum(copied).item<double>() == 8);
}

TEST_CASE("a strided copy of any dtype keeps every element") {
  const std::vector<std::uint8_t> bytes{1, 2, 3, 4, 5, 6};
  const std::array<std::int64_t, 2> strides{1, 3};
  const ls::Tensor x = ls::borrow(bytes.data(), {3, 2}, strides, ls::DType::uint8);
  CHECK(x.to_vector<std::uint8_t>() == std::vector<std::uint8_t>{1, 4, 2, 5, 3, 6});
}

TEST_CASE("a null pointer is refused unless there are no elements") {
  float* none = nullptr;
  CHECK_THROWS_AS(ls::borrow(none, {2}), ls::InvalidUsage);
  CHECK_NOTHROW(ls::borrow(none, {0, 4}));
}

TEST_CASE("a borrowed tensor can be a leaf") {
  std::vector<double> memory{1, 2};
  const ls::Tensor x = ls::borrow(memory.data(), {2}).set_requires_grad(true);
  ls::sum(x * x).backward();
  CHECK(x.gradient().to_vector<double>() == std::vector<double>{2, 4});
}
