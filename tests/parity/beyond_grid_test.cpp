// More work than a grid has threads or blocks, so that threads go on with a stride.
#include "parity/on_both.hpp"

using namespace parity;

namespace {

/// More than a full grid of threads with one element each.
constexpr std::int64_t kBeyondThreads = std::int64_t{4096} * 256 + 77;

}  // namespace

TEST_CASE("elementwise operations beyond a grid have the same bits on CUDA") {
  if (no_device()) return;
  for (const bool odd : {false, true}) {
    const std::int64_t count = odd ? kBeyondThreads : kBeyondGrid;
    CHECK(same(on_both([&](const Side& side) {
      const auto x = side.array(random_values<float>(count, 6), odd);
      const auto y = side.array(random_values<float>(count, 7));
      side.backend.elementwise.add_scaled(DType::float32, 0.3, x.data(), y.data(), count,
                                          side.queue);
      side.backend.elementwise.unary(UnaryOperation::relu, DType::float32, y.data(), {}, x.data(),
                                     count - 1, side.queue);
      return std::vector{x.values(), y.values()};
    })));
  }
}

TEST_CASE("a broadcast beyond a grid has the same bits on CUDA") {
  if (no_device()) return;
  Broadcast shape;
  shape.axes = 2;
  shape.sizes = {kBeyondThreads / 3 + 1, 3};
  shape.a_strides = {3, 1};
  shape.b_strides = {1, 0};
  CHECK(same(on_both([&](const Side& side) {
    const auto a = side.array(random_values<float>(shape.sizes[0] * 3, 8));
    const auto b = side.array(random_values<float>(shape.sizes[0], 9));
    side.backend.elementwise.binary(BinaryOperation::mul, DType::float32, shape, a.data(), b.data(),
                                    a.data(), side.queue);
    return a.values();
  })));
}

TEST_CASE("casts and folds beyond a grid have the same bits on CUDA") {
  if (no_device()) return;
  CHECK(same(on_both([](const Side& side) {
    const auto x = side.array(random_values<float>(kBeyondThreads, 10), true);
    const auto half =
        side.array(std::vector<std::uint16_t>(static_cast<std::size_t>(kBeyondThreads)), true);
    side.backend.elementwise.cast(DType::float32, x.data(), DType::bfloat16, half.data(),
                                  kBeyondThreads, side.queue);
    const void* sources[] = {half.data(), half.data(), half.data()};
    side.backend.elementwise.fold_sum(DType::bfloat16, sources, 3, half.data(), kBeyondThreads,
                                      side.queue);
    return half.values();
  })));
}

// More than 4096 blocks in each: with a warp, with a few lanes, and with a block for a row.
TEST_CASE("sums of more rows than a grid has warps agree on CUDA") {
  if (no_device()) return;
  constexpr std::int64_t kRows = 32777;
  CHECK(apart(on_both([&](const Side& side) {
          const auto x = side.array(random_values<float>(kRows * 130, 11));
          const auto result = side.array(std::vector<float>(kRows));
          side.backend.reduction.sum(DType::float32, x.data(), kRows, 130, 1, 1.0, false,
                                     result.data(), side.queue);
          return result.values();
        })) <= kSum<float>);
}

TEST_CASE("argmax of more rows than a grid has teams is the same on CUDA") {
  if (no_device()) return;
  constexpr std::int64_t kRows = 262151;
  CHECK(same(on_both([&](const Side& side) {
    const auto x = side.array(random_values<float>(kRows * 3, 18));
    const auto result = side.array(std::vector<std::int64_t>(kRows, -1));
    side.backend.reduction.extreme(DType::float32, true, x.data(), {kRows, 3}, nullptr,
                                   result.data(), side.queue);
    return result.values();
  })));
}

TEST_CASE("sums of more columns than a grid has tiles agree on CUDA") {
  if (no_device()) return;
  for (const auto& [outer, inner] : {std::pair<std::int64_t, std::int64_t>{2100, 33}, {1, 135000}})
    CHECK(apart(on_both([&, outer = outer, inner = inner](const Side& side) {
            const auto x = side.array(random_values<float>(outer * 3 * inner, 12));
            const auto result =
                side.array(std::vector<float>(static_cast<std::size_t>(outer * inner)));
            side.backend.reduction.sum(DType::float32, x.data(), outer, 3, inner, 1.0, false,
                                       result.data(), side.queue);
            return result.values();
          })) <= kSum<float>);
}

TEST_CASE("cross-entropy of more rows than a grid has blocks agrees on CUDA") {
  if (no_device()) return;
  const CrossEntropyShape shape{.rows = 4099, .classes = 1031};
  std::vector<std::int64_t> labels(4099);
  for (std::size_t i = 0; i < labels.size(); ++i) labels[i] = static_cast<std::int64_t>(i % 1031);
  CHECK(apart(on_both([&](const Side& side) {
          const auto x = side.array(random_values<float>(shape.rows * shape.classes, 13));
          const auto softmax = side.array(x.values());
          const auto targets = side.array(labels);
          const auto scalars = side.array(std::vector<float>{0, 0, 1});
          side.backend.loss.cross_entropy(DType::float32, shape, x.data(), targets.data(),
                                          scalars.data(), softmax.data(), scalars.data() + 1,
                                          side.queue);
          side.backend.loss.cross_entropy_backward(DType::float32, shape, softmax.data(),
                                                   targets.data(), scalars.data() + 2,
                                                   scalars.data() + 1, x.data(), side.queue);
          return std::vector{x.values(), softmax.values(), scalars.values()};
        })) <= kSum<float>);
}

TEST_CASE("an optimizer beyond a grid has the same bits on CUDA") {
  if (no_device()) return;
  const AdamSegment segments[] = {{0, 1001, 1e-2, 0.9, 0.999, 1e-8, 0, 0, 1},
                                  {1003, kBeyondThreads - 5, 1e-3, 0.8, 0.99, 1e-8, 0, 0.1, 2},
                                  {kBeyondThreads - 2, kBeyondThreads, 1, 0.9, 0.99, 1, 0, 0, 3}};
  CHECK(same(on_both([&](const Side& side) {
    const auto values = side.array(random_values<float>(kBeyondThreads, 14), true);
    const auto gradients = side.array(random_values<float>(kBeyondThreads, 15));
    const auto first = side.array(random_values<float>(kBeyondThreads, 16));
    const auto second = side.array(random_values<float>(kBeyondThreads, 17, 0, 1));
    side.backend.optimizer.adam(DType::float32,
                                {values.data(), gradients.data(), first.data(), second.data()},
                                segments, side.queue);
    return std::vector{values.values(), first.values(), second.values()};
  })));
}
