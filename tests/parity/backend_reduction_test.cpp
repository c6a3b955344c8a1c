// Sums, squares, differences and extremes, over all shapes that the kernels tell apart.
#include "parity/on_both.hpp"

using namespace parity;

namespace {

/// Rows of every team, few and long rows in chunks, many short rows; tiles of columns of every
/// width, in chunks and not; nothing along each axis.
const Extents kShapes[] = {{1, 0, 1},     {3, 0, 1},    {0, 5, 1},      {1, 0, 3},    {2, 0, 5},
                           {0, 3, 4},     {3, 4, 0},    {1, 1, 1},      {5, 3, 1},    {5, 7, 1},
                           {5, 13, 1},    {3, 100, 1},  {2, 257, 1},    {1, 1025, 1}, {1, 40961, 1},
                           {3, 10007, 1}, {1200, 5, 1}, {1500, 300, 1}, {4097, 2, 1}, {1, 1, 2},
                           {1, 3, 2},     {2, 33, 3},   {1, 257, 5},    {3, 7, 31},   {1, 31, 257},
                           {2, 1025, 2},  {1, 4099, 7}, {1, 70001, 3},  {300, 2, 40}, {1030, 3, 33},
                           {1, 33, 1025}};

template <class T>
std::vector<T> numbers(std::int64_t count, unsigned seed) {
  return random_values<T>(count, seed);
}

template <class T>
auto sums(const Extents& size, double factor, bool accumulate, bool odd) {
  return on_both([&](const Side& side) {
    const auto x = side.array(numbers<T>(size.outer * size.extent * size.inner, 31), odd);
    const auto result = side.array(numbers<T>(size.outer * size.inner, 32), odd);
    side.backend.reduction.sum(kDType<T>, x.data(), size.outer, size.extent, size.inner, factor,
                               accumulate, result.data(), side.queue);
    return result.values();
  });
}

}  // namespace

TEMPLATE_TEST_CASE("sums over the middle axis agree on CUDA for every class of shape", "", float,
                   double) {
  if (no_device()) return;
  for (const Extents& size : kShapes)
    for (const bool accumulate : {false, true}) {
      INFO(size.outer << " x " << size.extent << " x " << size.inner << ", added " << accumulate);
      CHECK(apart(sums<TestType>(size, 0.5, accumulate, accumulate)) <= kSum<TestType>);
    }
}

TEST_CASE("a NaN or an infinity reaches a sum on CUDA from every place of a long row") {
  if (no_device()) return;
  for (const std::int64_t place : {0, 255, 256, 8191, 20006})
    for (const float value : {std::nanf(""), INFINITY}) {
      const auto both = on_both([&](const Side& side) {
        std::vector<float> values(20007, 1.0F);
        values[static_cast<std::size_t>(place)] = value;
        const auto x = side.array(values);
        const auto result = side.array(std::vector<float>{7});
        side.backend.reduction.sum(DType::float32, x.data(), 1, 20007, 1, 1.0, false, result.data(),
                                   side.queue);
        return result.values();
      });
      CHECK(!std::isfinite(both.second[0]));
      CHECK(same(both));
    }
}

TEST_CASE("sums of exactly representable numbers are the same bits on CUDA") {
  if (no_device()) return;
  for (const Extents& size : {Extents{1, 300007, 1}, Extents{1, 30011, 9}})
    CHECK(same(on_both([&](const Side& side) {
      std::vector<float> values(static_cast<std::size_t>(size.extent * size.inner));
      for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i % 17) - 5;
      const auto x = side.array(values);
      const auto result = side.array(std::vector<float>(static_cast<std::size_t>(size.inner)));
      side.backend.reduction.sum(DType::float32, x.data(), 1, size.extent, size.inner, 1.0, false,
                                 result.data(), side.queue);
      return result.values();
    })));
}

TEMPLATE_TEST_CASE("sums of squares are added to what is there on CUDA too", "", float, double) {
  if (no_device()) return;
  for (const std::int64_t count : {0, 1, 5, 257, 1025, 4099, 70001})
    for (const bool odd : {false, true}) {
      INFO("count " << count << ", odd " << odd);
      CHECK(apart(on_both([&](const Side& side) {
              const auto x = side.array(numbers<TestType>(count, 33), odd);
              const auto result = side.array(std::vector<double>{3.5});
              for (int twice = 0; twice < 2; ++twice)
                side.backend.reduction.add_sum_of_squares(kDType<TestType>, x.data(), count,
                                                          result.data(), side.queue);
              return result.values();
            })) <= kSum<double>);
    }
}

TEMPLATE_TEST_CASE("squared differences agree on CUDA, and are 0 of nothing", "", float, double) {
  if (no_device()) return;
  for (const std::int64_t count : {0, 1, 5, 257, 1025, 70001})
    for (const bool odd : {false, true}) {
      INFO("count " << count << ", odd " << odd);
      CHECK(apart(on_both([&](const Side& side) {
              const auto a = side.array(numbers<TestType>(count, 34), odd);
              const auto b = side.array(numbers<TestType>(count, 35));
              const auto result = side.array(std::vector<TestType>{9});
              side.backend.reduction.squared_difference(kDType<TestType>, a.data(), b.data(), count,
                                                        0.25, result.data(), side.queue);
              return result.values();
            })) <= kSum<TestType>);
    }
}

/// Values, indexes, and a gradient spread over them.
template <class T>
auto extremes(bool maximum, const Extents& size, const std::vector<T>& values, bool odd) {
  return on_both([&](const Side& side) {
    const std::int64_t count = size.outer * size.inner;
    const auto x = side.array(values, odd);
    const auto best = side.array(std::vector<T>(static_cast<std::size_t>(count)), odd);
    const auto indexes = side.array(std::vector<std::int64_t>(static_cast<std::size_t>(count), -1));
    side.backend.reduction.extreme(kDType<T>, maximum, x.data(), size, best.data(), indexes.data(),
                                   side.queue);
    std::vector<std::vector<double>> all;
    const auto keep = [&](const auto& array) {
      const auto found = array.values();
      all.emplace_back(found.begin(), found.end());
    };
    keep(best);
    keep(indexes);
    if constexpr (std::is_floating_point_v<T>) {
      side.backend.reduction.extreme_backward(kDType<T>, best.data(), indexes.data(), size,
                                              x.data(), side.queue);
      keep(x);
    }
    return all;
  });
}

const Extents kExtremeShapes[] = {{0, 3, 1},    {1, 1, 1},    {5, 3, 1},    {7, 8, 1},
                                  {5, 13, 1},   {40, 100, 1}, {3, 1025, 1}, {1100, 300, 1},
                                  {4100, 2, 1}, {2, 3, 0},    {1, 1, 2},    {2, 33, 3},
                                  {1, 257, 5},  {3, 7, 31},   {3, 31, 257}, {300, 2, 40}};

TEMPLATE_TEST_CASE("extremes are the first of equals on CUDA, NaN before all", "", float, double,
                   std::int64_t, std::int32_t) {
  if (no_device()) return;
  for (const Extents& size : kExtremeShapes)
    for (const bool maximum : {false, true})
      for (const bool awkward : {false, true}) {
        INFO(size.outer << " x " << size.extent << " x " << size.inner << ", maximum " << maximum
                        << ", awkward " << awkward);
        const std::int64_t count = size.outer * size.extent * size.inner;
        const auto values =
            awkward ? awkward_values<double>(count, 36) : numbers<double>(count, 36);
        std::vector<TestType> x(values.size());
        for (std::size_t i = 0; i < x.size(); ++i) {
          if constexpr (std::is_floating_point_v<TestType>)
            x[i] =
                static_cast<TestType>(awkward ? values[i] : std::floor(values[i]));  // equal ones
          else
            x[i] = std::fabs(values[i]) <= 2 ? static_cast<TestType>(values[i] * 3)
                                             : std::numeric_limits<TestType>::min();
        }
        CHECK(same(extremes(maximum, size, x, awkward)));
      }
}

TEST_CASE("the largest of rows of -infinity alone is their first element on CUDA") {
  if (no_device()) return;
  for (const std::int64_t columns : {1, 3, 100, 1025}) {
    const auto both =
        extremes(true, {1, columns, 1},
                 std::vector<float>(static_cast<std::size_t>(columns), -INFINITY), false);
    CHECK(both.second[1] == std::vector<double>{0});
    CHECK(same(both));
  }
}
