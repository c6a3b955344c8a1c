// portable_math.hpp against long double.
#include <catch2/catch.hpp>
#include <cfloat>
#include <cmath>
#include <limits>

#include "core/portable_math.hpp"

namespace portable = lockstep::portable;

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// The distance from the exact value in units of the last place of T.
template <class T>
long double distance(T value, long double exact) {
  if (static_cast<long double>(value) == exact) return 0;
  const int smallest = std::numeric_limits<T>::min_exponent - 1;
  const int exponent = std::max(exact == 0 ? smallest : std::ilogb(exact), smallest);
  return std::fabs(static_cast<long double>(value) - exact) /
         std::ldexp(1.0L, exponent - (std::numeric_limits<T>::digits - 1));
}

}  // namespace

TEST_CASE("the float32 exponential is within 2 units in the last place, denormals included") {
  long double worst = 0;
  for (float x = -104; x < 88.72F; x += 0.0007123F)
    worst = std::max(worst, distance(portable::exp(x), std::exp(static_cast<long double>(x))));
  CHECK(worst < 2);
}

TEST_CASE("the float64 exponential is within 2 units in the last place, denormals included") {
  long double worst = 0;
  for (double x = -746; x < 709.78; x += 0.00271828)
    worst = std::max(worst, distance(portable::exp(x), std::exp(static_cast<long double>(x))));
  CHECK(worst < 2);
}

TEMPLATE_TEST_CASE("the exponential has the limits of the function", "", float, double) {
  const auto infinity = std::numeric_limits<TestType>::infinity();
  CHECK(portable::exp(TestType{0}) == 1);
  CHECK(portable::exp(-TestType{0}) == 1);
  CHECK(portable::exp(infinity) == infinity);
  CHECK(portable::exp(-infinity) == 0);
  CHECK(portable::exp(TestType{1000}) == infinity);
  CHECK(portable::exp(TestType{-1000}) == 0);
  CHECK(portable::exp(std::numeric_limits<TestType>::max()) == infinity);
  CHECK(portable::exp(std::numeric_limits<TestType>::lowest()) == 0);
  CHECK(std::isnan(portable::exp(std::numeric_limits<TestType>::quiet_NaN())));
}

TEST_CASE("the logarithm is within 2 units in the last place from denormals to the largest") {
  long double worst = 0;
  for (int i = 1; i < 3000; ++i)
    worst = std::max(
        worst, distance(portable::log(i * 5e-324), std::log(static_cast<long double>(i * 5e-324))));
  for (double x = 1e-319; x < 1e308; x *= 1.0007)
    worst = std::max(worst, distance(portable::log(x), std::log(static_cast<long double>(x))));
  for (double x = 0.5; x < 2; x += 1.23e-5)
    worst = std::max(worst, distance(portable::log(x), std::log(static_cast<long double>(x))));
  for (int i = -50; i <= 50; ++i) {
    const double x = 1 + i * DBL_EPSILON;
    worst = std::max(worst, distance(portable::log(x), std::log(static_cast<long double>(x))));
  }
  CHECK(worst < 2);
}

TEST_CASE("the logarithm has the limits of the function") {
  CHECK(portable::log(1.0) == 0);
  CHECK(portable::log(0.0) == -kInfinity);
  CHECK(portable::log(-0.0) == -kInfinity);
  CHECK(portable::log(kInfinity) == kInfinity);
  CHECK(std::isnan(portable::log(-1.0)));
  CHECK(std::isnan(portable::log(-kInfinity)));
  CHECK(std::isnan(portable::log(std::nan(""))));
  CHECK(portable::log(2.0F) == std::log(2.0F));
}

TEST_CASE("sine and cosine of turns are within 2 units in the last place") {
  const long double pi = 3.141592653589793238462643383279502884L;
  long double worst = 0;
  for (double x = -1.5; x < 1.5; x += 1.01e-5) {
    // From the nearest quarter turn, where long double has digits enough.
    const long double quarter = std::nearbyint(4 * static_cast<long double>(x));
    const long double angle = 2 * pi * (x - quarter / 4);
    const long double s = std::sin(angle);
    const long double c = std::cos(angle);
    const long double sines[] = {s, c, -s, -c};
    const int turned = static_cast<int>(quarter) + 8;
    const auto result = portable::sine_cosine_of_turns(x);
    worst = std::max(worst, distance(result.sine, sines[turned % 4]));
    worst = std::max(worst, distance(result.cosine, sines[(turned + 1) % 4]));
  }
  CHECK(worst < 2);
}

TEST_CASE("quarter turns are exact, and whole turns do not matter") {
  const double sines[] = {0, 1, 0, -1};
  for (int quarter = -8; quarter <= 8; ++quarter) {
    const auto result = portable::sine_cosine_of_turns(quarter * 0.25);
    CHECK(result.sine == sines[(quarter + 8) % 4]);
    CHECK(result.cosine == sines[(quarter + 9) % 4]);
  }
  const auto near = portable::sine_cosine_of_turns(0.1875);
  const auto far = portable::sine_cosine_of_turns(1048576.1875);
  CHECK(near.sine == far.sine);
  CHECK(near.cosine == far.cosine);
  CHECK(std::isnan(portable::sine_cosine_of_turns(kInfinity).sine));
  CHECK(std::isnan(portable::sine_cosine_of_turns(std::nan("")).cosine));
}

namespace {

/// x / 2 (1 + tanh(v / 2)) and its derivative, by a library that has both.
long double exact_v(long double x) {
  return 2 * std::sqrt(2 / std::acos(-1.0L)) * (x + 0.044715L * x * x * x);
}
long double exact_gelu(long double x) { return x / (1 + std::exp(-exact_v(x))); }
long double exact_gelu_slope(long double x) {
  const long double s = 1 / (1 + std::exp(-exact_v(x)));
  const long double slope = 2 * std::sqrt(2 / std::acos(-1.0L)) * (1 + 3 * 0.044715L * x * x);
  return s + x * s * (1 - s) * slope;
}

}  // namespace

TEMPLATE_TEST_CASE("GELU loses digits only as its exponential does, small results included", "",
                   float, double) {
  long double worst = 0;  // as a part of what is allowed
  for (TestType x = -8; x < 8; x += static_cast<TestType>(0.00123))
    worst = std::max(
        worst, distance(portable::gelu_tanh(x), exact_gelu(x)) / (4 + 3 * std::fabs(exact_v(x))));
  CHECK(worst < 1);
}

TEMPLATE_TEST_CASE("the derivative of GELU is right to a few roundings", "", float, double) {
  long double worst = 0;
  for (TestType x = -8; x < 8; x += static_cast<TestType>(0.00123))
    worst = std::max(worst, std::fabs(portable::gelu_tanh_slope(x) - exact_gelu_slope(x)));
  CHECK(worst < 8 * std::numeric_limits<TestType>::epsilon());
}

TEMPLATE_TEST_CASE("far out GELU is the identity or 0, and a NaN stays one", "", float, double) {
  const TestType far = std::numeric_limits<TestType>::max() / 2;
  CHECK(portable::gelu_tanh(far) == far);
  CHECK(portable::gelu_tanh(-far) == 0);
  CHECK(portable::gelu_tanh_slope(far) == 1);
  CHECK(portable::gelu_tanh_slope(-far) == 0);
  CHECK(portable::gelu_tanh(TestType{0}) == 0);
  CHECK(portable::gelu_tanh_slope(TestType{0}) == TestType{0.5});
  CHECK(std::isnan(portable::gelu_tanh(std::numeric_limits<TestType>::quiet_NaN())));
  CHECK(std::isnan(portable::gelu_tanh_slope(std::numeric_limits<TestType>::quiet_NaN())));
}
