// portable_math.hpp against long double.
#include <catch2/catch.hpp>
#include <cfloat>
#include <cmath>
#include <limits>

#include "core/portable_math.hpp"
#include "unit/last_places.hpp"

namespace portable = lockstep::portable;
using last_places::distance;

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

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
