// The product where there is no BLAS: column by column, the inner loop over contiguous rows.
#include <algorithm>
#include <vector>

#include "emulation/src/cublaslt/product.hpp"

namespace emulation {
namespace {

template <typename T>
std::vector<T> transposed(const PlainProduct& sizes, const T* a) {
  std::vector<T> result(static_cast<std::size_t>(sizes.m * sizes.k));
  for (std::int64_t row = 0; row < sizes.m; ++row) {
    for (std::int64_t i = 0; i < sizes.k; ++i) {
      result[static_cast<std::size_t>(i * sizes.m + row)] = a[row * sizes.a_step + i];
    }
  }
  return result;
}

template <typename T>
void multiply_columns(const PlainProduct& sizes, const T* a, const T* b, T* c) {
  std::vector<T> other;
  std::int64_t a_step = sizes.a_step;
  if (sizes.transpose_a) {
    other = transposed(sizes, a);
    a = other.data();
    a_step = sizes.m;
  }
  for (std::int64_t column = 0; column < sizes.n; ++column) {
    T* to = c + column * sizes.m;
    std::fill(to, to + sizes.m, T{0});
    for (std::int64_t i = 0; i < sizes.k; ++i) {
      const T factor =
          sizes.transpose_b ? b[i * sizes.b_step + column] : b[column * sizes.b_step + i];
      const T* from = a + i * a_step;
      for (std::int64_t row = 0; row < sizes.m; ++row) to[row] += from[row] * factor;
    }
  }
}

}  // namespace

void multiply(const PlainProduct& sizes, const float* a, const float* b, float* c) {
  multiply_columns(sizes, a, b, c);
}

void multiply(const PlainProduct& sizes, const double* a, const double* b, double* c) {
  multiply_columns(sizes, a, b, c);
}

}  // namespace emulation
