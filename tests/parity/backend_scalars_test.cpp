// Single numbers of a step: quotients, clipping, and what is reported.
#include <lockstep/core/error.hpp>
#include "parity/on_both.hpp"

using namespace parity;

namespace {

std::vector<double> clipped(const Side& side, double squares, double host_factor,
                            const double* factor, double max_norm) {
  const auto sum = side.array(std::vector{squares});
  const auto device_factor = side.array(std::vector{factor != nullptr ? *factor : 0.0});
  const auto result = side.array(std::vector<double>{-1, -1});
  side.backend.scalars.clip({.sum_of_squares = sum.data(),
                             .host_factor = host_factor,
                             .factor = factor != nullptr ? device_factor.data() : nullptr,
                             .max_norm = max_norm},
                            result.data(), result.data() + 1, side.queue);
  return result.values();
}

}  // namespace

TEST_CASE("the norm and the factor of clipping have the same bits on CUDA") {
  if (no_device()) return;
  const double factors[] = {0.37, -2, 0, INFINITY, std::nan("")};
  for (const double squares : {0.0, 1e-30, 0.3, 25.0, 1e300, double{INFINITY}, std::nan("")})
    for (const double host_factor : {1.0, -0.25, 1e-3, std::nan("")})
      for (const double max_norm : {0.0, 1.0, 7.3, double{INFINITY}})
        for (int i = -1; i < 5; ++i) {
          const double* factor = i < 0 ? nullptr : &factors[i];
          INFO("squares " << squares << ", host factor " << host_factor << ", most " << max_norm
                          << ", factor " << (factor != nullptr ? *factor : 1));
          CHECK(same(on_both([&](const Side& side) {
            return clipped(side, squares, host_factor, factor, max_norm);
          })));
        }
}

TEMPLATE_TEST_CASE("a quotient by a word has the same bits on CUDA, and by 0 is 0", "", float,
                   double) {
  if (no_device()) return;
  for (const TestType word :
       {TestType{3}, TestType{0}, -TestType{0}, TestType{-7}, TestType{1e-3F},
        std::numeric_limits<TestType>::infinity(), std::numeric_limits<TestType>::quiet_NaN()}) {
    INFO("word " << word);
    CHECK(same(on_both([&](const Side& side) {
      const auto in = side.array(std::vector{word}, true);
      const auto result = side.array(std::vector<double>{5});
      side.backend.scalars.quotient(kDType<TestType>, in.data(), 2.5, result.data(), side.queue);
      return result.values();
    })));
  }
}

TEMPLATE_TEST_CASE("a factor in device memory scales to the same bits on CUDA", "", float, double) {
  if (no_device()) return;
  for (const std::int64_t count : kCounts)
    for (const double factor : {1.0 / 3, 0.0, 1e-300, std::nan("")}) {
      INFO("count " << count << ", factor " << factor);
      CHECK(same(on_both([&](const Side& side) {
        const auto by = side.array(std::vector{factor});
        const auto y = side.array(awkward_values<TestType>(count, 41), count % 2 == 1);
        side.backend.scalars.scale(kDType<TestType>, by.data(), y.data(), count, side.queue);
        return y.values();
      })));
    }
}

TEMPLATE_TEST_CASE("an infinity or a NaN is found at every place on CUDA", "", float, double) {
  if (no_device()) return;
  using Limits = std::numeric_limits<TestType>;
  const auto flag_of = [](const std::vector<TestType>& values, bool odd, std::int32_t before) {
    return on_both([&](const Side& side) {
      const auto x = side.array(values, odd);
      const auto flag = side.array(std::vector{before});
      side.backend.scalars.flag_non_finite(kDType<TestType>, x.data(),
                                           static_cast<std::int64_t>(values.size()), flag.data(),
                                           side.queue);
      return flag.values();
    });
  };
  std::vector<TestType> values(1031, Limits::max());
  values[5] = Limits::denorm_min();
  for (const bool odd : {false, true}) {
    CHECK(flag_of(values, odd, 0).second[0] == 0);
    CHECK(flag_of(values, odd, 1).second[0] == 1);
    for (const std::size_t place : {0U, 3U, 255U, 256U, 1027U, 1030U})
      for (const TestType bad : {Limits::infinity(), -Limits::infinity(), Limits::quiet_NaN()}) {
        auto wrong = values;
        wrong[place] = bad;
        const auto both = flag_of(wrong, odd, 0);
        INFO("place " << place << ", value " << bad << ", odd " << odd);
        CHECK(both.second[0] == 1);
        CHECK(same(both));
      }
  }
}

TEST_CASE("what CUDA reports is thrown by the next read, once, with all that was found") {
  if (no_device()) return;
  const Side cuda{cuda_backend(0), cuda_current_queue(0)};
  const auto words = cuda.array(std::vector<double>{4, 5});
  const auto report = [&](std::size_t word, double expected, Problem problem) {
    cuda.backend.scalars.report_unequal(DType::float64, words.data() + word, expected, problem,
                                        cuda.queue);
  };
  report(0, 4, Problem::frozen_differently);
  CHECK_NOTHROW(words.values());
  report(0, 3, Problem::frozen_differently);
  report(1, 3, Problem::other_step);
  report(1, 5, Problem::label_out_of_range);
  std::string text;
  try {
    static_cast<void>(words.values());
  } catch (const InvalidUsage& error) {
    text = error.what();
  }
  CHECK(text.find(text_of(Problem::frozen_differently)) != std::string::npos);
  CHECK(text.find(text_of(Problem::other_step)) != std::string::npos);
  CHECK(text.find(text_of(Problem::label_out_of_range)) == std::string::npos);
  CHECK_NOTHROW(words.values());
}
