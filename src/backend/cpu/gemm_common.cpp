#include <cstddef>
#include <cstring>

#include "backend/backend.hpp"
#include "backend/cpu/dispatch.hpp"
#include "backend/cpu/gemm_libraries.hpp"
#include "backend/cpu/variant.hpp"

namespace lockstep::inline v0::backend::cpu {

namespace {

/// c *= beta: products over nothing.
void scale_result(DType dtype, std::int64_t count, double beta, void* c) {
  with_float_type("gemm", dtype, [&]<class T>(Type<T>) {
    if (beta == 0)  // c may hold anything, a NaN too
      std::memset(c, 0, static_cast<std::size_t>(count) * sizeof(T));
    else
      kernels_for<T>().elementwise->scale(static_cast<T>(beta), static_cast<T*>(c), count);
  });
}

}  // namespace

void CpuGemm::multiply(DType dtype, const GemmShape& shape, const void* a, const void* b,
                       double beta, void* c, Queue) {
  const std::int64_t count = shape.m * shape.n;
  if (count == 0 || shape.batch == 0) return;
  if (shape.k == 0) return scale_result(dtype, shape.batch * count, beta, c);
  const std::int64_t element = byte_size(dtype);
  for (std::int64_t i = 0; i < shape.batch; ++i)
    multiply_one(dtype, shape, static_cast<const std::byte*>(a) + i * shape.a_stride * element,
                 static_cast<const std::byte*>(b) + i * shape.b_stride * element, beta,
                 static_cast<std::byte*>(c) + i * count * element);
}

void CpuGemm::linear(DType dtype, std::int64_t rows, std::int64_t in, std::int64_t out,
                     const void* x, const void* weight, const void* bias, void* y, Queue queue) {
  multiply(dtype, {.transpose_b = true, .m = rows, .n = out, .k = in}, x, weight, 0, y, queue);
  if (bias == nullptr || rows == 0 || out == 0) return;
  // Behind the finished sums, as every backend does it.
  const Broadcast rows_of_bias{
      .axes = 2, .sizes = {rows, out}, .a_strides = {out, 1}, .b_strides = {0, 1}};
  cpu_backend().elementwise.binary(BinaryOperation::add, dtype, rows_of_bias, y, bias, y, queue);
}

void CpuGemm::linear_gradients(DType dtype, const LinearShape& shape,
                               const LinearGradients& operands, Queue queue) {
  const auto& [rows, in, out] = shape;
  if (operands.bias != nullptr)
    cpu_backend().reduction.sum(dtype, operands.gradient, 1, rows, out, 1.0,
                                operands.accumulate_bias, operands.bias, queue);
  multiply(dtype, {.transpose_a = true, .m = out, .n = in, .k = rows}, operands.gradient,
           operands.x, operands.accumulate_weight ? 1.0 : 0.0, operands.weight, queue);
}

}  // namespace lockstep::inline v0::backend::cpu
