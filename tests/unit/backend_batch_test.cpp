// Batches of products against the same products one by one, in both matrix libraries.
#include <catch2/catch.hpp>

#include "backend/cpu/gemm_libraries.hpp"
#include "backend_support.hpp"

using namespace backend_test;

namespace {

template <class T>
bool right_batch(cpu::CpuGemm& gemm, const GemmShape& shape, double beta) {
  const auto a = random_values<T>(shape.batch * shape.m * shape.k, 1);
  const auto b = random_values<T>(shape.batch * shape.k * shape.n, 2);
  auto found = random_values<T>(shape.batch * shape.m * shape.n, 3);
  auto expected = found;
  GemmShape one = shape;
  one.batch = 1;
  for (std::int64_t i = 0; i < shape.batch; ++i)
    gemm.multiply(dtype_of<T>, one, a.data() + i * shape.a_stride, b.data() + i * shape.b_stride,
                  beta, expected.data() + i * shape.m * shape.n, kQueue);
  gemm.multiply(dtype_of<T>, shape, a.data(), b.data(), beta, found.data(), kQueue);
  return same_bits(found, expected);
}

}  // namespace

TEMPLATE_TEST_CASE("a batch is its products one by one", "", float, double) {
  std::vector<cpu::CpuGemm*> libraries = {&cpu::eigen_gemm()};
  if (cpu::blas_gemm() != nullptr) libraries.push_back(cpu::blas_gemm());
  for (cpu::CpuGemm* gemm : libraries)
    for (const std::int64_t batch : {0, 1, 5})
      for (const std::int64_t k : {0, 1, 7})
        for (const int repeated : {0, 1, 2})  // none, a, b
          for (const bool transposed : {false, true})
            for (const double beta : {0.0, 1.0, -0.5}) {
              INFO(batch << " products, k " << k << ", repeated " << repeated << ", transposed "
                         << transposed << ", beta " << beta);
              const GemmShape shape{.transpose_a = transposed,
                                    .transpose_b = !transposed,
                                    .m = 3,
                                    .n = 4,
                                    .k = k,
                                    .batch = batch,
                                    .a_stride = repeated == 1 ? 0 : 3 * k,
                                    .b_stride = repeated == 2 ? 0 : 4 * k};
              CHECK(right_batch<TestType>(*gemm, shape, beta));
            }
}
