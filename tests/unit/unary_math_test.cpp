// What the unary operations and the losses compute with, against long double.
#include <catch2/catch.hpp>
#include <cfloat>

#include "core/loss_functions.hpp"
#include "core/unary_functions.hpp"
#include "unit/last_places.hpp"

namespace portable = lockstep::portable;
using last_places::distance;

namespace {

/// The largest distance of function(x) from exact(x) on [low, high].
template <class T, class Function, class Exact>
long double worst(double low, double high, double step, const Function& function,
                  const Exact& exact) {
  long double largest = 0;
  for (double at = low; at <= high; at += step) {
    const T x = static_cast<T>(at);
    largest = std::max(largest, distance(function(x), exact(static_cast<long double>(x))));
  }
  return largest;
}

long double exact_tail(long double t) { return std::erfc(t / std::sqrt(2.0L)) / 2; }
long double exact_moment(long double t) {
  return t * std::exp(-t * t / 2) / std::sqrt(2 * std::acos(-1.0L));
}

}  // namespace

TEST_CASE("the tail of the normal distribution is within 7 units in the last place in float64") {
  const auto product = [](double t) { return portable::normal_tail_product(t); };
  const auto exact = [](long double t) { return t * exact_tail(t); };
  CHECK(worst<double>(0, 37.5, 0.000713, product, exact) < 7);
  CHECK(worst<double>(0, 1e-3, 1.3e-7, product, exact) < 7);
}

TEST_CASE("the tail of the normal distribution is within 5 + t^2 units in float32") {
  long double largest = 0;  // as a part of what is allowed
  for (float t = 0; t < 13; t += 0.000713F) {
    const long double exact = t * exact_tail(t);
    largest = std::max(largest, distance(portable::normal_tail_product(t), exact) / (5 + t * t));
  }
  CHECK(largest < 1);
}

TEMPLATE_TEST_CASE("the derivative of GELU is right to a few roundings", "", float, double) {
  constexpr portable::UnaryNumbers<TestType> kNone{};
  long double largest = 0;
  for (double at = -40; at < 40; at += 0.000713) {
    const auto x = static_cast<TestType>(at);
    const long double exact = exact_tail(-static_cast<long double>(x)) + exact_moment(x);
    largest = std::max(largest, std::fabs(portable::Gelu::backward(x, TestType{1}, kNone) - exact));
  }
  CHECK(largest < 2 * std::numeric_limits<TestType>::epsilon());
}

TEMPLATE_TEST_CASE("far out GELU is the identity or 0, and a NaN stays one", "", float, double) {
  using Limits = std::numeric_limits<TestType>;
  constexpr portable::UnaryNumbers<TestType> kNone{};
  for (const TestType x : {TestType{50}, Limits::max(), Limits::infinity()}) {
    CHECK(portable::Gelu::forward(x, kNone) == x);
    CHECK(portable::Gelu::forward(-x, kNone) == 0);
    CHECK(portable::Gelu::backward(x, TestType{1}, kNone) == 1);
    CHECK(portable::Gelu::backward(-x, TestType{1}, kNone) == 0);
  }
  CHECK(std::isnan(portable::Gelu::forward(Limits::quiet_NaN(), kNone)));
  CHECK(std::isnan(portable::Gelu::backward(Limits::quiet_NaN(), TestType{1}, kNone)));
}

TEMPLATE_TEST_CASE("tanh is within 3 units in the last place, small results included", "", float,
                   double) {
  const auto tanh = [](TestType x) { return portable::tanh(x); };
  const auto exact = [](long double x) { return std::tanh(x); };
  CHECK(worst<TestType>(-25, 25, 0.000713, tanh, exact) < 3);
  CHECK(worst<TestType>(-1e-3, 1e-3, 1.3e-7, tanh, exact) < 3);
  CHECK(portable::tanh(std::numeric_limits<TestType>::infinity()) == 1);
  CHECK(portable::tanh(-std::numeric_limits<TestType>::infinity()) == -1);
  CHECK(portable::tanh(-TestType{0}) == 0);
  CHECK(std::isnan(portable::tanh(std::numeric_limits<TestType>::quiet_NaN())));
}

TEMPLATE_TEST_CASE("the logistic function is within 4 units in the last place, small results too",
                   "", float, double) {
  const double far = sizeof(TestType) == 4 ? 87 : 708;
  const auto sigmoid = [](TestType x) { return portable::sigmoid(x); };
  CHECK(worst<TestType>(-far, far, far * 3.1e-6, sigmoid,
                        [](long double x) { return 1 / (1 + std::exp(-x)); }) < 4);
  CHECK(portable::sigmoid(std::numeric_limits<TestType>::infinity()) == 1);
  CHECK(portable::sigmoid(-std::numeric_limits<TestType>::infinity()) == 0);
  CHECK(std::isnan(portable::sigmoid(std::numeric_limits<TestType>::quiet_NaN())));
}

TEST_CASE("log1p from 0 to 1 is within 2 units in the last place") {
  const auto exact = [](long double z) { return std::log1p(z); };
  const auto log1p = [](double z) { return portable::log1p(z); };
  CHECK(worst<double>(0, 1, 1.37e-6, log1p, exact) < 2);
  for (double z = 1; z > 1e-320; z /= 3) CHECK(distance(portable::log1p(z), exact(z)) < 2);
}

TEST_CASE("powers are within 1 unit in the last place up to the largest exponents") {
  long double largest = 0;
  for (double x = 1e-300; x < 1e300; x *= 3.7)
    for (double y = -2.9; y < 3; y += 0.37)
      if (const long double exact = std::pow(static_cast<long double>(x), y);
          exact > DBL_MIN && exact < DBL_MAX)
        largest = std::max(largest, distance(portable::pow(x, y), exact));
  for (double x = 0.5; x < 2; x += 0.000917)
    for (const double y : {-700.3, -0.5, 0.1, 1.0 / 3, 0.5, 2.0, 2.7, 3.0, 50.1, 900.7})
      largest = std::max(largest,
                         distance(portable::pow(x, y), std::pow(static_cast<long double>(x), y)));
  CHECK(largest < 1);
  long double largest32 = 0;
  for (float x = 0.001F; x < 1000; x *= 1.0037F)
    for (const float y : {-7.3F, -0.5F, 0.1F, 0.5F, 2.0F, 2.7F, 11.5F})
      largest32 = std::max(largest32,
                           distance(portable::pow(x, y), std::pow(static_cast<long double>(x), y)));
  CHECK(largest32 < 0.51);
}

TEST_CASE("powers of whole numbers are exact, and denormal ones are near") {
  for (int x = -20; x <= 20; ++x)
    for (int y = 0; y <= 12; ++y)
      CHECK(portable::pow(static_cast<double>(x), static_cast<double>(y)) == std::pow(x, y));
  CHECK(portable::pow(0x1p-1070, 0.5) == 0x1p-535);
  CHECK(portable::pow(0x1p-537, 2.0) == 0x1p-1074);
  CHECK(portable::pow(0x1p-540, 2.0) == 0);
  CHECK(portable::pow(0x1p540, 2.0) == INFINITY);
}

TEST_CASE("powers have the corner cases of C") {
  const double values[] = {0.0,  -0.0, 1.0,       -1.0,     0.5,    -0.5,   2.0,        -2.0,
                           3.0,  -3.0, 2.5,       -2.5,     1e300,  0x1p53, 0x1p52 + 1, -0x1p52 - 1,
                           1e20, NAN,  -INFINITY, INFINITY, 5e-324, -5e-324};
  for (const double x : values)
    for (const double y : values) {
      INFO(x << " to the power " << y);
      const double found =
          portable::pow(x, std::clamp(y, -portable::kLargestPower, portable::kLargestPower));
      const double expected = std::pow(x, y);
      if (std::isnan(expected)) {
        CHECK(std::isnan(found));
      } else {
        CHECK(found == Approx(expected).epsilon(1e-15));
        CHECK(std::signbit(found) == std::signbit(expected));
      }
    }
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

template <class T>
T gelu_tanh(T x) {
  return portable::GeluTanh::forward(x, portable::UnaryNumbers<T>{});
}
template <class T>
T gelu_tanh_slope(T x) {
  return portable::GeluTanh::backward(x, T{1}, portable::UnaryNumbers<T>{});
}

}  // namespace

TEMPLATE_TEST_CASE(
    "the tanh form of GELU loses digits only as its exponential does, small results included", "",
    float, double) {
  long double worst = 0;  // as a part of what is allowed
  for (TestType x = -8; x < 8; x += static_cast<TestType>(0.00123))
    worst =
        std::max(worst, distance(gelu_tanh(x), exact_gelu(x)) / (4 + 3 * std::fabs(exact_v(x))));
  CHECK(worst < 1);
}

TEMPLATE_TEST_CASE("the derivative of the tanh form of GELU is right to a few roundings", "", float,
                   double) {
  long double worst = 0;
  for (TestType x = -8; x < 8; x += static_cast<TestType>(0.00123))
    worst = std::max(worst, std::fabs(gelu_tanh_slope(x) - exact_gelu_slope(x)));
  CHECK(worst < 8 * std::numeric_limits<TestType>::epsilon());
}

TEMPLATE_TEST_CASE("far out the tanh form of GELU is the identity or 0, and a NaN stays one", "",
                   float, double) {
  const TestType far = std::numeric_limits<TestType>::max() / 2;
  CHECK(gelu_tanh(far) == far);
  CHECK(gelu_tanh(-far) == 0);
  CHECK(gelu_tanh_slope(far) == 1);
  CHECK(gelu_tanh_slope(-far) == 0);
  CHECK(gelu_tanh(TestType{0}) == 0);
  CHECK(gelu_tanh_slope(TestType{0}) == TestType{0.5});
  CHECK(std::isnan(gelu_tanh(std::numeric_limits<TestType>::quiet_NaN())));
  CHECK(std::isnan(gelu_tanh_slope(std::numeric_limits<TestType>::quiet_NaN())));
}
