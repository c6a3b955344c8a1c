// Gradients with more elements than one MPI call takes, with the limit made small
// (openmc-dev/openmc#4037).
#include <catch2/catch.hpp>
#include <numeric>

#include <lockstep/parallel/data_parallel.hpp>

#include "comm/mpi/tuning.hpp"
#include "distributed/models.hpp"

namespace ls = lockstep;

namespace {

struct Vector {
  ls::Parameter w{ls::full({20}, 1)};

  template <class Visitor>
  void visit(Visitor&& visitor) {
    visitor("w", w);
  }
  ls::Tensor operator()(const ls::Tensor& x) const { return ls::sum(w.value() * x); }
};

/// Small limits while it lives.
struct SmallLimits {
  ls::detail::mpi::Tuning before = ls::detail::mpi::tuning();
  SmallLimits() {
    auto& tuning = ls::detail::mpi::tuning();
    tuning.elements_per_call = 7;
    tuning.slice_bytes = 12;
    tuning.pieces_in_flight = 2;
    tuning.broadcast_bytes = 16;
  }
  ~SmallLimits() { ls::detail::mpi::tuning() = before; }
};

}  // namespace

TEST_CASE("a gradient of 20 elements is reduced whole by calls of 7") {
  const SmallLimits limits;
  const int rank = test_environment().rank();
  const int size = test_environment().size();
  for (const ls::SumOrder order : {ls::SumOrder::fastest, ls::SumOrder::ranks}) {
    Vector model;
    ls::DataParallel replica{
        model, test_environment(), {.averaging = ls::Averaging::sum, .order = order}};
    std::vector<float> x(20);
    std::iota(x.begin(), x.end(), 100.0F * static_cast<float>(rank));
    replica(ls::tensor(x, {20})).backward();
    const auto sum = model.w.gradient().to_vector();
    for (int i = 0; i < 20; ++i)
      CHECK(sum[static_cast<std::size_t>(i)] ==
            static_cast<float>(size * i + 100 * size * (size - 1) / 2));
  }
  test_environment().ranks().barrier();
}
