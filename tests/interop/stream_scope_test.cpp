// The program's streams: what lockstep does comes in their order, and only there.
#include <catch2/catch.hpp>

#include <thread>
#include <type_traits>
#include <vector>

#include <lockstep/interop/cuda.hpp>
#include <lockstep/lockstep.hpp>

#include "interop/orders.hpp"
#include "interop/program.hpp"

namespace ls = lockstep;
using program::DeviceFloats;
using program::PinnedFloats;
using program::Stream;

namespace {

const std::vector<float> kValues{1, 2, 3, 4, 5};

template <class Test>
void in_every_order(const Test& test) {
  for (std::uint64_t seed = 0; seed < orders::count(); ++seed) {
    INFO("seed " << seed);
    orders::choose(seed);
    test();
  }
  orders::choose(0);
}

bool two_devices() {
  if (ls::cuda_device_count() > 1) return true;
  WARN("one device only: nothing was tested");
  return false;
}

}  // namespace

TEST_CASE("operations in a scope come between what the program puts on its stream") {
  in_every_order([] {
    const Stream stream;
    const PinnedFloats input(kValues);
    const PinnedFloats output(kValues.size());
    const DeviceFloats memory(kValues.size());
    input.to_device(memory.data(), stream);
    const std::int64_t waits = orders::host_waits();
    {
      const ls::cuda::StreamScope scope{stream};
      const ls::Tensor x = ls::cuda::borrow(memory.data(), {5});
      const ls::Tensor y = (x + x) * x;
      output.from_device(y.raw_data(), stream);
    }
    CHECK(orders::host_waits() == waits);
    stream.wait();
    CHECK(output.values() == std::vector<float>{2, 8, 18, 32, 50});
  });
}

TEST_CASE("a scope comes after what this thread queued before, and before what comes after it") {
  in_every_order([] {
    const Stream stream;
    ls::Tensor x = ls::full({1000}, 3, ls::DType::float32, ls::Device::cuda());
    ls::Tensor y;
    {
      const ls::cuda::StreamScope scope{stream};
      y = x + x;
    }
    x.fill(-1);
    CHECK((y + y).to_vector() == std::vector<float>(1000, 12));
  });
}

TEST_CASE("scopes nest") {
  in_every_order([] {
    const Stream outer;
    const Stream inner;
    const cudaStream_t own = ls::cuda::current_stream();
    ls::Tensor z;
    {
      const ls::cuda::StreamScope outer_scope{outer};
      CHECK(ls::cuda::current_stream() == outer);
      const ls::Tensor x = ls::full({100}, 2, ls::DType::float32, ls::Device::cuda());
      ls::Tensor y;
      {
        const ls::cuda::StreamScope inner_scope{inner};
        CHECK(ls::cuda::current_stream() == inner);
        y = x + x;
      }
      CHECK(ls::cuda::current_stream() == outer);
      z = y + x;
      const ls::cuda::StreamScope default_stream{nullptr};
      CHECK(ls::cuda::current_stream() == nullptr);
      z = z + x;
    }
    CHECK(ls::cuda::current_stream() == own);
    CHECK(z.to_vector() == std::vector<float>(100, 8));
  });
}

TEST_CASE("an exception ends a scope") {
  const Stream stream;
  const cudaStream_t own = ls::cuda::current_stream();
  try {
    const ls::cuda::StreamScope scope{stream};
    throw 1;
  } catch (int) {
  }
  CHECK(ls::cuda::current_stream() == own);
  CHECK_THROWS_AS(ls::cuda::StreamScope(stream, 1000), ls::BackendUnavailable);
  CHECK(ls::cuda::current_stream() == own);
}

TEST_CASE("a scope is its thread's own") {
  const Stream stream;
  const cudaStream_t own = ls::cuda::current_stream();
  const ls::cuda::StreamScope scope{stream};
  cudaStream_t elsewhere = nullptr;
  std::thread([&] { elsewhere = ls::cuda::current_stream(); }).join();
  CHECK(elsewhere == own);
  CHECK(elsewhere != stream);
}

static_assert(!std::is_copy_constructible_v<ls::cuda::StreamScope>);
static_assert(!std::is_move_constructible_v<ls::cuda::StreamScope>);
static_assert(!std::is_move_assignable_v<ls::cuda::StreamScope>);

TEST_CASE("two devices have their own streams, and the current device stays") {
  if (!two_devices()) return;
  for (const int current : {0, 1}) {
    const program::OnDevice on(current);
    const Stream stream(1);
    const cudaStream_t own = ls::cuda::current_stream(0);
    const PinnedFloats input(kValues);
    const PinnedFloats output(kValues.size());
    const DeviceFloats memory(kValues.size(), 1);
    {
      const ls::cuda::StreamScope scope{stream, 1};
      CHECK(program::current_device() == current);
      CHECK(ls::cuda::current_stream(1) == stream);
      CHECK(ls::cuda::current_stream(0) == own);
      input.to_device(memory.data(), stream);
      const ls::Tensor x = ls::cuda::borrow(memory.data(), {5});
      CHECK(x.device() == ls::Device::cuda(1));
      const ls::Tensor y = x + x;
      output.from_device(y.raw_data(), stream);
      const ls::Tensor other = ls::full({5}, 1, ls::DType::float32, ls::Device::cuda(0));
      CHECK((other + other).to_vector() == std::vector<float>(5, 2));
    }
    CHECK(program::current_device() == current);
    stream.wait();
    CHECK(output.values() == std::vector<float>{2, 4, 6, 8, 10});
  }
}
