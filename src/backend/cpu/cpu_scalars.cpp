#include "backend/cpu/cpu_scalars.hpp"

#include <cmath>

#include "backend/backend.hpp"
#include "backend/cpu/dispatch.hpp"

namespace lockstep::inline v0::backend::cpu {

void CpuScalars::quotient(DType dtype, const void* word, double numerator, double* result, Queue) {
  with_float_type("quotient", dtype, [&]<class T>(Type<T>) {
    const double divisor = *static_cast<const T*>(word);
    *result = divisor == 0 ? 0 : numerator / divisor;
  });
}

void CpuScalars::clip(const ClipInput& input, double* norm, double* clipped, Queue) {
  const double factor = input.factor != nullptr ? *input.factor : 1;
  *norm = std::sqrt(*input.sum_of_squares) * std::fabs(input.host_factor * factor);
  const double ratio = input.max_norm / (*norm + 1e-6);
  *clipped = ratio >= 1 ? factor : factor * ratio;
}

void CpuScalars::scale(DType dtype, const double* factor, void* y, std::int64_t count,
                       Queue queue) {
  cpu_backend().elementwise.scale(dtype, *factor, y, count, queue);
}

void CpuScalars::report_unequal(DType dtype, const void* word, double expected, Problem problem,
                                Queue) {
  with_float_type("report_unequal", dtype, [&]<class T>(Type<T>) {
    if (static_cast<double>(*static_cast<const T*>(word)) != expected)
      throw InvalidUsage(text_of(problem));
  });
}

void CpuScalars::flag_non_finite(DType dtype, const void* x, std::int64_t count, std::int32_t* flag,
                                 Queue) {
  with_float_type("flag_non_finite", dtype, [&]<class T>(Type<T>) {
    const T* values = static_cast<const T*>(x);
    for (std::int64_t i = 0; i < count; ++i)
      if (!std::isfinite(values[i])) {
        *flag = 1;
        return;
      }
  });
}

}  // namespace lockstep::inline v0::backend::cpu
