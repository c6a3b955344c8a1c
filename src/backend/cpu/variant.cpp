#include "backend/cpu/variant.hpp"

#include <atomic>
#include <cstdlib>
#include <string>
#include <string_view>

#include <lockstep/core/error.hpp>
#include "backend/backend.hpp"

namespace lockstep::inline v0::backend {
namespace cpu {
namespace {

std::atomic<const Kernels*> chosen{nullptr};

int rank_of(std::string_view name) {
  constexpr std::string_view kNames[] = {"baseline", "avx2", "avx512"};
  for (int rank = 0; rank < 3; ++rank)
    if (kNames[rank] == name) return rank;
  throw InvalidUsage("[cpu] LOCKSTEP_CPU_VARIANT is \"" + std::string(name) +
                     "\"; it may be baseline, avx2 or avx512");
}

const Kernels* choose() {
  const auto variants = usable_variants();
  const char* wish = std::getenv("LOCKSTEP_CPU_VARIANT");
  if (wish == nullptr || *wish == '\0') return variants.back();
  const int limit = rank_of(wish);
  const Kernels* best = variants.front();
  for (const Kernels* variant : variants)
    if (rank_of(variant->variant) <= limit) best = variant;
  return best;
}

}  // namespace

const Kernels& kernels() {
  const Kernels* current = chosen.load(std::memory_order_acquire);
  if (current == nullptr) {
    current = choose();  // several threads choose the same
    chosen.store(current, std::memory_order_release);
  }
  return *current;
}

void use_variant(const Kernels& kernels) { chosen.store(&kernels, std::memory_order_release); }

}  // namespace cpu

const char* cpu_variant() { return cpu::kernels().variant; }

}  // namespace lockstep::inline v0::backend
