// Gradients in the program's own device memory, written and read on the program's own streams,
// exchanged without a wait of the host.
#include <catch2/catch.hpp>

#include <array>
#include <vector>

#include <lockstep/interop/cuda.hpp>
#include <lockstep/lockstep.hpp>

#include "interop/orders.hpp"
#include "interop/program.hpp"
#include "support/test_environment.hpp"

namespace ls = lockstep;
using Catch::Matchers::Contains;
using program::DeviceFloats;
using program::PinnedFloats;
using program::require;
using program::Stream;

namespace {

constexpr int kSteps = 3;
constexpr std::array<std::size_t, 3> kSizes{12, 30, 7};
constexpr std::array<std::size_t, 3> kOffsets{0, 12, 50};  // two are adjacent, one lies elsewhere

/// Gradient i on a rank in a step; its mean over the ranks is that of the middle rank.
std::vector<float> values(std::size_t i, double rank, int step) {
  return std::vector<float>(kSizes[i],
                            static_cast<float>(10 * static_cast<double>(i) + rank + 100 * step));
}

int device_index() { return test_environment().device().index; }
double middle_rank() { return (test_environment().size() - 1) / 2.0; }

/// A program with two streams: gradients 0 and 2 are written on one, 1 on the other.
struct Program {
  Stream first{device_index()};
  Stream second{device_index()};
  DeviceFloats memory{60, device_index()};
  std::vector<PinnedFloats> inputs;  // of each step and gradient
  std::vector<PinnedFloats> results;

  const Stream& stream_of(std::size_t i) const { return i == 1 ? second : first; }
  float* gradient(std::size_t i) const { return memory.data() + kOffsets[i]; }
  ls::Tensor borrowed(std::size_t i) const {
    return ls::cuda::borrow(gradient(i), {static_cast<std::int64_t>(kSizes[i])});
  }
};

std::array<std::int64_t, 3> add_all(ls::GradientSynchronizer& synchronizer, const Program& own) {
  return {synchronizer.add("weight", own.borrowed(0)), synchronizer.add("kernel", own.borrowed(1)),
          synchronizer.add("bias", own.borrowed(2))};
}

void check_exchange(const ls::SynchronizerOptions& options) {
  ls::Environment& env = test_environment();
  ls::GradientSynchronizer synchronizer{env.ranks(), options};
  Program own;
  const auto ids = add_all(synchronizer, own);
  synchronizer.commit();
  for (int step = 0; step < kSteps; ++step)
    for (std::size_t i = 0; i < 3; ++i) {
      own.inputs.emplace_back(values(i, env.rank(), step));
      own.results.emplace_back(kSizes[i]);
    }

  const program::OnDevice elsewhere((device_index() + 1) % ls::cuda_device_count());
  const int current = program::current_device();
  std::int64_t waits = 0;
  for (int step = 0; step < kSteps; ++step) {
    if (step == 1) waits = orders::host_waits();  // in the first one communicators are made
    for (std::size_t k = 0; k < 3; ++k) {
      const std::size_t i = (k + static_cast<std::size_t>(env.rank() + step)) % 3;
      const cudaStream_t stream = own.stream_of(i);
      own.inputs[static_cast<std::size_t>(step) * 3 + i].to_device(own.gradient(i), stream);
      synchronizer.ready(ids[i], stream);
    }
    synchronizer.finish(own.first);
    CHECK(program::current_device() == current);
    for (std::size_t i = 0; i < 3; ++i)
      own.results[static_cast<std::size_t>(step) * 3 + i].from_device(own.gradient(i), own.first);
    own.second.come_after(own.first, device_index());
  }
  CHECK(orders::host_waits() == waits);
  own.first.wait();
  for (int step = 0; step < kSteps; ++step)
    for (std::size_t i = 0; i < 3; ++i) {
      INFO("step " << step << ", gradient " << i);
      REQUIRE(own.results[static_cast<std::size_t>(step) * 3 + i].values() ==
              values(i, middle_rank(), step));
    }
  CHECK(synchronizer.counters().steps == kSteps);
}

template <class Test>
void in_every_order(const Test& test) {
  for (std::uint64_t seed = 0; seed < orders::count(); ++seed) {
    INFO("seed " << seed);
    orders::choose(seed);
    test();
  }
  orders::choose(0);
}

}  // namespace

TEST_CASE("gradients are exchanged in the order of the program's streams") {
  in_every_order([] { check_exchange({}); });
}

TEST_CASE("buckets of one gradient each, and sums in rank order") {
  in_every_order([] {
    check_exchange({.bucket_bytes = 1, .first_bucket_bytes = 1, .order = ls::SumOrder::ranks});
  });
}

TEST_CASE("a scope of the program changes nothing about that") {
  in_every_order([] {
    const Stream unrelated(device_index());
    const ls::cuda::StreamScope scope{unrelated, device_index()};
    check_exchange({});
    CHECK(ls::cuda::current_stream(device_index()) == unrelated);
  });
}

TEST_CASE("weights, and a rank that has no gradient") {
  ls::Environment& env = test_environment();
  in_every_order([&] {
    ls::GradientSynchronizer synchronizer{env.ranks(), {.averaging = ls::Averaging::weighted}};
    Program own;
    const auto ids = add_all(synchronizer, own);
    synchronizer.commit();
    const bool idle = env.rank() == 0 && env.size() > 1;
    if (!idle) synchronizer.set_sample_count(env.rank() + 1);
    double weights = 0;
    double sum = 0;
    for (int rank = env.size() > 1 ? 1 : 0; rank < env.size(); ++rank) {
      weights += rank + 1;
      sum += (rank + 1) * 6.0 * rank;
    }
    const PinnedFloats input(std::vector<float>(7, static_cast<float>(idle ? 99 : 6 * env.rank())));
    const PinnedFloats output(7);
    input.to_device(own.gradient(2), own.first);
    if (idle) {
      synchronizer.finish_without_rest(own.first);
    } else {
      for (const std::size_t i : {0, 1}) {
        require(cudaMemsetAsync(own.gradient(i), 0, kSizes[i] * sizeof(float), own.first));
        synchronizer.ready(ids[i], own.first);
      }
      synchronizer.ready(ids[2], own.first);
      synchronizer.finish(own.first);
    }
    output.from_device(own.gradient(2), own.first);
    own.first.wait();
    for (const float value : output.values()) REQUIRE(value == Approx(sum / weights));
  });
}

TEST_CASE("streams are for gradients on a device") {
  const Stream stream(device_index());
  std::vector<float> memory(4);
  ls::GradientSynchronizer synchronizer{test_environment().ranks()};
  const auto id = synchronizer.add("host", ls::borrow(memory.data(), {4}));
  CHECK_THROWS_WITH(synchronizer.ready(id, stream), Contains("commit() comes first"));
  CHECK_THROWS_WITH(synchronizer.finish(stream), Contains("commit() comes first"));
  synchronizer.commit();
  CHECK_THROWS_WITH(synchronizer.ready(id, stream), Contains("call ready(id)"));
  CHECK_THROWS_WITH(synchronizer.ready(7, stream), Contains("there is no gradient 7"));
  CHECK_THROWS_WITH(synchronizer.finish(stream), Contains("call it without one"));
  CHECK_THROWS_AS(synchronizer.finish_without_rest(stream), ls::InvalidUsage);
  synchronizer.ready(id);
  synchronizer.finish();
}
