// A fiber that runs again and again what its owner gives it, with its switches made known to the
// sanitizers.
#pragma once

#include <boost/context/fiber.hpp>
#include <cstddef>
#include <functional>

namespace emulation {

// What a switch needs to know of the stack that it goes to.
struct StackBounds {
  const void* bottom = nullptr;
  std::size_t size = 0;
};

class Fiber {
 public:
  // work is called, to its end, each time the fiber is resumed while it is not in work already.
  explicit Fiber(std::function<void()> work);
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;

  // From outside: runs the fiber until it pauses or work ends.
  void resume();
  // From inside work: back to who resumed it.
  void pause();

 private:
  void loop(boost::context::fiber&& outside);
  void switch_out();

  std::function<void()> work_;
  boost::context::fiber inside_;   // while it does not run
  boost::context::fiber outside_;  // while it runs
  StackBounds stack_;
  StackBounds outside_stack_;
  void* fake_stack_ = nullptr;
  [[maybe_unused]] void* tsan_fiber_ = nullptr;
  [[maybe_unused]] void* tsan_outside_ = nullptr;
};

}  // namespace emulation
