// From lockstep's dtypes and structs to those of the kernels, which know nothing of lockstep.
#pragma once

#include <lockstep/core/dtype.hpp>
#include "backend/random.hpp"
#include "kernels/random.hpp"
#include "kernels/type.hpp"

namespace lockstep::inline v0::backend::cuda {

constexpr kernels::Type type_of(DType dtype) noexcept { return static_cast<kernels::Type>(dtype); }

static_assert(type_of(DType::float32) == kernels::Type::float32);
static_assert(type_of(DType::float64) == kernels::Type::float64);
static_assert(type_of(DType::bfloat16) == kernels::Type::bfloat16);
static_assert(type_of(DType::float16) == kernels::Type::float16);
static_assert(type_of(DType::int64) == kernels::Type::int64);
static_assert(type_of(DType::int32) == kernels::Type::int32);
static_assert(type_of(DType::uint8) == kernels::Type::uint8);

inline kernels::RandomPosition position_of(const RandomPosition& position) noexcept {
  return {position.seed, position.stream, position.offset};
}

}  // namespace lockstep::inline v0::backend::cuda
