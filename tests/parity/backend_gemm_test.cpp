// Matrix products and linear layers.
#include "parity/on_both.hpp"

using namespace parity;

namespace {

const GemmShape kProducts[] = {
    {.m = 0, .n = 3, .k = 2},   {.m = 3, .n = 0, .k = 2},    {.m = 3, .n = 5, .k = 0},
    {.m = 1, .n = 1, .k = 1},   {.m = 1, .n = 7, .k = 13},   {.m = 17, .n = 1, .k = 5},
    {.m = 5, .n = 3, .k = 257}, {.m = 31, .n = 37, .k = 41}, {.m = 64, .n = 32, .k = 16},
    {.m = 257, .n = 9, .k = 3}, {.m = 3, .n = 1025, .k = 2},
};

/// c = op(a) op(b) + beta c. Where beta is 0, c holds NaN before.
template <class T>
std::vector<T> product(const Side& side, const GemmShape& shape, double beta, bool odd) {
  const std::int64_t count = shape.m * shape.n;
  const auto a = side.array(random_values<T>(shape.m * shape.k, 61), odd);
  const auto b = side.array(random_values<T>(shape.k * shape.n, 62), odd);
  const auto c = side.array(beta == 0 ? std::vector<T>(static_cast<std::size_t>(count),
                                                       std::numeric_limits<T>::quiet_NaN())
                                      : random_values<T>(count, 63),
                            odd);
  side.backend.gemm.multiply(kDType<T>, shape, a.data(), b.data(), beta, c.data(), side.queue);
  return c.values();
}

const LinearShape kLayers[] = {{0, 3, 2}, {3, 0, 2},   {3, 2, 0},    {1, 1, 1},
                               {5, 7, 3}, {16, 32, 8}, {257, 3, 10}, {2, 65, 31}};

struct Gradients {
  bool accumulate_weight;
  bool bias;
  bool accumulate_bias;
};

template <class T>
auto layer_gradients(const LinearShape& shape, const Gradients& wanted, bool odd) {
  return on_both([&](const Side& side) {
    const auto gradient = side.array(random_values<T>(shape.rows * shape.out, 64), odd);
    const auto x = side.array(random_values<T>(shape.rows * shape.in, 65));
    const auto weight = side.array(random_values<T>(shape.out * shape.in, 66), odd);
    const auto bias = side.array(random_values<T>(shape.out, 67), odd);
    side.backend.gemm.linear_gradients(kDType<T>, shape,
                                       {.gradient = gradient.data(),
                                        .x = x.data(),
                                        .weight = weight.data(),
                                        .accumulate_weight = wanted.accumulate_weight,
                                        .bias = wanted.bias ? bias.data() : nullptr,
                                        .accumulate_bias = wanted.accumulate_bias},
                                       side.queue);
    return std::vector{weight.values(), bias.values(), gradient.values()};
  });
}

/// Values as the 16-bit dtype holds them: rounded there on the CPU, and back.
std::vector<std::uint16_t> narrowed(DType dtype, const std::vector<float>& values) {
  std::vector<std::uint16_t> result(values.size());
  cpu_backend().elementwise.cast(DType::float32, values.data(), dtype, result.data(),
                                 static_cast<std::int64_t>(values.size()), {});
  return result;
}
std::vector<float> widened(DType dtype, const std::vector<std::uint16_t>& values) {
  std::vector<float> result(values.size());
  cpu_backend().elementwise.cast(dtype, values.data(), DType::float32, result.data(),
                                 static_cast<std::int64_t>(values.size()), {});
  return result;
}

/// The product in 16 bits on CUDA, and in float32 on the CPU of the same numbers.
std::pair<std::vector<float>, std::vector<float>> half_product(DType dtype, const GemmShape& shape,
                                                               bool odd) {
  const auto a16 = narrowed(dtype, random_values<float>(shape.m * shape.k, 68));
  const auto b16 = narrowed(dtype, random_values<float>(shape.k * shape.n, 69));
  const auto count = static_cast<std::size_t>(shape.m * shape.n);
  std::vector<float> expected(count);
  cpu_backend().gemm.multiply(DType::float32, shape, widened(dtype, a16).data(),
                              widened(dtype, b16).data(), 0, expected.data(), {});
  const Side cuda{cuda_backend(0), cuda_current_queue(0)};
  const auto a = cuda.array(a16, odd);
  const auto b = cuda.array(b16);
  const auto c = cuda.array(std::vector<std::uint16_t>(count), odd);
  cuda.backend.gemm.multiply(dtype, shape, a.data(), b.data(), 0, c.data(), cuda.queue);
  return {expected, widened(dtype, c.values())};
}

}  // namespace

TEMPLATE_TEST_CASE("matrix products agree on CUDA, transposed or not, of any size", "", float,
                   double) {
  if (no_device()) return;
  for (GemmShape shape : kProducts)
    for (const int transposed : {0, 1, 2, 3})
      for (const double beta : {0.0, 1.0, -0.5})
        for (const bool odd : {false, true}) {
          shape.transpose_a = (transposed & 1) != 0;
          shape.transpose_b = (transposed & 2) != 0;
          INFO(shape.m << " x " << shape.k << " x " << shape.n << ", transposed " << transposed
                       << ", beta " << beta << ", odd " << odd);
          CHECK(apart(on_both([&](const Side& side) {
                  return product<TestType>(side, shape, beta, odd);
                })) <= kProduct<TestType>);
        }
}

TEMPLATE_TEST_CASE("linear layers agree on CUDA with and without a bias", "", float, double) {
  if (no_device()) return;
  for (const LinearShape& shape : kLayers)
    for (const bool with_bias : {false, true})
      for (const bool odd : {false, true}) {
        INFO(shape.rows << " rows, " << shape.in << " to " << shape.out << ", bias " << with_bias
                        << ", odd " << odd);
        CHECK(apart(on_both([&](const Side& side) {
                const auto x = side.array(random_values<TestType>(shape.rows * shape.in, 71), odd);
                const auto weight = side.array(random_values<TestType>(shape.out * shape.in, 72));
                const auto bias = side.array(random_values<TestType>(shape.out, 73), odd);
                const auto y = side.array(random_values<TestType>(shape.rows * shape.out, 74));
                side.backend.gemm.linear(kDType<TestType>, shape.rows, shape.in, shape.out,
                                         x.data(), weight.data(), with_bias ? bias.data() : nullptr,
                                         y.data(), side.queue);
                return y.values();
              })) <= kProduct<TestType>);
      }
}

TEMPLATE_TEST_CASE("gradients of linear layers agree on CUDA, set or accumulated", "", float,
                   double) {
  if (no_device()) return;
  for (const LinearShape& shape : kLayers)
    for (const bool accumulate_weight : {false, true})
      for (const int bias : {0, 1, 2})  // none, set, accumulated
        for (const bool odd : {false, true}) {
          INFO(shape.rows << " rows, " << shape.in << " to " << shape.out << ", weight added "
                          << accumulate_weight << ", bias " << bias << ", odd " << odd);
          const Gradients wanted{accumulate_weight, bias > 0, bias == 2};
          CHECK(apart(layer_gradients<TestType>(shape, wanted, odd)) <= kProduct<TestType>);
        }
}

TEST_CASE("products of 16-bit floats on CUDA are those in float32, rounded once") {
  if (no_device()) return;
  for (GemmShape shape : kProducts)
    for (const int transposed : {0, 1, 2, 3})
      for (const bool odd : {false, true}) {
        shape.transpose_a = (transposed & 1) != 0;
        shape.transpose_b = (transposed & 2) != 0;
        INFO(shape.m << " x " << shape.k << " x " << shape.n << ", transposed " << transposed
                     << ", odd " << odd);
        CHECK(apart(half_product(DType::bfloat16, shape, odd)) <= kBfloat16Product);
        CHECK(apart(half_product(DType::float16, shape, odd)) <= kFloat16Product);
      }
}

TEST_CASE("TF32 is off until it is asked for, and then changes float32 within its bound") {
  if (no_device()) return;
  struct Restore {
    ~Restore() { backend::cuda_allow_tf32(false); }
  } restore;
  const GemmShape shape{.m = 64, .n = 48, .k = 96};
  CHECK_FALSE(backend::cuda_tf32_allowed());
  const auto exact =
      on_both([&](const Side& side) { return product<float>(side, shape, 0, false); });
  CHECK(apart(exact) <= kProduct<float>);
  backend::cuda_allow_tf32(true);
  CHECK(backend::cuda_tf32_allowed());
  const auto rounded =
      on_both([&](const Side& side) { return product<float>(side, shape, 0, false); });
#ifndef PARITY_ON_STAND_IN
  if (same(rounded.second, exact.second)) {
    WARN("this GPU has no TF32");
    return;
  }
#endif
  CHECK_FALSE(same(rounded.second, exact.second));
  CHECK(apart(rounded) > kProduct<float>);
  CHECK(apart(rounded) <= kTf32Product);
  const auto wide =
      on_both([&](const Side& side) { return product<double>(side, shape, 0, false); });
  CHECK(apart(wide) <= kProduct<double>);
  backend::cuda_allow_tf32(false);
  CHECK(
      same(on_both([&](const Side& side) { return product<float>(side, shape, 0, false); }).second,
           exact.second));
}
