// Optimizer passes: the same bits, over segments with gaps.
#include "parity/on_both.hpp"

using namespace parity;

namespace {

/// A pass over one arena; returns values and moments, and the gradients, which stay as they are.
template <class T, class Pass>
auto arenas(std::int64_t count, bool odd, const Pass& pass) {
  return on_both([&](const Side& side) {
    const auto values = side.array(random_values<T>(count, 51), odd);
    const auto gradients = side.array(awkward_values<T>(count, 52));
    const auto first = side.array(random_values<T>(count, 53));
    const auto second = side.array(random_values<T>(count, 54, 0, 1), odd);
    pass(side, ArenaPointers{.values = values.data(),
                             .gradients = gradients.data(),
                             .first_moment = first.data(),
                             .second_moment = second.data()});
    return std::vector{values.values(), gradients.values(), first.values(), second.values()};
  });
}

/// Whole packs, parts of packs, single elements, an empty one, gaps, and one beyond a block.
const std::vector<AdamSegment> kAdam = {
    {3, 10, 1e-2, 0.9, 0.999, 1e-8, 0, 0, 1},      {10, 11, 0.5, 0, 0.9, 1e-6, 0.1, 0, 2},
    {11, 64, 1e-3, 0.8, 0.99, 1e-8, 0, 0.1, 1000}, {70, 70, 1, 0.9, 0.999, 1e-8, 0, 0, 1},
    {77, 78, 1e-2, 0.9, 0.999, 0, 0, 0, 5},        {80, 1500, 1e-2, 0.9, 0.999, 1e-8, 0.05, 0.2, 7},
    {1600, 4001, 0, 0.9, 0.999, 1e-8, 0, 0, 3}};

const std::vector<SgdSegment> kSgd = {
    {0, 5, 0.1, 0, 0, 0, false, false},         {5, 6, 0.1, 0.9, 0, 0, true, true},
    {9, 64, 0.2, 0.9, 0.3, 0.1, false, false},  {66, 66, 1, 0, 0, 0, false, true},
    {66, 1025, 0.1, 0.5, 0, 0.01, true, false}, {1030, 2048, 0.1, 0, 0, 0.3, false, true},
    {2048, 4001, 0.1, 0.9, 0.1, 0, false, true}};

constexpr std::int64_t kCount = 4005;

}  // namespace

TEMPLATE_TEST_CASE("Adam has the same bits on CUDA over segments with gaps", "", float, double) {
  if (no_device()) return;
  for (const bool odd : {false, true})
    CHECK(same(arenas<TestType>(kCount, odd, [](const Side& side, ArenaPointers arena) {
      arena.gradient_scale = 0.3;
      for (int step = 0; step < 3; ++step)
        side.backend.optimizer.adam(kDType<TestType>, arena, kAdam, side.queue);
    })));
}

TEMPLATE_TEST_CASE("SGD has the same bits on CUDA in all its forms", "", float, double) {
  if (no_device()) return;
  for (const bool odd : {false, true}) {
    CHECK(same(arenas<TestType>(kCount, odd, [](const Side& side, ArenaPointers arena) {
      arena.gradient_scale = -1.7;
      for (int step = 0; step < 3; ++step)
        side.backend.optimizer.sgd(kDType<TestType>, arena, kSgd, side.queue);
    })));
    const SgdSegment plain{1, kCount - 1, 0.1, 0, 0, 0.5, false, true};
    CHECK(same(arenas<TestType>(kCount, odd, [&](const Side& side, ArenaPointers arena) {
      arena.first_moment = nullptr;
      side.backend.optimizer.sgd(kDType<TestType>, arena, {&plain, 1}, side.queue);
    })));
  }
}

TEMPLATE_TEST_CASE("an optimizer over many small segments finds each on CUDA", "", float, double) {
  if (no_device()) return;
  std::vector<AdamSegment> segments;
  for (std::int64_t begin = 1; begin + 7 < kCount; begin += 7 + begin % 5)
    segments.push_back({begin, begin + 3 + begin % 4, 1e-2 * static_cast<double>(begin % 13), 0.9,
                        0.999, 1e-8, 0, 0.01, 1 + begin});
  for (const bool odd : {false, true})
    CHECK(same(arenas<TestType>(kCount, odd, [&](const Side& side, const ArenaPointers& arena) {
      side.backend.optimizer.adam(kDType<TestType>, arena, segments, side.queue);
    })));
}

TEMPLATE_TEST_CASE("a factor in device memory is one more factor of the gradient scale", "", float,
                   double) {
  if (no_device()) return;
  const double factor = 0.123456789;
  // The CPU has it in the host's factor, where the product is rounded the same way.
  const auto both = arenas<TestType>(kCount, false, [&](const Side& side, ArenaPointers arena) {
    const auto device_factor = side.array(std::vector{factor});
    const bool on_cpu = side.backend.host_reads;
    arena.gradient_scale = on_cpu ? 0.7 * factor : 0.7;
    if (!on_cpu) arena.device_scale = device_factor.data();
    side.backend.optimizer.adam(kDType<TestType>, arena, kAdam, side.queue);
    side.backend.optimizer.sgd(kDType<TestType>, arena, kSgd, side.queue);
  });
  CHECK(same(both));
}

TEMPLATE_TEST_CASE("where a step is to be skipped on CUDA nothing changes", "", float, double) {
  if (no_device()) return;
  for (const std::int32_t skip : {0, 1}) {
    const auto both = arenas<TestType>(kCount, false, [&](const Side& side, ArenaPointers arena) {
      if (side.backend.host_reads) {  // the CPU has no such word
        if (skip != 0) return;
        side.backend.optimizer.adam(kDType<TestType>, arena, kAdam, side.queue);
        side.backend.optimizer.sgd(kDType<TestType>, arena, kSgd, side.queue);
        return;
      }
      const auto word = side.array(std::vector{skip});
      arena.skip = word.data();
      side.backend.optimizer.adam(kDType<TestType>, arena, kAdam, side.queue);
      side.backend.optimizer.sgd(kDType<TestType>, arena, kSgd, side.queue);
    });
    INFO("skip " << skip);
    CHECK(same(both));
  }
}

TEST_CASE("an optimizer without segments does nothing on CUDA") {
  if (no_device()) return;
  CHECK(same(arenas<float>(10, false, [](const Side& side, const ArenaPointers& arena) {
    side.backend.optimizer.adam(DType::float32, arena, {}, side.queue);
    side.backend.optimizer.sgd(DType::float32, arena, {}, side.queue);
    const AdamSegment empty{4, 4, 1, 0.9, 0.999, 1e-8, 0, 0, 1};
    side.backend.optimizer.adam(DType::float32, arena, {&empty, 1}, side.queue);
  })));
}
