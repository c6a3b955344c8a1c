// Batches of matrix products against sums written out, and what cuBLASLt refuses of them.
#include "emulation/tests/cublaslt.hpp"

using namespace emulated_test;

namespace {

constexpr std::int64_t kM = 3;
constexpr std::int64_t kN = 4;
constexpr std::int64_t kK = 5;
constexpr std::int64_t kBatch = 6;

struct Strides {
  std::int64_t a = kM * kK;
  std::int64_t b = kK * kN;
  std::int64_t d = kM * kN;
};

struct Batch {
  explicit Batch(const Strides& given, std::int32_t count = kBatch) : strides(given) {
    const std::pair<Layout*, std::int64_t> layouts[] = {
        {&a_layout, given.a}, {&b_layout, given.b}, {&d_layout, given.d}};
    for (const auto& [layout, stride] : layouts) {
      layout->set(CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, count);
      layout->set(CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, stride);
    }
  }

  cublasStatus_t run(float alpha, float beta, cudaStream_t stream) {
    return cublasLtMatmul(handle.handle, description.handle, &alpha, a.data(), a_layout.handle,
                          b.data(), b_layout.handle, &beta, d.data(), d_layout.handle, d.data(),
                          d_layout.handle, nullptr, nullptr, 0, stream);
  }

  /// Of the product `index` of the batch, by columns.
  double expected(std::int64_t index, std::int64_t row, std::int64_t column, double alpha,
                  double beta) const {
    double sum = 0;
    for (std::int64_t i = 0; i < kK; ++i)
      sum += number(index * strides.a + i * kM + row) * number(index * strides.b + column * kK + i);
    return alpha * sum + beta * number(index * strides.d + column * kM + row);
  }

  Strides strides;
  Handle handle;
  Buffer<float> a{numbers<float>(kBatch * (kM * kK + 1))};
  Buffer<float> b{numbers<float>(kBatch * (kK * kN + 1))};
  Buffer<float> d{numbers<float>(kBatch * (kM * kN + 2))};
  Description description{CUBLAS_COMPUTE_32F};
  Layout a_layout{CUDA_R_32F, kM, kK, kM};
  Layout b_layout{CUDA_R_32F, kK, kN, kK};
  Layout d_layout{CUDA_R_32F, kM, kN, kM};
};

}  // namespace

TEST_CASE("each product of a batch has its own operands, or one of them is the same for all") {
  emulation::reset();
  for (const Strides& strides :
       {Strides{}, Strides{.a = 0}, Strides{.b = 0}, Strides{.a = kM * kK + 1, .d = kM * kN + 2}}) {
    INFO(strides.a << " " << strides.b << " " << strides.d);
    Stream stream;
    Batch batch(strides);
    check(batch.run(2, 3, stream));
    const std::vector<float> got = batch.d.values(stream);
    bool right = true;
    for (std::int64_t index = 0; index < kBatch; ++index)
      for (std::int64_t column = 0; column < kN; ++column)
        for (std::int64_t row = 0; row < kM; ++row)
          right = right && got[static_cast<std::size_t>(index * strides.d + column * kM + row)] ==
                               static_cast<float>(batch.expected(index, row, column, 2, 3));
    CHECK(right);
  }
}

TEST_CASE("a batch of results that overlap, reach too far, or are too many is refused") {
  emulation::reset();
  Stream stream;
  CHECK(Batch(Strides{.d = 0}).run(1, 0, stream) == CUBLAS_STATUS_INVALID_VALUE);
  CHECK(Batch(Strides{.d = kM * kN - 1}).run(1, 0, stream) == CUBLAS_STATUS_INVALID_VALUE);
  CHECK(Batch(Strides{.a = kM * kK + 4}).run(1, 0, stream) == CUBLAS_STATUS_EXECUTION_FAILED);
  CHECK(Batch(Strides{}, 0).run(1, 0, stream) == CUBLAS_STATUS_INVALID_VALUE);
  CHECK(Batch(Strides{}, 65536).run(1, 0, stream) == CUBLAS_STATUS_NOT_SUPPORTED);
  Batch uneven(Strides{});
  uneven.a_layout.set(CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, std::int32_t{2});
  CHECK(uneven.run(1, 0, stream) == CUBLAS_STATUS_INVALID_VALUE);
}
