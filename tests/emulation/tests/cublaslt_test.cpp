// Matrix products against sums written out, and what cuBLASLt refuses.
#include <cmath>

#include "emulation/tests/cublaslt.hpp"

using namespace emulated_test;

namespace {

constexpr std::int64_t kM = 5;
constexpr std::int64_t kN = 7;
constexpr std::int64_t kK = 6;

struct Case {
  bool transpose_a = false;
  bool transpose_b = false;
  bool by_rows = false;
  int epilogue = CUBLASLT_EPILOGUE_DEFAULT;
  double alpha = 2;
  double beta = 3;
};

std::int64_t at(bool by_rows, std::int64_t rows, std::int64_t columns, std::int64_t row,
                std::int64_t column) {
  return by_rows ? row * columns + column : column * rows + row;
}

double a_at(const Case& c, std::int64_t row, std::int64_t i) {
  return number(c.transpose_a ? at(c.by_rows, kK, kM, i, row) : at(c.by_rows, kM, kK, row, i));
}
double b_at(const Case& c, std::int64_t i, std::int64_t column) {
  return number(c.transpose_b ? at(c.by_rows, kN, kK, column, i)
                              : at(c.by_rows, kK, kN, i, column));
}

std::vector<double> expected(const Case& c) {
  std::vector<double> result(kM * kN);
  for (std::int64_t row = 0; row < kM; ++row) {
    for (std::int64_t column = 0; column < kN; ++column) {
      double sum = 0;
      for (std::int64_t i = 0; i < kK; ++i) sum += a_at(c, row, i) * b_at(c, i, column);
      const std::int64_t index = at(c.by_rows, kM, kN, row, column);
      double value = c.alpha * sum + c.beta * number(index);
      if ((c.epilogue & CUBLASLT_EPILOGUE_BIAS) != 0) value += number(row);
      if ((c.epilogue & CUBLASLT_EPILOGUE_RELU) != 0) value = std::max(value, 0.0);
      if ((c.epilogue & CUBLASLT_EPILOGUE_GELU) != 0) {
        const double inner = std::sqrt(2 / M_PI) * (value + 0.044715 * value * value * value);
        value = 0.5 * value * (1 + std::tanh(inner));
      }
      result[static_cast<std::size_t>(index)] = value;
    }
  }
  return result;
}

// Of A (kM x kK), B and C = D in device memory, with numbers; the bias holds kN of them.
template <typename T>
struct Problem {
  Problem(const Case& c, cublasComputeType_t compute)
      : description(compute, sizeof(T) == 8 ? CUDA_R_64F : CUDA_R_32F),
        a_layout(kType<T>, static_cast<std::uint64_t>(c.transpose_a ? kK : kM),
                 static_cast<std::uint64_t>(c.transpose_a ? kM : kK),
                 c.transpose_a != c.by_rows ? kK : kM),
        b_layout(kType<T>, static_cast<std::uint64_t>(c.transpose_b ? kN : kK),
                 static_cast<std::uint64_t>(c.transpose_b ? kK : kN),
                 c.transpose_b != c.by_rows ? kN : kK),
        d_layout(kType<T>, kM, kN, c.by_rows ? kN : kM) {
    description.set(CUBLASLT_MATMUL_DESC_TRANSA,
                    std::int32_t{c.transpose_a ? CUBLAS_OP_T : CUBLAS_OP_N});
    description.set(CUBLASLT_MATMUL_DESC_TRANSB,
                    std::int32_t{c.transpose_b ? CUBLAS_OP_T : CUBLAS_OP_N});
    description.set(CUBLASLT_MATMUL_DESC_EPILOGUE, static_cast<std::uint32_t>(c.epilogue));
    description.set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, static_cast<void*>(bias.data()));
    for (Layout* layout : {&a_layout, &b_layout, &d_layout}) {
      layout->set(CUBLASLT_MATRIX_LAYOUT_ORDER,
                  std::int32_t{c.by_rows ? CUBLASLT_ORDER_ROW : CUBLASLT_ORDER_COL});
    }
  }

  cublasStatus_t run(double alpha, double beta, cudaStream_t stream) {
    using Scale = std::conditional_t<sizeof(T) == 8, double, float>;
    const auto alpha_value = static_cast<Scale>(alpha);
    const auto beta_value = static_cast<Scale>(beta);
    return cublasLtMatmul(handle.handle, description.handle, &alpha_value, a.data(),
                          a_layout.handle, b.data(), b_layout.handle, &beta_value, d.data(),
                          d_layout.handle, d.data(), d_layout.handle, nullptr, nullptr, 0, stream);
  }

  Handle handle;
  Buffer<T> a{numbers<T>(kM * kK)};
  Buffer<T> b{numbers<T>(kK * kN)};
  Buffer<T> d{numbers<T>(kM * kN)};
  Buffer<T> bias{numbers<T>(kN)};
  Description description;
  Layout a_layout;
  Layout b_layout;
  Layout d_layout;
};

template <typename T>
void check_case(const Case& c, cublasComputeType_t compute, double tolerance = 0) {
  Stream stream;
  Problem<T> problem(c, compute);
  check(problem.run(c.alpha, c.beta, stream));
  const std::vector<T> got = problem.d.values(stream);
  const std::vector<double> want = expected(c);
  for (std::size_t i = 0; i < want.size(); ++i) {
    const double rounded = static_cast<double>(static_cast<T>(want[i]));
    CHECK(std::fabs(static_cast<double>(got[i]) - rounded) <= tolerance);
  }
}

}  // namespace

TEST_CASE("products of all types, orders and transpositions") {
  emulation::reset();
  for (int bits = 0; bits < 8; ++bits) {
    const Case c{(bits & 1) != 0, (bits & 2) != 0, (bits & 4) != 0};
    check_case<float>(c, CUBLAS_COMPUTE_32F);
    check_case<float>(c, CUBLAS_COMPUTE_32F_FAST_TF32);
    check_case<double>(c, CUBLAS_COMPUTE_64F);
    check_case<__nv_bfloat16>(c, CUBLAS_COMPUTE_32F);
    check_case<__half>(c, CUBLAS_COMPUTE_32F);
  }
}

TEST_CASE("epilogues") {
  emulation::reset();
  for (const int epilogue :
       {CUBLASLT_EPILOGUE_RELU, CUBLASLT_EPILOGUE_BIAS, CUBLASLT_EPILOGUE_RELU_BIAS,
        CUBLASLT_EPILOGUE_GELU, CUBLASLT_EPILOGUE_GELU_BIAS}) {
    const Case c{false, false, false, epilogue, 0.01, 0.1};
    check_case<float>(c, CUBLAS_COMPUTE_32F, 1e-6);
  }
}

TEST_CASE("gradients of the bias are sums over what the product sums over") {
  emulation::reset();
  Stream stream;
  for (const bool transpose : {false, true}) {
    Case c{transpose, transpose, false, CUBLASLT_EPILOGUE_BGRADA, 1, 0};
    Problem<float> of_a(c, CUBLAS_COMPUTE_32F);
    check(of_a.run(1, 0, stream));
    c.epilogue = CUBLASLT_EPILOGUE_BGRADB;
    Problem<float> of_b(c, CUBLAS_COMPUTE_32F);
    check(of_b.run(1, 0, stream));
    for (std::int64_t index = 0; index < kN; ++index) {
      double a_sum = 0;
      double b_sum = 0;
      for (std::int64_t i = 0; i < kK; ++i) {
        if (index < kM) a_sum += a_at(c, index, i);
        b_sum += b_at(c, i, index);
      }
      const auto at_index = static_cast<std::size_t>(index);
      if (index < kM) CHECK(static_cast<double>(of_a.bias.values(stream)[at_index]) == a_sum);
      CHECK(static_cast<double>(of_b.bias.values(stream)[at_index]) == b_sum);
    }
  }
}

TEST_CASE("TF32 keeps ten bits of the inputs") {
  emulation::reset();
  Stream stream;
  Handle handle;
  const Layout one(CUDA_R_32F, 1, 1, 1);
  const Buffer<float> a(std::vector<float>{1 + 0x1p-11f + 0x1p-20f});
  const Buffer<float> b(std::vector<float>{1.0f});
  const Buffer<float> d(1);
  const float alpha = 1;
  const float beta = 0;
  const auto product = [&](cublasComputeType_t compute) {
    const Description description(compute);
    check(cublasLtMatmul(handle.handle, description.handle, &alpha, a.data(), one.handle, b.data(),
                         one.handle, &beta, d.data(), one.handle, d.data(), one.handle, nullptr,
                         nullptr, 0, stream));
    return d.values(stream).front();
  };
  CHECK(product(CUBLAS_COMPUTE_32F) == 1 + 0x1p-11f + 0x1p-20f);
  CHECK(product(CUBLAS_COMPUTE_32F_FAST_TF32) == 1 + 0x1p-10f);
}

TEST_CASE("factors may lie on the device, and are read when the product runs") {
  emulation::reset();
  Stream stream;
  const Case c{false, false, false, CUBLASLT_EPILOGUE_DEFAULT, 2, 3};
  Problem<float> problem(c, CUBLAS_COMPUTE_32F);
  problem.description.set(CUBLASLT_MATMUL_DESC_POINTER_MODE,
                          std::int32_t{CUBLASLT_POINTER_MODE_DEVICE});
  CHECK(problem.run(2, 3, stream) == CUBLAS_STATUS_EXECUTION_FAILED);  // host factors
  Buffer<float> factors(2);
  const std::vector<float> values{2, 3};
  check(cudaMemcpyAsync(factors.data(), values.data(), 8, cudaMemcpyHostToDevice, stream));
  check(cublasLtMatmul(problem.handle.handle, problem.description.handle, factors.data(),
                       problem.a.data(), problem.a_layout.handle, problem.b.data(),
                       problem.b_layout.handle, factors.data() + 1, problem.d.data(),
                       problem.d_layout.handle, problem.d.data(), problem.d_layout.handle, nullptr,
                       nullptr, 0, stream));
  const std::vector<double> want = expected(c);
  const std::vector<float> got = problem.d.values(stream);
  CHECK(std::equal(want.begin(), want.end(), got.begin()));
}

TEST_CASE("what does not fit together or is not supported is refused") {
  emulation::reset();
  Stream stream;
  Problem<double> wide({}, CUBLAS_COMPUTE_64F);
  wide.description.set(CUBLASLT_MATMUL_DESC_EPILOGUE, std::uint32_t{CUBLASLT_EPILOGUE_BIAS});
  CHECK(wide.run(1, 0, stream) == CUBLAS_STATUS_NOT_SUPPORTED);
  Problem<float> problem({}, CUBLAS_COMPUTE_32F);
  problem.a_layout.set(CUBLASLT_MATRIX_LAYOUT_LD, kM - 1);
  CHECK(problem.run(1, 0, stream) == CUBLAS_STATUS_INVALID_VALUE);
  problem.a_layout.set(CUBLASLT_MATRIX_LAYOUT_LD, kM + 1);  // reaches beyond the memory
  CHECK(problem.run(1, 0, stream) == CUBLAS_STATUS_EXECUTION_FAILED);
  problem.a_layout.set(CUBLASLT_MATRIX_LAYOUT_LD, kM);
  problem.a_layout.set(CUBLASLT_MATRIX_LAYOUT_COLS, std::uint64_t{3});
  CHECK(problem.run(1, 0, stream) == CUBLAS_STATUS_INVALID_VALUE);
}

TEST_CASE("an algorithm is bound to the alignment and workspace it was chosen for") {
  emulation::reset();
  Stream stream;
  Handle handle;
  constexpr std::int64_t kLong = 1024;
  const Layout row(CUDA_R_32F, 4, kLong, 4);
  const Layout column(CUDA_R_32F, kLong, 4, kLong);
  const Layout square(CUDA_R_32F, 4, 4, 4);
  const Description description(CUBLAS_COMPUTE_32F);
  cublasLtMatmulPreference_t preference = nullptr;
  check(cublasLtMatmulPreferenceCreate(&preference));
  const std::uint64_t limit = 1 << 20;
  check(cublasLtMatmulPreferenceSetAttribute(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES,
                                             &limit, sizeof limit));
  cublasLtMatmulHeuristicResult_t found{};
  const auto choose = [&] {
    int count = 0;
    check(cublasLtMatmulAlgoGetHeuristic(handle.handle, description.handle, row.handle,
                                         column.handle, square.handle, square.handle, preference, 1,
                                         &found, &count));
    REQUIRE(count == 1);
  };
  const Buffer<float> a(4 * kLong + 1);
  const Buffer<float> b(4 * kLong);
  const Buffer<float> d(16);
  const Buffer<char> workspace(limit);
  const float alpha = 1;
  const float beta = 0;
  const auto run = [&](int offset, std::size_t bytes) {
    return cublasLtMatmul(handle.handle, description.handle, &alpha, a.data() + offset, row.handle,
                          b.data(), column.handle, &beta, d.data(), square.handle, d.data(),
                          square.handle, &found.algo, workspace.data(), bytes, stream);
  };
  choose();
  CHECK(found.workspaceSize > 0);
  CHECK(run(0, found.workspaceSize) == CUBLAS_STATUS_SUCCESS);
  CHECK(run(0, found.workspaceSize - 1) == CUBLAS_STATUS_INVALID_VALUE);
  CHECK(run(1, found.workspaceSize) == CUBLAS_STATUS_NOT_SUPPORTED);
  const std::uint32_t alignment = 4;
  check(cublasLtMatmulPreferenceSetAttribute(preference, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES,
                                             &alignment, sizeof alignment));
  choose();
  CHECK(run(1, found.workspaceSize) == CUBLAS_STATUS_SUCCESS);
  check(cublasLtMatmulPreferenceDestroy(preference));
}

TEST_CASE("handles of cuBLASLt are counted, and its calls fail on demand") {
  emulation::reset();
  const std::int64_t before = emulation::live_objects().handles;
  {
    Stream stream;
    Problem<float> problem({}, CUBLAS_COMPUTE_32F);
    CHECK(emulation::live_objects().handles == before + 5);
    emulation::fail_call("cublasLtMatmul", 1, CUBLAS_STATUS_EXECUTION_FAILED);
    CHECK(problem.run(1, 0, stream) == CUBLAS_STATUS_EXECUTION_FAILED);
    check(problem.run(1, 0, stream));
    CHECK(emulation::call_count("cublasLtMatmul") == 2);
  }
  CHECK(emulation::live_objects().handles == before);
}
