// Where a number was measured.
#pragma once

#include <nlohmann/json.hpp>

namespace bench {

/// CPU model, cores of the machine and of this process, compiler, build type, BLAS, load.
nlohmann::ordered_json machine();

}  // namespace bench
