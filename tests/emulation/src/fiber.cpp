#include "emulation/src/fiber.hpp"

#include <boost/context/protected_fixedsize_stack.hpp>

#include "emulation/src/sanitizers.hpp"

namespace emulation {
namespace {

constexpr std::size_t kStackBytes = kAddressSanitizer ? 256 * 1024 : 64 * 1024;

void leave_stack([[maybe_unused]] void** fake_stack, [[maybe_unused]] const StackBounds& next) {
#ifdef EMULATED_ASAN
  __sanitizer_start_switch_fiber(fake_stack, next.bottom, next.size);
#endif
}

void enter_stack([[maybe_unused]] void* fake_stack, [[maybe_unused]] StackBounds* previous) {
#ifdef EMULATED_ASAN
  const void* bottom = nullptr;
  std::size_t size = 0;
  __sanitizer_finish_switch_fiber(fake_stack, &bottom, &size);
  if (previous != nullptr) *previous = {bottom, size};
#endif
}

}  // namespace

Fiber::Fiber(std::function<void()> work) : work_(std::move(work)) {
  boost::context::protected_fixedsize_stack allocator(kStackBytes);
  const boost::context::stack_context stack = allocator.allocate();
  stack_ = {static_cast<char*>(stack.sp) - stack.size, stack.size};
  const boost::context::preallocated place(stack.sp, stack.size, stack);
  inside_ = boost::context::fiber(std::allocator_arg, place, allocator,
                                  [this](boost::context::fiber&& outside) {
                                    loop(std::move(outside));
                                    return std::move(outside_);
                                  });
#ifdef EMULATED_TSAN
  tsan_fiber_ = __tsan_create_fiber(0);
#endif
}

void Fiber::loop(boost::context::fiber&& outside) {
  outside_ = std::move(outside);
  enter_stack(nullptr, &outside_stack_);
  while (true) {
    work_();
    switch_out();
  }
}

void Fiber::resume() {
  void* fake_stack = nullptr;
#ifdef EMULATED_TSAN
  tsan_outside_ = __tsan_get_current_fiber();
  __tsan_switch_to_fiber(tsan_fiber_, 0);
#endif
  leave_stack(&fake_stack, stack_);
  inside_ = std::move(inside_).resume();
  enter_stack(fake_stack, nullptr);
}

void Fiber::switch_out() {
#ifdef EMULATED_TSAN
  __tsan_switch_to_fiber(tsan_outside_, 0);
#endif
  leave_stack(&fake_stack_, outside_stack_);
  outside_ = std::move(outside_).resume();
  enter_stack(fake_stack_, &outside_stack_);
}

void Fiber::pause() { switch_out(); }

}  // namespace emulation
