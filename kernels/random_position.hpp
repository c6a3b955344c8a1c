// A place in a stream of random numbers.
#pragma once

#include "kernels/type.hpp"

namespace lockstep::kernels {

struct RandomPosition {
  std::uint64_t seed = 0;
  std::uint64_t stream = 0;
  std::uint64_t offset = 0;  // in blocks of 4 words
};

}  // namespace lockstep::kernels
