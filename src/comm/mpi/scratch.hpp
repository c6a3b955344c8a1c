// Host memory of one operation, from the caching allocator.
#pragma once

#include <cstdint>

#include "backend/backend.hpp"

namespace lockstep::inline v0::detail::mpi {

class Scratch {
 public:
  explicit Scratch(std::int64_t byte_count)
      : byte_count_(byte_count), data_(memory().allocate(byte_count, {})) {}
  ~Scratch() { memory().release(data_, byte_count_, {}); }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  char* data() const noexcept { return static_cast<char*>(data_); }

 private:
  static backend::Memory& memory() { return backend::backend_for(Device::cpu()).memory; }

  std::int64_t byte_count_;
  void* data_;
};

}  // namespace lockstep::inline v0::detail::mpi
