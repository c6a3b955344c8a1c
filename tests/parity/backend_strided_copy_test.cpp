// Strided copies: the same bits, and nothing written between them.
#include <lockstep/core/error.hpp>
#include "parity/on_both.hpp"

using namespace parity;

namespace {

/// Wide and narrow elements, by alignment; transposes in tiles and without, alone and in batches;
/// rows, gaps, steps, repeated elements and rows.
const StridedCopy kCopies[] = {
    {},
    {1, {0}, {1}, {1}},
    {1, {4096}, {1}, {1}},
    {1, {4097}, {1}, {1}},
    {1, {100}, {3}, {1}},
    {1, {100}, {1}, {4}},
    {1, {1000}, {0}, {1}},
    {2, {7, 32}, {40, 1}, {48, 1}},
    {2, {7, 33}, {40, 1}, {33, 1}},
    {2, {7, 33}, {0, 1}, {33, 1}},
    {2, {7, 33}, {1, 0}, {33, 1}},
    {2, {33, 65}, {1, 33}, {65, 1}},
    {2, {3, 1000}, {1, 3}, {1000, 1}},
    {2, {64, 128}, {1, 64}, {128, 1}},
    {3, {5, 40, 33}, {1320, 1, 40}, {1320, 33, 1}},
    {3, {17, 5, 19}, {1, 1100, 17}, {1024, 19, 1}},
    {2, {40, 70}, {2, 81}, {70, 1}},
    {4, {2, 30, 4, 50}, {6000, 1, 1500, 30}, {6000, 200, 50, 1}},
    {6, {3, 4, 5, 5, 3, 3}, {2, 6, 24, 120, 600, 1800}, {900, 225, 45, 9, 3, 1}},
};

std::int64_t span_of(const StridedCopy& copy, const std::array<std::int64_t, 8>& strides) {
  std::int64_t last = 0;
  for (std::size_t i = 0; i < static_cast<std::size_t>(copy.axes); ++i) {
    if (copy.sizes[i] == 0) return 0;
    last += (copy.sizes[i] - 1) * strides[i];
  }
  return last + 1;
}

template <class T>
auto copied(const StridedCopy& copy, bool odd_source, bool odd_result) {
  return on_both([&](const Side& side) {
    std::vector<T> values(static_cast<std::size_t>(span_of(copy, copy.source_strides)));
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<T>(i + 1);
    const auto source = side.array(values, odd_source);
    const auto result = side.array(
        std::vector<T>(static_cast<std::size_t>(span_of(copy, copy.destination_strides)), T{77}),
        odd_result);
    side.backend.memory.copy_strided(result.data(), source.data(), sizeof(T), copy, side.queue);
    return result.values();
  });
}

}  // namespace

TEMPLATE_TEST_CASE("strided copies have the same bits on CUDA, of every width", "", std::uint8_t,
                   std::uint16_t, std::uint32_t, std::uint64_t) {
  if (no_device()) return;
  for (const StridedCopy& copy : kCopies)
    for (const bool odd_source : {false, true})
      for (const bool odd_result : {false, true}) {
        INFO("copy " << &copy - kCopies << ", odd " << odd_source << odd_result);
        CHECK(same(copied<TestType>(copy, odd_source, odd_result)));
      }
}

TEST_CASE("strided copies beyond a grid have the same bits on CUDA") {
  if (no_device()) return;
  CHECK(same(copied<std::uint8_t>({2, {1100003, 3}, {4, 1}, {3, 1}}, false, true)));
  CHECK(same(copied<std::uint8_t>({3, {4100, 8, 9}, {73, 1, 8}, {72, 9, 1}}, false, false)));
}

TEST_CASE("elements of other widths are refused on CUDA") {
  if (no_device()) return;
  const Side cuda{cuda_backend(0), cuda_current_queue(0)};
  const auto bytes = cuda.array(std::vector<char>(48));
  CHECK_THROWS_AS(cuda.backend.memory.copy_strided(bytes.data(), bytes.data() + 24, 3,
                                                   {1, {4}, {1}, {1}}, cuda.queue),
                  DeviceError);
}
