// Unary operations and losses of pairs: every vector variant gives the bits of the baseline.
#include <catch2/catch.hpp>

#include "backend_support.hpp"
#include "core/loss_functions.hpp"
#include "core/unary_functions.hpp"

using namespace backend_test;

TEMPLATE_TEST_CASE("unary operations give the same bits in every variant", "", float, double) {
  Elementwise& elementwise = cpu_backend().elementwise;
  for (const std::int64_t count : kOddSizes)
    for (int index = 0; index < portable::kUnaryOperations; ++index) {
      const auto operation = static_cast<UnaryOperation>(index);
      INFO(portable::name_of(operation) << " of " << count);
      const auto x = random_values<TestType>(count, 1, 0.01, 10);
      const auto gradient = random_values<TestType>(count, 2, -3, 3);
      const bool any_sign = operation != UnaryOperation::log && operation != UnaryOperation::pow &&
                            operation != UnaryOperation::sqrt;
      CHECK(same_in_all_variants([&] {
        auto values = x;
        for (std::size_t i = 0; any_sign && i < values.size(); i += 2) values[i] = -values[i];
        std::vector<TestType> both(2 * x.size());
        const DType dtype = dtype_of<TestType>;
        elementwise.unary(operation, dtype, values.data(), {0.7, 1.3}, both.data(), count, kQueue);
        elementwise.unary_backward(operation, dtype, values.data(), gradient.data(), {0.7, 1.3},
                                   both.data() + count, count, kQueue);
        return both;
      }));
    }
}

TEMPLATE_TEST_CASE("losses of pairs give the same bits in every variant", "", float, double) {
  const DType dtype = dtype_of<TestType>;
  Loss& loss = cpu_backend().loss;
  for (const std::int64_t count : kOddSizes)
    for (int index = 0; index < portable::kPairLosses; ++index) {
      const PairLoss given{static_cast<portable::PairLossKind>(index), count, 0.3, 1.7};
      INFO(portable::name_of(given.kind) << " of " << count);
      const auto x = random_values<TestType>(count, 1, -9, 9);
      const auto t = random_values<TestType>(count, 2, 0, 1);
      const TestType gradient = 2;
      CHECK(same_in_all_variants([&] {
        std::vector<TestType> all(2 * x.size() + 1);
        loss.pair(dtype, given, x.data(), t.data(), all.data(), kQueue);
        for (const bool of_target : {false, true})
          loss.pair_backward(dtype, given, x.data(), t.data(), &gradient, of_target,
                             all.data() + 1 + (of_target ? count : 0), kQueue);
        return all;
      }));
    }
}
