// Optimizer passes against their formulas in float64.
#include <catch2/catch.hpp>
#include <cmath>

#include "backend_support.hpp"

using namespace backend_test;

namespace {

template <class T>
constexpr DType kDType = sizeof(T) == 4 ? DType::float32 : DType::float64;

template <class T>
struct Arena {
  std::vector<T> w, g, m, v;
  explicit Arena(std::int64_t count)
      : w(random_values<T>(count, 1)),
        g(random_values<T>(count, 2)),
        m(random_values<T>(count, 3)),
        v(random_values<T>(count, 4, 0, 1)) {}
  ArenaPointers pointers(double scale) { return {w.data(), g.data(), m.data(), v.data(), scale}; }
};

}  // namespace

TEMPLATE_TEST_CASE("Adam follows its formula, with both decays and a scaled gradient", "", float,
                   double) {
  const double tolerance = sizeof(TestType) == 4 ? 2e-6 : 1e-14;
  for (const std::int64_t step : {1, 2, 100, 100000}) {
    Arena<TestType> arena(1003);
    const Arena<TestType> before = arena;
    const AdamSegment s{0, 1003, 1e-2, 0.9, 0.999, 1e-6, 0.05, 0.1, step};
    cpu_backend().optimizer.adam(kDType<TestType>, arena.pointers(0.25), {&s, 1}, kQueue);
    bool right = true;
    for (std::size_t i = 0; i < 1003; ++i) {
      const double g = 0.25 * before.g[i] + s.l2_decay * before.w[i];
      const double m = s.beta1 * before.m[i] + (1 - s.beta1) * g;
      const double v = s.beta2 * before.v[i] + (1 - s.beta2) * g * g;
      const double corrected_m = m / (1 - std::pow(s.beta1, static_cast<double>(step)));
      const double corrected_v = v / (1 - std::pow(s.beta2, static_cast<double>(step)));
      const double w = before.w[i] * (1 - s.learning_rate * s.decoupled_decay) -
                       s.learning_rate * corrected_m / (std::sqrt(corrected_v) + s.epsilon);
      right = right && std::fabs(arena.w[i] - w) < tolerance &&
              std::fabs(arena.m[i] - m) < tolerance && std::fabs(arena.v[i] - v) < tolerance;
    }
    CHECK(right);
    CHECK(arena.g == before.g);
  }
}

TEMPLATE_TEST_CASE("SGD follows its formula in all its forms", "", float, double) {
  const double tolerance = sizeof(TestType) == 4 ? 2e-6 : 1e-14;
  for (const bool first : {false, true})
    for (const bool nesterov : {false, true})
      for (const double momentum : {0.0, 0.9})
        for (const double decay : {0.0, 0.1}) {
          Arena<TestType> arena(517);
          const Arena<TestType> before = arena;
          const SgdSegment s{0, 517, 0.1, momentum, nesterov ? 0.0 : 0.3, decay, nesterov, first};
          ArenaPointers pointers = arena.pointers(2);
          if (momentum == 0) pointers.first_moment = nullptr;
          cpu_backend().optimizer.sgd(kDType<TestType>, pointers, {&s, 1}, kQueue);
          bool right = true;
          for (std::size_t i = 0; i < 517; ++i) {
            const double g = 2.0 * before.g[i] + decay * before.w[i];
            const double v = first ? g : momentum * before.m[i] + (1 - s.dampening) * g;
            const double direction = momentum == 0 ? g : (nesterov ? g + momentum * v : v);
            right = right && std::fabs(arena.w[i] - (before.w[i] - 0.1 * direction)) < tolerance;
            if (momentum != 0) right = right && std::fabs(arena.m[i] - v) < tolerance;
          }
          CHECK(right);
        }
}

TEST_CASE("segments touch their own elements only, each with its own options") {
  Arena<float> arena(100);
  const Arena<float> before = arena;
  const AdamSegment segments[] = {{10, 20, 1e-2, 0.9, 0.999, 1e-8, 0, 0, 1},
                                  {40, 41, 0, 0.9, 0.999, 1e-8, 0, 0, 1},
                                  {50, 50, 1, 0.9, 0.999, 1e-8, 0, 0, 1}};
  cpu_backend().optimizer.adam(DType::float32, arena.pointers(1), segments, kQueue);
  for (std::size_t i = 0; i < 100; ++i) {
    CHECK((arena.w[i] != before.w[i]) == (i >= 10 && i < 20));
    CHECK((arena.m[i] != before.m[i]) == ((i >= 10 && i < 20) || i == 40));
  }
}

TEST_CASE("without a decay an infinite value does not make the gradient NaN") {
  float w = INFINITY;
  const float g = 1;
  float m = 0;
  float v = 0;
  const AdamSegment adam{0, 1, 1e-2, 0.9, 0.999, 1e-8, 0, 0, 1};
  cpu_backend().optimizer.adam(DType::float32, {&w, &g, &m, &v, 1}, {&adam, 1}, kQueue);
  CHECK(w == INFINITY);
  CHECK(m == 0.1F);
  const SgdSegment sgd{0, 1, 1e-2, 0.9, 0, 0, false, true};
  m = NAN;  // in the first step it may hold anything
  cpu_backend().optimizer.sgd(DType::float32, {&w, &g, &m, nullptr, 1}, {&sgd, 1}, kQueue);
  CHECK(m == 1);
}

TEST_CASE("one pass over two halves gives the bits of one pass over the whole") {
  Arena<float> whole(5000);
  Arena<float> halves = whole;
  const AdamSegment one{0, 5000, 1e-2, 0.9, 0.999, 1e-8, 0, 0, 3};
  AdamSegment two[] = {one, one};
  two[0].end = two[1].begin = 2511;
  cpu_backend().optimizer.adam(DType::float32, whole.pointers(1), {&one, 1}, kQueue);
  cpu_backend().optimizer.adam(DType::float32, halves.pointers(1), two, kQueue);
  CHECK(same_bits(whole.w, halves.w));
  CHECK(same_bits(whole.v, halves.v));
}
