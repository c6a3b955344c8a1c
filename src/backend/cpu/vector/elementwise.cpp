// Elementwise arithmetic.
#include "backend/cpu/vector/tables.hpp"

namespace lockstep::inline v0::backend::cpu::LOCKSTEP_VARIANT {
namespace {

struct Add {
  template <class T>
  [[gnu::always_inline]] static T apply(T a, T b) {
    return a + b;
  }
};
struct Sub {
  template <class T>
  [[gnu::always_inline]] static T apply(T a, T b) {
    return a - b;
  }
};
struct Mul {
  template <class T>
  [[gnu::always_inline]] static T apply(T a, T b) {
    return a * b;
  }
};
struct Div {
  template <class T>
  [[gnu::always_inline]] static T apply(T a, T b) {
    return a / b;
  }
};

/// The usual strides have loops of their own, so that they are vectorized.
template <class Operation, class T>
void binary(const T* a, std::int64_t a_stride, const T* b, std::int64_t b_stride, T* result,
            std::int64_t count) {
  if (a_stride == 1 && b_stride == 1) {
    LOCKSTEP_INDEPENDENT
    for (std::int64_t i = 0; i < count; ++i) result[i] = Operation::apply(a[i], b[i]);
  } else if (a_stride == 1 && b_stride == 0 && count > 0) {
    const T scalar = *b;
    LOCKSTEP_INDEPENDENT
    for (std::int64_t i = 0; i < count; ++i) result[i] = Operation::apply(a[i], scalar);
  } else if (a_stride == 0 && b_stride == 1 && count > 0) {
    const T scalar = *a;
    LOCKSTEP_INDEPENDENT
    for (std::int64_t i = 0; i < count; ++i) result[i] = Operation::apply(scalar, b[i]);
  } else {
    for (std::int64_t i = 0; i < count; ++i)
      result[i] = Operation::apply(a[i * a_stride], b[i * b_stride]);
  }
}

template <class T>
void affine(const T* x, T alpha, T beta, T* result, std::int64_t count) {
  LOCKSTEP_INDEPENDENT
  for (std::int64_t i = 0; i < count; ++i) result[i] = alpha * x[i] + beta;
}

template <class T>
void add_scaled(T alpha, const T* x, T* y, std::int64_t count) {
  LOCKSTEP_INDEPENDENT
  for (std::int64_t i = 0; i < count; ++i) y[i] += alpha * x[i];
}

template <class T>
void scale(T alpha, T* y, std::int64_t count) {
  LOCKSTEP_INDEPENDENT
  for (std::int64_t i = 0; i < count; ++i) y[i] *= alpha;
}

template <class T>
void scaled_difference(const T* a, const T* b, T factor, T* result, std::int64_t count) {
  LOCKSTEP_INDEPENDENT
  for (std::int64_t i = 0; i < count; ++i) result[i] = factor * (a[i] - b[i]);
}

}  // namespace

const ElementwiseKernels<float> kElementwise32 = {
    {binary<Add, float>, binary<Sub, float>, binary<Mul, float>, binary<Div, float>},
    affine<float>,
    add_scaled<float>,
    scale<float>,
    scaled_difference<float>};
const ElementwiseKernels<double> kElementwise64 = {
    {binary<Add, double>, binary<Sub, double>, binary<Mul, double>, binary<Div, double>},
    affine<double>,
    add_scaled<double>,
    scale<double>,
    scaled_difference<double>};

}  // namespace lockstep::inline v0::backend::cpu::LOCKSTEP_VARIANT
