#pragma once

namespace common {

/// Whether standard output ends at a terminal, directly or through mpirun on the same host.
bool output_is_terminal();

}  // namespace common
