// Reductions agree with the CPU but for the order of float64 sums, and do not depend on alignment.
#include "sides.hpp"

using namespace parity;

namespace {

struct Extents {
  std::int64_t outer;
  std::int64_t extent;
  std::int64_t inner;
};

/// Every class of shapes: short and long rows, many and few, one and several columns, nothing.
constexpr Extents kExtents[] = {
    {1, 0, 1},    {1, 1, 1},     {3, 4, 1},      {100, 10, 1}, {1500, 5, 1}, {1100, 129, 1},
    {2, 1025, 1}, {5, 9001, 1},  {1, 70001, 1},  {4, 0, 3},    {1, 1, 7},    {1, 3000, 7},
    {3, 100, 33}, {2, 50, 1025}, {1, 2000, 300}, {1200, 3, 2}, {0, 3, 2},    {1, 20000, 2}};

Bytes sum(const Side& side, DType dtype, const Extents& size, bool accumulate,
          std::int64_t shift = 0) {
  const Array x(side, elements(dtype, size.outer * size.extent * size.inner, 1), shift);
  const Array result(side, elements(dtype, size.outer * size.inner, 2));
  side.backend.reduction.sum(dtype, x.data(), size.outer, size.extent, size.inner, 0.5, accumulate,
                             result.data(), side.queue);
  return result.bytes();
}

}  // namespace

TEST_CASE("sums agree with the CPU for every class of shapes") {
  if (!has_device()) return;
  for (const DType dtype : kFloats)
    for (const Extents& size : kExtents)
      for (const bool accumulate : {false, true}) {
        INFO(name(dtype) << " " << size.outer << " x " << size.extent << " x " << size.inner);
        CHECK(close(dtype, [&](const Side& side) { return sum(side, dtype, size, accumulate); }));
      }
}

TEST_CASE("the order of a sum does not depend on alignment") {
  if (!has_device()) return;
  const Side side{cuda_backend(0), current_queue(Device::cuda())};
  for (const DType dtype : kFloats)
    for (const Extents& size : kExtents)
      CHECK(sum(side, dtype, size, false) == sum(side, dtype, size, false, byte_size(dtype)));
}

TEST_CASE("sums of squares agree with the CPU") {
  if (!has_device()) return;
  for (const DType dtype : kFloats)
    for (const std::int64_t count : {0, 1, 33, 5000, 70001}) {
      CHECK(close(DType::float64, [&](const Side& side) {
        const Array x(side, elements(dtype, count, 1));
        const Array result(side, converted({2}, DType::float64));
        side.backend.reduction.add_sum_of_squares(dtype, x.data(), count, result.data(),
                                                  side.queue);
        return result.bytes();
      }));
      CHECK(close(dtype, [&](const Side& side) {
        const Array a(side, elements(dtype, count, 1));
        const Array b(side, elements(dtype, count, 2));
        const Array result(side, byte_size(dtype));
        side.backend.reduction.squared_difference(dtype, a.data(), b.data(), count,
                                                  1.0 / static_cast<double>(count), result.data(),
                                                  side.queue);
        return result.bytes();
      }));
    }
}

TEST_CASE("argmax is that of the CPU: first of equals, NaN first of all, rows of -infinity") {
  if (!has_device()) return;
  std::mt19937 engine(5);
  for (const auto& [rows, columns] : std::vector<std::array<std::int64_t, 2>>{
           {1, 1}, {40, 3}, {33, 10}, {7, 100}, {1100, 200}, {3, 5000}, {0, 4}}) {
    std::vector<double> values(static_cast<std::size_t>(rows * columns));
    for (double& value : values) value = static_cast<double>(engine() % 7) - 3;
    for (std::int64_t row = 0; row < rows; ++row)
      for (std::int64_t i = 0; i < columns; ++i) {
        double& value = values[static_cast<std::size_t>(row * columns + i)];
        if (row % 4 == 1) value = -INFINITY;
        if (row % 4 == 2 && engine() % 9 == 0) value = NAN;
        if (row % 4 == 3 && engine() % 9 == 0) value = INFINITY;
      }
    for (const DType dtype : kFloats)
      CHECK(same_bits([&, rows = rows, columns = columns](const Side& side) {
        const Array x(side, converted(values, dtype));
        const Array result(side, 8 * rows);
        side.backend.reduction.argmax(dtype, x.data(), rows, columns, result.as<std::int64_t>(),
                                      side.queue);
        return result.bytes();
      }));
  }
}
