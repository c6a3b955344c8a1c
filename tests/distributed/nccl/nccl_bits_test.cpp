// Sums in rank order over NCCL have the bits of the sums in rank order over the host.
#include <catch2/catch.hpp>

#include "device_values.hpp"

using namespace test;

namespace {

const std::vector<ls::DType> kFloats = {ls::DType::float32, ls::DType::float64, ls::DType::bfloat16,
                                        ls::DType::float16};

/// The same values in host memory and on the device.
struct Twins {
  ls::Tensor host;
  ls::Tensor device;
};

Twins rough_twins(ls::DType dtype, std::int64_t count, int rank) {
  const ls::Tensor wide =
      make(ls::DType::float32, count, [&](std::int64_t i) { return rough(i, rank); });
  const ls::Tensor host = wide.to(dtype);
  return {host.clone(), host.to(test_environment().device())};
}

}  // namespace

TEST_CASE("an all_reduce in rank order has the bits of the host's, however it is cut") {
  const ls::Communicator& ranks = test_environment().ranks();
  for (const ls::DType dtype : kFloats)
    for (const std::int64_t count : {1, 5, 1001}) {
      Twins twins = rough_twins(dtype, count, ranks.rank());
      ranks.all_reduce(twins.host, ls::ReduceOp::sum, ls::SumOrder::ranks).wait();
      ranks.all_reduce(twins.device, ls::ReduceOp::sum, ls::SumOrder::ranks).wait();
      INFO(ls::name(dtype) << " " << count);
      REQUIRE(bytes(twins.device.to(ls::Device::cpu())) == bytes(twins.host));
    }
}

TEST_CASE("a reduce_scatter in rank order has the bits of the host's") {
  const ls::Communicator& ranks = test_environment().ranks();
  for (const ls::DType dtype : kFloats) {
    Twins input = rough_twins(dtype, 301 * ranks.size(), ranks.rank());
    Twins output = rough_twins(dtype, 301, 0);
    ranks.reduce_scatter(input.host, output.host, ls::ReduceOp::sum, ls::SumOrder::ranks).wait();
    ranks.reduce_scatter(input.device, output.device, ls::ReduceOp::sum, ls::SumOrder::ranks)
        .wait();
    REQUIRE(bytes(output.device.to(ls::Device::cpu())) == bytes(output.host));
  }
}

TEST_CASE("a long all_reduce in rank order goes in pieces") {
  const ls::Communicator& ranks = test_environment().ranks();
  // Two pieces of 4 MiB per rank, and a rest that does not divide.
  const std::int64_t count = 2 * ranks.size() * (std::int64_t{1} << 20) + 3;
  if (ranks.size() < 3) return;  // NCCL's own sum
  Twins twins = rough_twins(ls::DType::float32, count, ranks.rank());
  ranks.all_reduce(twins.host, ls::ReduceOp::sum, ls::SumOrder::ranks).wait();
  ranks.all_reduce(twins.device, ls::ReduceOp::sum, ls::SumOrder::ranks).wait();
  REQUIRE(bytes(twins.device.to(ls::Device::cpu())) == bytes(twins.host));
}
