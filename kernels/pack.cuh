// Several elements in one access of up to 16 bytes.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

namespace lockstep::kernels {

template <class T, int kCount>
struct alignas(sizeof(T) * kCount) Pack {
  T values[kCount];
};

/// Elements in 16 bytes.
template <class T>
inline constexpr int kPackWidth = 16 / static_cast<int>(sizeof(T));

template <int kCount, class T>
__device__ __forceinline__ Pack<T, kCount> load(const T* from) {
  return *reinterpret_cast<const Pack<T, kCount>*>(from);
}

template <int kCount, class T>
__device__ __forceinline__ void store(T* to, const Pack<T, kCount>& pack) {
  *reinterpret_cast<Pack<T, kCount>*>(to) = pack;
}

/// Whether packs of `bytes` may be read at all of the addresses; null pointers do not count.
template <class... Pointers>
bool are_aligned(std::uintptr_t bytes, const Pointers*... pointers) {
  return ((reinterpret_cast<std::uintptr_t>(pointers) % bytes == 0) && ...);
}

}  // namespace lockstep::kernels
