// Optimizer passes have the bits of the CPU, whatever the segments.
#include "sides.hpp"

using namespace parity;

namespace {

/// Segments with gaps between them, short ones in odd trials; empty ones too.
template <class Segment, class Options>
std::vector<Segment> segments(std::int64_t count, unsigned trial, const Options& options) {
  std::mt19937 engine(trial);
  std::vector<Segment> result;
  std::int64_t begin = engine() % 20;
  while (begin < count) {
    const std::int64_t length = engine() % (trial % 2 == 1 ? 9 : 700);
    Segment segment = options(engine);
    segment.begin = begin;
    segment.end = std::min(count, begin + length);
    result.push_back(segment);
    begin = segment.end + (engine() % 3 == 0 ? engine() % 30 : 0);
  }
  return result;
}

AdamSegment adam_options(std::mt19937& engine) {
  return {.learning_rate = 1e-3 * static_cast<double>(1 + engine() % 3),
          .beta1 = 0.9,
          .beta2 = 0.999,
          .epsilon = 1e-8,
          .l2_decay = engine() % 2 == 0 ? 0.01 : 0,
          .decoupled_decay = engine() % 2 == 0 ? 0.02 : 0,
          .step = static_cast<std::int64_t>(1 + engine() % 9)};
}

SgdSegment sgd_options(std::mt19937& engine) {
  return {.learning_rate = 1e-2,
          .momentum = engine() % 2 == 0 ? 0.9 : 0,
          .dampening = 0.1,
          .weight_decay = engine() % 2 == 0 ? 0.01 : 0,
          .nesterov = engine() % 2 == 0,
          .first_step = engine() % 2 == 0};
}

/// The values and both moments after pass(side, pointers) over `count` elements.
template <class Pass>
Bytes after(const Side& side, DType dtype, std::int64_t count, std::int64_t shift,
            const Pass& pass) {
  const Array values(side, elements(dtype, count, 1), shift);
  const Array gradients(side, elements(dtype, count, 2), shift);
  const Array first(side, elements(dtype, count, 3), shift);
  const Array second(side, elements(dtype, count, 4, 0, 3), shift);
  ArenaPointers arena;
  arena.values = values.data();
  arena.gradients = gradients.data();
  arena.first_moment = first.data();
  arena.second_moment = second.data();
  arena.gradient_scale = 1.0 / 3;
  pass(side, arena);
  Bytes all = values.bytes();
  for (const Array* array : {&first, &second}) {
    const Bytes more = array->bytes();
    all.insert(all.end(), more.begin(), more.end());
  }
  return all;
}

template <class Pass>
void check_passes(const Pass& pass) {
  if (!has_device()) return;
  for (unsigned trial = 0; trial < 20; ++trial)
    for (const DType dtype : kFloats) {
      INFO("trial " << trial << ", " << name(dtype));
      const std::int64_t count = trial % 3 == 0 ? 50 : 3000;
      const std::int64_t shift = trial % 7 == 6 ? byte_size(dtype) : 0;
      CHECK(same_bits([&](const Side& side) {
        return after(side, dtype, count, shift, [&](const Side& at, const ArenaPointers& arena) {
          pass(at, dtype, count, trial, arena);
        });
      }));
    }
}

}  // namespace

TEST_CASE("Adam has the bits of the CPU") {
  check_passes([](const Side& side, DType dtype, std::int64_t count, unsigned trial,
                  const ArenaPointers& arena) {
    const auto table = segments<AdamSegment>(count, trial, adam_options);
    side.backend.optimizer.adam(dtype, arena, table, side.queue);
  });
}

TEST_CASE("SGD has the bits of the CPU, with and without momentum") {
  check_passes(
      [](const Side& side, DType dtype, std::int64_t count, unsigned trial, ArenaPointers arena) {
        auto table = segments<SgdSegment>(count, trial, sgd_options);
        if (trial % 5 == 4) {
          arena.first_moment = nullptr;
          for (SgdSegment& segment : table) segment.momentum = 0;
        }
        side.backend.optimizer.sgd(dtype, arena, table, side.queue);
      });
}
