// The memory of __shared__ variables.
#pragma once

namespace emulation {

// Fills it with bytes of all ones, as a block finds it. __shared__ puts each variable into an ELF
// section of its own, and these are found by their names in the files of the program. (GCC ignores
// the section of a variable in a template: that one keeps what the block before left there.)
void poison_shared_memory();

}  // namespace emulation
