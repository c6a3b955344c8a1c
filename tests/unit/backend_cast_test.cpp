// float16 and bfloat16 against arithmetic on doubles, and the other casts.
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>

#include "backend_support.hpp"

using namespace backend_test;

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

struct Format {
  DType dtype;
  int mantissa_bits;
  int smallest_exponent;
};
constexpr Format kFormats[] = {{DType::float16, 10, -14}, {DType::bfloat16, 7, -126}};

int exponent_bits(const Format& format) { return 15 - format.mantissa_bits; }

/// The value of a pattern, from the definition of the format.
double value_of(const Format& format, unsigned pattern) {
  const unsigned mantissa = pattern & ((1U << format.mantissa_bits) - 1);
  const unsigned top = (1U << exponent_bits(format)) - 1;
  const unsigned exponent = (pattern >> format.mantissa_bits) & top;
  const double sign = (pattern & 0x8000U) != 0 ? -1 : 1;
  if (exponent == top) return mantissa != 0 ? std::nan("") : sign * kInfinity;
  const double fraction = std::ldexp(static_cast<double>(mantissa), -format.mantissa_bits);
  if (exponent == 0) return sign * std::ldexp(fraction, format.smallest_exponent);
  return sign * std::ldexp(1 + fraction, format.smallest_exponent + static_cast<int>(exponent) - 1);
}

template <class To, class From>
std::vector<To> cast(DType from, const std::vector<From>& x, DType to) {
  std::vector<To> result(x.size());
  cpu_backend().elementwise.cast(from, x.data(), to, result.data(),
                                 static_cast<std::int64_t>(x.size()), kQueue);
  return result;
}

std::vector<std::uint16_t> all_patterns() {
  std::vector<std::uint16_t> patterns(65536);
  for (unsigned i = 0; i < 65536; ++i) patterns[i] = static_cast<std::uint16_t>(i);
  return patterns;
}

bool is_signaling(float x) {
  std::uint32_t bits;
  std::memcpy(&bits, &x, 4);
  return std::isnan(x) && (bits & 0x00400000U) == 0;
}

}  // namespace

TEST_CASE("all 65536 patterns of 16-bit types have the right value and come back") {
  for (const Format& format : kFormats)
    for_each_variant([&](const char*) {
      const auto patterns = all_patterns();
      const auto floats = cast<float>(format.dtype, patterns, DType::float32);
      const auto doubles = cast<double>(format.dtype, patterns, DType::float64);
      const auto from_floats = cast<std::uint16_t>(DType::float32, floats, format.dtype);
      const auto from_doubles = cast<std::uint16_t>(DType::float64, doubles, format.dtype);
      std::int64_t wrong = 0;
      for (unsigned i = 0; i < 65536; ++i) {
        const double value = value_of(format, i);
        if (std::isnan(value)) {
          const unsigned quiet = i | (1U << (format.mantissa_bits - 1));
          wrong += !std::isnan(floats[i]) || is_signaling(floats[i]) || !std::isnan(doubles[i]);
          wrong += from_floats[i] != quiet || !std::isnan(value_of(format, from_doubles[i]));
        } else {
          wrong += floats[i] != static_cast<float>(value) || doubles[i] != value;
          wrong += std::signbit(floats[i]) != std::signbit(value);
          wrong += from_floats[i] != i || from_doubles[i] != i;
        }
      }
      CHECK(wrong == 0);
    });
}

TEST_CASE("16-bit types round to nearest, and halfway to even, from float32 and float64") {
  for (const Format& format : kFormats)
    for_each_variant([&](const char*) {
      const unsigned infinity = ((1U << exponent_bits(format)) - 1) << format.mantissa_bits;
      std::vector<double> doubles;
      std::vector<float> floats;
      std::vector<unsigned> expected;
      for (unsigned low = 0; low < infinity; ++low) {
        // Beyond the largest finite value the step goes on as if there were one more.
        const double a = value_of(format, low);
        const double b =
            low + 1 < infinity ? value_of(format, low + 1) : 2 * a - value_of(format, low - 1);
        const double middle = (a + b) / 2;
        const auto single = static_cast<float>(middle);
        const unsigned even = low % 2 == 0 ? low : low + 1;
        const double around[] = {std::nextafter(middle, 0), middle,
                                 std::nextafter(middle, kInfinity)};
        const float around_single[] = {std::nextafter(single, 0.0F), single,
                                       std::nextafter(single, INFINITY)};
        const unsigned answers[] = {low, even, low + 1};
        for (int i = 0; i < 3; ++i) {
          doubles.push_back(around[i]);
          // Half of bfloat16's smallest step is float32's 2^-134: all three are exact there too.
          floats.push_back(around_single[i]);
          expected.push_back(answers[i]);
          doubles.push_back(-around[i]);
          floats.push_back(-around_single[i]);
          expected.push_back(answers[i] | 0x8000U);
        }
      }
      const auto from_doubles = cast<std::uint16_t>(DType::float64, doubles, format.dtype);
      const auto from_floats = cast<std::uint16_t>(DType::float32, floats, format.dtype);
      std::int64_t wrong = 0;
      for (std::size_t i = 0; i < expected.size(); ++i)
        wrong += (from_doubles[i] != expected[i]) + (from_floats[i] != expected[i]);
      CHECK(wrong == 0);
    });
}

TEST_CASE("values beyond a 16-bit type become infinite, and tiny ones zero, with their sign") {
  const std::vector<double> x = {1e300, -1e300, kInfinity, -kInfinity, 1e-300, -1e-300, -0.0};
  CHECK(cast<std::uint16_t>(DType::float64, x, DType::float16) ==
        std::vector<std::uint16_t>{0x7c00, 0xfc00, 0x7c00, 0xfc00, 0, 0x8000, 0x8000});
  CHECK(cast<std::uint16_t>(DType::float64, x, DType::bfloat16) ==
        std::vector<std::uint16_t>{0x7f80, 0xff80, 0x7f80, 0xff80, 0, 0x8000, 0x8000});
}

TEST_CASE("large integers are rounded once on their way to bfloat16") {
  // A tie plus 1, which float64 cannot hold: rounding there first would make it a tie.
  const std::int64_t tie = (std::int64_t{1} << 60) + (std::int64_t{1} << 52);
  const std::vector<std::int64_t> x = {
      tie, tie + 1, tie - 1, -tie - 1, 65504, 16777217, std::numeric_limits<std::int64_t>::min()};
  CHECK(cast<std::uint16_t>(DType::int64, x, DType::bfloat16) ==
        std::vector<std::uint16_t>{0x5d80, 0x5d81, 0x5d80, 0xdd81, 0x4780, 0x4b80, 0xdf00});
}

TEST_CASE("floating-point numbers are truncated to integers; beyond them they saturate") {
  const std::vector<double> x = {1.9, -1.9, 1e300, -1e300, std::nan(""), 254.9, -0.5, 255.5};
  constexpr auto kMost = std::numeric_limits<std::int64_t>::max();
  constexpr auto kLeast = std::numeric_limits<std::int64_t>::min();
  CHECK(cast<std::int64_t>(DType::float64, x, DType::int64) ==
        std::vector<std::int64_t>{1, -1, kMost, kLeast, 0, 254, 0, 255});
  CHECK(cast<std::int32_t>(DType::float64, x, DType::int32) ==
        std::vector<std::int32_t>{1, -1, INT32_MAX, INT32_MIN, 0, 254, 0, 255});
  CHECK(cast<std::uint8_t>(DType::float64, x, DType::uint8) ==
        std::vector<std::uint8_t>{1, 0, 255, 0, 0, 254, 0, 255});
  const std::vector<float> y = {2147483648.0F, -2147483648.0F, 9223372036854775808.0F, 2147483520};
  CHECK(cast<std::int32_t>(DType::float32, y, DType::int32) ==
        std::vector<std::int32_t>{INT32_MAX, INT32_MIN, INT32_MAX, 2147483520});
  CHECK(cast<std::int64_t>(DType::float32, y, DType::int64) ==
        std::vector<std::int64_t>{2147483648, -2147483648, kMost, 2147483520});
}

TEST_CASE("integers wrap to narrower integers and are exact in wider types") {
  const std::vector<std::int64_t> x = {256, -1, (std::int64_t{1} << 32) + 5};
  CHECK(cast<std::uint8_t>(DType::int64, x, DType::uint8) == std::vector<std::uint8_t>{0, 255, 5});
  CHECK(cast<std::int32_t>(DType::int64, x, DType::int32) == std::vector<std::int32_t>{256, -1, 5});
  CHECK(cast<double>(DType::int64, x, DType::float64) ==
        std::vector<double>{256, -1, 4294967301.0});
}
