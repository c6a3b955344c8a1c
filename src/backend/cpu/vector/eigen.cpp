// Matrix products by Eigen. Compiled with -DEigen=<a name of its own>, so that neither the variants
// nor the program's own Eigen share symbols, and optimized in every configuration, so that nothing
// of the standard library is left as a function that other files would share.
#include "backend/cpu/vector/tables.hpp"

#include <Eigen/Core>

namespace lockstep::inline v0::backend::cpu::LOCKSTEP_VARIANT {
namespace {

template <class T, int kOrder>
using Matrix = Eigen::Map<const Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic, kOrder>>;

template <class T, class A, class B>
void product(const ProductShape& shape, const A& a, const B& b, T beta, T* c) {
  Eigen::Map<Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>> result(c, shape.m,
                                                                                       shape.n);
  if (beta == T{0}) {
    result.noalias() = a * b;
    return;
  }
  if (beta != T{1}) result *= beta;
  result.noalias() += a * b;
}

// A transposed operand is the same memory read in the other order.
template <class T, class A>
void with_a(const ProductShape& shape, const A& a, const T* b, T beta, T* c) {
  if (shape.transpose_b)
    product(shape, a, Matrix<T, Eigen::ColMajor>(b, shape.k, shape.n), beta, c);
  else
    product(shape, a, Matrix<T, Eigen::RowMajor>(b, shape.k, shape.n), beta, c);
}

template <class T>
void multiply(const ProductShape& shape, const T* a, const T* b, T beta, T* c) {
  if (shape.transpose_a)
    with_a(shape, Matrix<T, Eigen::ColMajor>(a, shape.m, shape.k), b, beta, c);
  else
    with_a(shape, Matrix<T, Eigen::RowMajor>(a, shape.m, shape.k), b, beta, c);
}

}  // namespace

const EigenKernels<float> kEigen32 = {multiply<float>};
const EigenKernels<double> kEigen64 = {multiply<double>};

}  // namespace lockstep::inline v0::backend::cpu::LOCKSTEP_VARIANT
