// Models that are not the same on all ranks are refused on every rank, at construction
// (pytorch/pytorch#73547, NVIDIA/nccl#1417).
#include <catch2/catch.hpp>

#include <lockstep/core/error.hpp>
#include <lockstep/parallel/data_parallel.hpp>

#include "distributed/models.hpp"

namespace ls = lockstep;
using Catch::Contains;

namespace {

/// rank 1, and the only one that differs.
bool is_odd_one_out() { return test_environment().rank() == 1; }
bool has_others() { return test_environment().size() > 1; }

template <class Model>
void check_refused(Model model, const std::string& name, const std::string& first,
                   const std::string& other, const ls::DataParallelOptions& options = {}) {
  CHECK_THROWS_AS(ls::DataParallel(model, test_environment(), options), ls::InvalidUsage);
  CHECK_THROWS_WITH(ls::DataParallel(model, test_environment(), options),
                    Contains(name) && Contains(first) && Contains(other) && Contains("rank 1"));
}

struct OtherName {
  models::OneWeight part;
  template <class Visitor>
  void visit(Visitor&& visitor) {
    visitor(is_odd_one_out() ? "decoder" : "encoder", part);
  }
};

struct OtherOrder {
  models::OneWeight first;
  models::OneWeight second;
  template <class Visitor>
  void visit(Visitor&& visitor) {
    if (is_odd_one_out()) visitor("second", second);
    visitor("first", first);
    if (!is_odd_one_out()) visitor("second", second);
  }
};

struct OtherBuffer {
  models::OneWeight part;
  ls::Buffer mean{ls::zeros({is_odd_one_out() ? 4 : 5})};
  template <class Visitor>
  void visit(Visitor&& visitor) {
    visitor("part", part);
    visitor("mean", mean);
  }
};

struct Nothing {
  template <class Visitor>
  void visit(Visitor&&) {}
};

}  // namespace

TEST_CASE("another number of outputs on one rank is refused, with both shapes") {
  if (has_others())
    check_refused(ls::nn::Linear{4, is_odd_one_out() ? 2 : 3}, "weight", "(3, 4)", "(2, 4)");
}

TEST_CASE("other shapes of the same size are refused") {
  const ls::Shape shape = is_odd_one_out() ? ls::Shape{3, 4} : ls::Shape{2, 6};
  if (has_others())
    check_refused(ls::nn::Linear(ls::Parameter(ls::zeros(shape))), "weight", "(2, 6)", "(3, 4)");
}

TEST_CASE("one parameter more on one rank is refused and named") {
  if (has_others())
    check_refused(ls::nn::Linear(4, 3, ls::nn::LinearOptions{.bias = is_odd_one_out()}), "bias",
                  "rank 0", "(3)");
}

TEST_CASE("another dtype on one rank is refused") {
  const ls::DType dtype = is_odd_one_out() ? ls::DType::float64 : ls::DType::float32;
  if (has_others())
    check_refused(ls::nn::Linear(4, 3, ls::nn::LinearOptions{.dtype = dtype}), "weight", "float32",
                  "float64");
}

TEST_CASE("other names are refused") {
  if (has_others()) check_refused(OtherName{}, "parameter", "encoder.w", "decoder.w");
}

TEST_CASE("another order is refused") {
  if (has_others()) check_refused(OtherOrder{}, "parameter", "first.w", "second.w");
}

TEST_CASE("another buffer is refused") {
  if (has_others()) check_refused(OtherBuffer{}, "mean", "(5)", "(4)");
}

TEST_CASE("a parameter that is frozen on one rank only is refused") {
  models::OneWeight model;
  if (is_odd_one_out()) model.w.freeze();
  if (has_others()) check_refused(std::move(model), "parameter w", "rank 0", "frozen");
}

TEST_CASE("other options are refused, with both values") {
  ls::DataParallelOptions options;
  options.bucket_bytes = is_odd_one_out() ? 1000 : 2000;
  if (has_others()) check_refused(models::OneWeight{}, "bucket_bytes", "2000", "1000", options);
  options = {};
  options.averaging = is_odd_one_out() ? ls::Averaging::sum : ls::Averaging::mean;
  if (has_others()) check_refused(models::OneWeight{}, "averaging", "mean", "sum", options);
  options = {};
  options.order = is_odd_one_out() ? ls::SumOrder::ranks : ls::SumOrder::fastest;
  if (has_others()) check_refused(models::OneWeight{}, "order", "fastest", "ranks", options);
}

TEST_CASE("a model without parameters, and nonsensical options, are refused") {
  Nothing nothing;
  CHECK_THROWS_AS(ls::DataParallel(nothing, test_environment()), ls::InvalidUsage);
  models::OneWeight model;
  CHECK_THROWS_AS(
      ls::DataParallel(model, test_environment(), ls::DataParallelOptions{.bucket_bytes = 0}),
      ls::InvalidUsage);
}

TEST_CASE("after a refused model the ranks can go on") {
  models::OneWeight model;
  ls::DataParallel replica{model, test_environment()};
  replica(1.0).backward();
  CHECK(models::gradient(model.w) == 1);
}
