#include "emulation/src/block.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <numeric>
#include <vector>

#include "emulated_launch.hpp"
#include "emulation/src/fiber.hpp"
#include "emulation/src/shared_memory.hpp"
#include "emulation/src/state.hpp"

uint3 threadIdx;
uint3 blockIdx;
dim3 blockDim;
dim3 gridDim;

namespace emulation {
namespace {

constexpr unsigned kWarp = 32;
constexpr int kBallot = -1;  // instead of a source lane

enum class At { start, running, block_barrier, warp_barrier, end };

struct Thread {
  At at = At::start;
  Fiber* fiber = nullptr;
  unsigned mask = 0;        // at a warp barrier: the lanes that take part
  std::uint64_t value = 0;  // what it gives there
  int source = 0;           // from which lane it takes
  std::uint64_t result = 0;
};

struct Warp {  // sets of lanes
  unsigned waiting = 0;
  unsigned ended = 0;
};

// One block at a time. A fiber runs one thread after the other, and another fiber goes on only
// where a thread has to wait for others.
class Block {
 public:
  void run(dim3 grid, dim3 block, const std::function<void()>& body);
  void wait_for_block(int value);
  int sum() const { return sum_; }
  std::uint64_t exchange(unsigned mask, std::uint64_t value, int source);
  unsigned current() const { return current_; }

 private:
  void run_block();
  void run_threads();  // what a fiber does
  Fiber& idle_fiber();
  void start(unsigned index);
  void set_thread(unsigned index);
  unsigned nth(unsigned i) const;
  void note_first_barrier();
  void pause(At at);
  void thread_ended();
  void release_block_if_complete();
  void release_group_if_complete(unsigned warp, unsigned mask);
  void finish_exchange(unsigned first_lane, unsigned lanes);
  [[noreturn]] void report_deadlock() const;

  const std::function<void()>* body_ = nullptr;
  unsigned count_ = 0;  // threads of a block
  unsigned started_ = 0;
  unsigned ended_ = 0;
  unsigned arrived_ = 0;  // at the block's barrier
  unsigned current_ = 0;
  unsigned first_ = 0;  // thread number i to start is (first + i * stride) modulo count
  unsigned stride_ = 1;
  int partial_sum_ = 0;
  int sum_ = 0;
  bool had_barrier_ = false;
  Random random_;
  std::vector<Thread> threads_;
  std::vector<Warp> warps_;
  std::vector<unsigned> ready_;  // threads that may go on
  std::vector<std::unique_ptr<Fiber>> fibers_;
  std::vector<Fiber*> idle_;
  Fiber* running_ = nullptr;
};

Block& the_block() {
  static auto* block = new Block;
  return *block;
}

void Block::run(dim3 grid, dim3 block, const std::function<void()>& body) {
  {
    const Lock lock(state().mutex);
    random_ = Random(state().random.next());
  }
  gridDim = grid;
  blockDim = block;
  body_ = &body;
  count_ = block.x * block.y * block.z;
  threads_.assign(count_, Thread{});
  warps_.assign((count_ + kWarp - 1) / kWarp, Warp{});
  had_barrier_ = true;  // whatever ran before
  for (unsigned z = 0; z < grid.z; ++z) {
    for (unsigned y = 0; y < grid.y; ++y) {
      for (unsigned x = 0; x < grid.x; ++x) {
        blockIdx = {x, y, z};
        run_block();
      }
    }
  }
}

void Block::run_block() {
  // Threads of the block before met, so they may have shared memory.
  if (had_barrier_) poison_shared_memory();
  had_barrier_ = false;
  started_ = ended_ = arrived_ = 0;
  first_ = static_cast<unsigned>(random_.below(count_));
  do {
    stride_ = 1 + static_cast<unsigned>(random_.below(count_));
  } while (std::gcd(stride_, count_) != 1);
  while (ended_ < count_) {
    const bool may_start = started_ < count_;
    if (!ready_.empty() && (!may_start || random_.below(2) == 0)) {
      const std::size_t choice = random_.below(ready_.size());
      const unsigned index = ready_[choice];
      ready_[choice] = ready_.back();
      ready_.pop_back();
      running_ = threads_[index].fiber;
      threads_[index].at = At::running;
      set_thread(index);
    } else if (may_start) {
      running_ = &idle_fiber();
    } else {
      report_deadlock();
    }
    running_->resume();
  }
}

Fiber& Block::idle_fiber() {
  if (idle_.empty()) {
    fibers_.push_back(std::make_unique<Fiber>([this] { run_threads(); }));
    idle_.push_back(fibers_.back().get());
  }
  Fiber& fiber = *idle_.back();
  idle_.pop_back();
  return fiber;
}

void Block::run_threads() {
  while (started_ < count_) {
    start(nth(started_++));
    // Threads that were released are to have their turn between those not started.
    if (!ready_.empty()) break;
  }
  idle_.push_back(running_);
}

void Block::start(unsigned index) {
  set_thread(index);
  (*body_)();
  if (had_barrier_) {
    thread_ended();
  } else {
    ++ended_;
  }
}

unsigned Block::nth(unsigned i) const {
  return static_cast<unsigned>((first_ + std::uint64_t{stride_} * i) % count_);
}

void Block::set_thread(unsigned index) {
  current_ = index;
  if (blockDim.y == 1 && blockDim.z == 1) {
    threadIdx = {index, 0, 0};
    return;
  }
  threadIdx = {index % blockDim.x, index / blockDim.x % blockDim.y,
               index / (blockDim.x * blockDim.y)};
}

void Block::thread_ended() {
  threads_[current_].at = At::end;
  ++ended_;
  release_block_if_complete();
  Warp& warp = warps_[current_ / kWarp];
  warp.ended |= 1u << current_ % kWarp;
  for (unsigned lane = 0; lane < kWarp && warp.waiting != 0; ++lane) {
    if ((warp.waiting >> lane & 1u) == 0) continue;
    release_group_if_complete(current_ / kWarp, threads_[current_ / kWarp * kWarp + lane].mask);
  }
}

// Until the first barrier of a block, what its threads do is not written down.
void Block::note_first_barrier() {
  had_barrier_ = true;
  for (Thread& thread : threads_) thread = Thread{};
  for (Warp& warp : warps_) warp = Warp{};
  for (unsigned i = 0; i + 1 < started_; ++i) {
    const unsigned index = nth(i);
    threads_[index].at = At::end;
    warps_[index / kWarp].ended |= 1u << index % kWarp;
  }
}

void Block::pause(At at) {
  if (!had_barrier_) note_first_barrier();
  const unsigned index = current_;
  Thread& thread = threads_[index];
  thread.at = at;
  thread.fiber = running_;
  // Where this thread is the last to arrive, it is ready itself when it pauses.
  if (at == At::block_barrier) {
    release_block_if_complete();
  } else {
    warps_[index / kWarp].waiting |= 1u << index % kWarp;
    release_group_if_complete(index / kWarp, thread.mask);
  }
  thread.fiber->pause();
}

void Block::wait_for_block(int value) {
  ++arrived_;
  partial_sum_ += value;
  pause(At::block_barrier);
}

void Block::release_block_if_complete() {
  if (arrived_ == 0 || arrived_ + ended_ < count_) return;
  for (unsigned index = 0; index < count_; ++index) {
    if (threads_[index].at == At::block_barrier) ready_.push_back(index);
  }
  arrived_ = 0;
  sum_ = partial_sum_;
  partial_sum_ = 0;
}

std::uint64_t Block::exchange(unsigned mask, std::uint64_t value, int source) {
  if (!had_barrier_) note_first_barrier();
  Thread& thread = threads_[current_];
  thread.mask = mask;
  thread.value = value;
  thread.source = source;
  pause(At::warp_barrier);
  return thread.result;
}

// Lanes wait together if they named the same mask; those of it that ended are not waited for.
void Block::release_group_if_complete(unsigned warp, unsigned mask) {
  const unsigned first_lane = warp * kWarp;
  const unsigned size = std::min(kWarp, count_ - first_lane);
  const unsigned existing = size == kWarp ? ~0u : (1u << size) - 1;
  const unsigned lanes = mask & existing & ~warps_[warp].ended;
  if (lanes == 0 || (lanes & ~warps_[warp].waiting) != 0) return;
  for (unsigned lane = 0; lane < size; ++lane) {
    if ((lanes >> lane & 1u) != 0 && threads_[first_lane + lane].mask != mask) return;
  }
  warps_[warp].waiting &= ~lanes;
  finish_exchange(first_lane, lanes);
}

void Block::finish_exchange(unsigned first_lane, unsigned lanes) {
  std::uint64_t ballot = 0;
  for (unsigned lane = 0; lane < kWarp; ++lane) {
    const bool takes_part = (lanes >> lane & 1u) != 0;
    if (takes_part && threads_[first_lane + lane].value != 0) ballot |= 1u << lane;
  }
  for (unsigned lane = 0; lane < kWarp; ++lane) {
    if ((lanes >> lane & 1u) == 0) continue;
    Thread& thread = threads_[first_lane + lane];
    const auto source = static_cast<unsigned>(thread.source);
    if (thread.source == kBallot) {
      thread.result = ballot;
    } else {
      const bool is_there = source < kWarp && (lanes >> source & 1u) != 0;
      thread.result = is_there ? threads_[first_lane + source].value : ~std::uint64_t{0};
    }
    thread.at = At::running;
    ready_.push_back(first_lane + lane);
  }
}

void Block::report_deadlock() const {
  unsigned at_block = 0;
  unsigned at_warp = 0;
  for (const Thread& thread : threads_) {
    at_block += thread.at == At::block_barrier;
    at_warp += thread.at == At::warp_barrier;
  }
  std::fprintf(stderr,
               "stand-in: a kernel hangs in block (%u, %u, %u): of %u threads %u wait at a barrier "
               "of the block, %u at one of a warp, %u ended\n",
               blockIdx.x, blockIdx.y, blockIdx.z, count_, at_block, at_warp, ended_);
  std::abort();
}

}  // namespace

void run_grid(dim3 grid, dim3 block, const std::function<void()>& body) {
  the_block().run(grid, block, body);
}

void block_barrier() { the_block().wait_for_block(0); }

int block_sum(int value) {
  the_block().wait_for_block(value);
  return the_block().sum();
}

int lane() { return static_cast<int>(the_block().current() % kWarp); }

std::uint64_t warp_exchange(unsigned mask, std::uint64_t value, int source) {
  return the_block().exchange(mask, value, source);
}

unsigned warp_ballot(unsigned mask, bool value) {
  return static_cast<unsigned>(the_block().exchange(mask, value ? 1 : 0, kBallot));
}

}  // namespace emulation
