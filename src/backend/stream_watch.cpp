#include "backend/stream_watch.hpp"

#include <chrono>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace lockstep::inline v0::backend {
namespace {

struct Watches {
  std::mutex mutex;
  std::map<int, std::shared_ptr<const WatchCheck>> checks;
  int next_number = 0;
};

// Never destroyed: static objects of the program may still wait.
Watches& watches() {
  static auto* instance = new Watches;
  return *instance;
}

}  // namespace

int register_watch(WatchCheck check) {
  auto kept = std::make_shared<const WatchCheck>(std::move(check));
  Watches& all = watches();
  const std::lock_guard lock(all.mutex);
  all.checks.emplace(all.next_number, std::move(kept));
  return all.next_number++;
}

void unregister_watch(int number) noexcept {
  Watches& all = watches();
  const std::lock_guard lock(all.mutex);
  all.checks.erase(number);
}

void check_watches() {
  std::vector<std::shared_ptr<const WatchCheck>> checks;
  {
    // A check may take locks of its own, so none is held while it runs.
    Watches& all = watches();
    const std::lock_guard lock(all.mutex);
    for (const auto& [number, check] : all.checks) checks.push_back(check);
  }
  for (const auto& check : checks) (*check)();
}

void wait_watched(const std::function<bool()>& finished) {
  using Clock = std::chrono::steady_clock;
  constexpr auto kSpin = std::chrono::microseconds{200};  // most reads of a loss end within this
  constexpr auto kSleep = std::chrono::microseconds{20};
  const auto begin = Clock::now();
  while (!finished()) {
    if (Clock::now() - begin < kSpin) continue;
    check_watches();
    std::this_thread::sleep_for(kSleep);
  }
  check_watches();
}

}  // namespace lockstep::inline v0::backend
