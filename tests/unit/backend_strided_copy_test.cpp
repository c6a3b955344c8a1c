// Strided copies against loops over every index, of every width of elements.
#include <catch2/catch.hpp>
#include <numeric>

#include <lockstep/core/error.hpp>
#include "backend_support.hpp"

using namespace backend_test;

namespace {

struct Axis {
  std::int64_t size;
  std::int64_t source;
  std::int64_t destination;
};
using Axes = std::vector<Axis>;

/// Contiguous rows, rows with gaps, steps on either side, repeated elements and rows; transposes of
/// odd sizes, alone, in batches, and with both strides in the way; nothing, and one element.
const Axes kCopies[] = {
    {},
    {{1, 5, 7}},
    {{0, 1, 1}},
    {{5, 0, 1}, {0, 1, 1}},
    {{4097, 1, 1}},
    {{100, 3, 1}},
    {{100, 1, 4}},
    {{1000, 0, 1}},
    {{7, 40, 33}, {33, 1, 1}},
    {{7, 0, 33}, {33, 1, 1}},
    {{7, 1, 33}, {33, 0, 1}},
    {{33, 1, 65}, {65, 33, 1}},
    {{64, 1, 128}, {128, 64, 1}},
    {{3, 1, 1000}, {1000, 3, 1}},
    {{5, 35, 35}, {5, 1, 7}, {7, 5, 1}},
    {{17, 1, 1024}, {5, 1100, 19}, {19, 17, 1}},
    {{40, 2, 70}, {70, 81, 1}},
    {{2, 600, 600}, {3, 1, 200}, {4, 150, 50}, {50, 3, 1}},
    {{3, 2, 900}, {4, 6, 225}, {5, 24, 45}, {5, 120, 9}, {3, 600, 3}, {3, 1800, 1}},
};

std::int64_t span_of(const Axes& axes, std::int64_t Axis::*stride) {
  std::int64_t last = 0;
  for (const Axis& axis : axes) {
    if (axis.size == 0) return 0;
    last += (axis.size - 1) * axis.*stride;
  }
  return last + 1;
}

template <class T>
void copy_by_index(const Axes& axes, std::size_t depth, const T* source, T* destination) {
  if (depth == axes.size()) {
    *destination = *source;
    return;
  }
  for (std::int64_t i = 0; i < axes[depth].size; ++i)
    copy_by_index(axes, depth + 1, source + i * axes[depth].source,
                  destination + i * axes[depth].destination);
}

StridedCopy copy_of(const Axes& axes) {
  StridedCopy copy;
  for (const Axis& axis : axes) {
    const auto i = static_cast<std::size_t>(copy.axes++);
    copy.sizes[i] = axis.size;
    copy.source_strides[i] = axis.source;
    copy.destination_strides[i] = axis.destination;
  }
  return copy;
}

template <class T>
bool right_copy(const Axes& axes) {
  std::vector<T> source(static_cast<std::size_t>(span_of(axes, &Axis::source)));
  std::iota(source.begin(), source.end(), T{1});
  std::vector<T> expected(static_cast<std::size_t>(span_of(axes, &Axis::destination)), T{77});
  std::vector<T> found = expected;
  copy_by_index(axes, 0, source.data(), expected.data());
  cpu_backend().memory.copy_strided(found.data(), source.data(), sizeof(T), copy_of(axes), kQueue);
  return found == expected;
}

}  // namespace

TEMPLATE_TEST_CASE("strided copies are those of their elements", "", std::uint8_t, std::uint16_t,
                   std::uint32_t, std::uint64_t) {
  for (const int threads : {1, 3}) {
    set_cpu_thread_count(threads);
    for (const Axes& axes : kCopies) {
      INFO("copy " << &axes - kCopies << ", threads " << threads);
      CHECK(right_copy<TestType>(axes));
    }
    CHECK(right_copy<TestType>({{1000, 1, 700}, {700, 1000, 1}}));
    CHECK(right_copy<TestType>({{300, 1700, 1500}, {1500, 1, 1}}));
    CHECK(right_copy<TestType>({{200'000, 3, 3}, {3, 1, 1}}));
    CHECK(right_copy<TestType>({{400'000, 2, 1}}));
  }
  set_cpu_thread_count(1);
}

TEST_CASE("elements of other widths are refused") {
  const std::vector<char> bytes(16);
  std::vector<char> result(16);
  CHECK_THROWS_AS(
      cpu_backend().memory.copy_strided(result.data(), bytes.data(), 16, StridedCopy{}, kQueue),
      InvalidUsage);
}
