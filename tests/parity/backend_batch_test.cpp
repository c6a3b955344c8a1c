// Batches of matrix products.
#include "parity/on_both.hpp"

using namespace parity;

namespace {

/// Where beta is 0, c holds NaN before.
template <class T>
std::vector<T> products(const Side& side, const GemmShape& shape, double beta, bool odd) {
  const std::int64_t count = shape.batch * shape.m * shape.n;
  const auto a = side.array(random_values<T>(shape.batch * shape.m * shape.k, 61), odd);
  const auto b = side.array(random_values<T>(shape.batch * shape.k * shape.n, 62), odd);
  const auto c = side.array(beta == 0 ? std::vector<T>(static_cast<std::size_t>(count),
                                                       std::numeric_limits<T>::quiet_NaN())
                                      : random_values<T>(count, 63),
                            odd);
  side.backend.gemm.multiply(kDType<T>, shape, a.data(), b.data(), beta, c.data(), side.queue);
  return c.values();
}

}  // namespace

TEMPLATE_TEST_CASE("batches of products agree on CUDA, with operands that are repeated", "", float,
                   double) {
  if (no_device()) return;
  const GemmShape sizes[] = {
      {.m = 3, .n = 5, .k = 7, .batch = 4},  {.m = 8, .n = 4, .k = 16, .batch = 3},
      {.m = 1, .n = 1, .k = 1, .batch = 9},  {.m = 3, .n = 5, .k = 0, .batch = 2},
      {.m = 0, .n = 5, .k = 2, .batch = 2},  {.m = 3, .n = 5, .k = 2, .batch = 0},
      {.m = 5, .n = 3, .k = 300, .batch = 2}};
  for (GemmShape shape : sizes)
    for (const int transposed : {0, 1, 2, 3})
      for (const int repeated : {0, 1, 2})  // none, a, b
        for (const double beta : {0.0, -0.5})
          for (const bool odd : {false, true}) {
            shape.transpose_a = (transposed & 1) != 0;
            shape.transpose_b = (transposed & 2) != 0;
            shape.a_stride = repeated == 1 ? 0 : shape.m * shape.k;
            shape.b_stride = repeated == 2 ? 0 : shape.k * shape.n;
            INFO(shape.batch << " of " << shape.m << " x " << shape.k << " x " << shape.n
                             << ", transposed " << transposed << ", repeated " << repeated
                             << ", beta " << beta << ", odd " << odd);
            CHECK(apart(on_both([&](const Side& side) {
                    return products<TestType>(side, shape, beta, odd);
                  })) <= kProduct<TestType>);
          }
}

TEST_CASE("a batch of more products than a grid has blocks along an axis agrees on CUDA") {
  if (no_device()) return;
  const GemmShape shape{.m = 1, .n = 2, .k = 1, .batch = 65537, .a_stride = 1, .b_stride = 2};
  CHECK(apart(on_both([&](const Side& side) { return products<float>(side, shape, 0, false); })) <=
        kProduct<float>);
}
