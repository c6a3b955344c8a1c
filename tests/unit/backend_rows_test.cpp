// Softmax, layer normalization and embedding of the CPU backend: bits and precision.
#include <catch2/catch.hpp>
#include <cmath>

#include "backend_support.hpp"
#include "core/portable_math.hpp"

using namespace backend_test;

namespace {

template <class T>
constexpr DType kDType = sizeof(T) == 4 ? DType::float32 : DType::float64;

/// All results of the families, forward and backward, one behind the other.
template <class T>
std::vector<T> all_of(std::int64_t rows, std::int64_t columns) {
  const std::int64_t count = rows * columns;
  const auto x = random_values<T>(count, 1, -9, 9);
  const auto gradient = random_values<T>(count, 2);
  const auto weight = random_values<T>(columns, 3);
  std::vector<T> all;
  std::vector<T> y(x.size());
  std::vector<T> dx(x.size());
  const auto keep = [&](const std::vector<T>& values) {
    all.insert(all.end(), values.begin(), values.end());
  };
  Normalization& normalization = cpu_backend().normalization;
  for (const bool logarithm : {false, true})
    for (const SoftmaxShape& shape :
         {SoftmaxShape{rows, columns, 1, logarithm}, SoftmaxShape{1, rows, columns, logarithm}}) {
      normalization.softmax(kDType<T>, shape, x.data(), y.data(), kQueue);
      normalization.softmax_backward(kDType<T>, shape, y.data(), gradient.data(), dx.data(),
                                     kQueue);
      keep(y);
      keep(dx);
    }
  const LayerNormShape shape{rows, columns};
  std::vector<double> statistics(static_cast<std::size_t>(2 * rows));
  std::vector<T> dweight(weight.size());
  std::vector<T> dbias(weight.size());
  for (const T* used : {weight.data(), static_cast<const T*>(nullptr)}) {
    normalization.layer_norm(kDType<T>, shape, x.data(), used, used, y.data(), statistics.data(),
                             kQueue);
    normalization.layer_norm_backward(kDType<T>, shape,
                                      {gradient.data(), x.data(), used, statistics.data(),
                                       dx.data(), dweight.data(), dbias.data()},
                                      kQueue);
    keep(y);
    keep(dx);
    keep(dweight);
    keep(dbias);
  }
  return all;
}

/// (rows, columns) looked up in 7 rows, and the gradient of these.
template <class T>
std::vector<T> embedding_of(std::int64_t rows, std::int64_t columns, bool accumulate) {
  const EmbeddingShape shape{rows, 7, columns, 2};
  std::vector<std::int64_t> indices;
  for (std::int64_t i = 0; i < rows; ++i) indices.push_back(i * i % 6);  // row 6 has none
  const auto weight = random_values<T>(7 * columns, 5);
  std::vector<T> y(static_cast<std::size_t>(rows * columns));
  Embedding& embedding = cpu_backend().embedding;
  embedding.embedding(kDType<T>, shape, indices.data(), weight.data(), y.data(), kQueue);
  std::vector<T> dweight(weight.size(), T{3});
  embedding.embedding_backward(kDType<T>, shape, indices.data(), y.data(), accumulate,
                               dweight.data(), kQueue);
  return dweight;
}

struct ThreadCount {
  explicit ThreadCount(int count) { set_cpu_thread_count(count); }
  ~ThreadCount() { set_cpu_thread_count(1); }
};

}  // namespace

TEMPLATE_TEST_CASE("operations on rows give the same bits in every variant", "", float, double) {
  for (const std::int64_t columns : kOddSizes) {
    INFO(columns);
    CHECK(same_in_all_variants([&] { return all_of<TestType>(3, columns); }));
  }
  CHECK(same_in_all_variants([] { return all_of<TestType>(0, 5); }));
}

TEMPLATE_TEST_CASE("operations on rows give the bits of one thread with any number of them", "",
                   float, double) {
  for (const std::int64_t columns : {1000, 33}) {
    const auto expected = all_of<TestType>(500, columns);
    const auto looked_up = embedding_of<TestType>(5000, columns, true);
    for (const int count : {2, 3, 7}) {
      const ThreadCount threads(count);
      CHECK(same_bits(all_of<TestType>(500, columns), expected));
      CHECK(same_bits(embedding_of<TestType>(5000, columns, true), looked_up));
    }
  }
}

TEMPLATE_TEST_CASE("softmax and its logarithm agree with their formulas in long double", "", float,
                   double) {
  const double tolerance = sizeof(TestType) == 4 ? 3e-7 : 1e-15;
  for (const std::int64_t inner : {1, 5, 21}) {
    const SoftmaxShape shape{2, 33, inner};
    const auto x = random_values<TestType>(2 * 33 * inner, 4, -20, 20);
    std::vector<TestType> y(x.size());
    std::vector<TestType> logarithms(x.size());
    Normalization& normalization = cpu_backend().normalization;
    normalization.softmax(kDType<TestType>, shape, x.data(), y.data(), kQueue);
    normalization.softmax(kDType<TestType>, {2, 33, inner, true}, x.data(), logarithms.data(),
                          kQueue);
    double largest = 0;
    for (std::int64_t line = 0; line < 2 * inner; ++line) {
      const std::int64_t first = line / inner * 33 * inner + line % inner;
      const auto at = [&](std::int64_t i) { return static_cast<std::size_t>(first + i * inner); };
      long double sum = 0;
      for (std::int64_t i = 0; i < 33; ++i) sum += std::exp(static_cast<long double>(x[at(i)]));
      for (std::int64_t i = 0; i < 33; ++i) {
        const long double exponential = std::exp(static_cast<long double>(x[at(i)]));
        largest = std::fmax(largest, static_cast<double>(std::fabs(y[at(i)] - exponential / sum)));
        const long double logarithm = x[at(i)] - std::log(sum);
        largest = std::fmax(largest, static_cast<double>(std::fabs(logarithms[at(i)] - logarithm) /
                                                         (1 - logarithm)));
      }
    }
    CHECK(largest <= tolerance);
  }
}

TEST_CASE("the exponential of softmax is within 2 last places, and 0 where it would be subnormal") {
  double largest = 0;
  for (int i = 0; i <= 87'000; ++i) {
    const auto x = static_cast<float>(-i * 1e-3);
    const double expected = std::exp(static_cast<double>(x));
    const double last_place = std::ldexp(1.0, std::ilogb(expected) - 23);
    largest = std::fmax(largest, std::fabs(portable::exp_below_one(x) - expected) / last_place);
  }
  CHECK(largest <= 2);
  CHECK(portable::exp_below_one(0.0F) == 1);
  CHECK(portable::exp_below_one(-0.0) == 1);
  CHECK(portable::exp_below_one(-87.5F) == 0);
  CHECK(portable::exp_below_one(-1e30F) == 0);
  CHECK(portable::exp_below_one(-INFINITY) == 0);
  CHECK(std::isnan(portable::exp_below_one(NAN)));
}

TEMPLATE_TEST_CASE("a mean that is large against the deviation does not cancel", "", float,
                   double) {
  // Whole numbers around the mean, which the type holds exactly.
  const double mean = sizeof(TestType) == 4 ? 4e6 : 1e6;
  const std::vector<TestType> near = {3, -1, 4, -1, -5, 9, -2, -6, 5, 3, -5, 8, -9};
  const auto count = static_cast<std::int64_t>(near.size());
  std::vector<TestType> far(near);
  for (TestType& value : far) value += static_cast<TestType>(mean);
  const auto results = [&](const std::vector<TestType>& x) {
    std::vector<double> statistics(2);
    std::vector<TestType> all(4 * x.size());
    TestType* const y = all.data();
    Normalization& normalization = cpu_backend().normalization;
    normalization.layer_norm(kDType<TestType>, {1, count}, x.data(), nullptr, nullptr, y,
                             statistics.data(), kQueue);
    normalization.layer_norm_backward(kDType<TestType>, {1, count},
                                      {near.data(), x.data(), near.data(), statistics.data(),
                                       y + count, y + 2 * count, y + 3 * count},
                                      kQueue);
    return all;
  };
  const auto expected = results(near);
  const auto found = results(far);
  double largest = 0;
  for (std::size_t i = 0; i < found.size(); ++i)
    largest = std::fmax(largest, std::fabs(static_cast<double>(found[i] - expected[i])) /
                                     (1 + std::fabs(static_cast<double>(expected[i]))));
  CHECK(largest <= (sizeof(TestType) == 4 ? 1e-6 : 1e-9));
}

TEST_CASE("the gradient of an embedding is added in float64 and rounded once") {
  // One after the other in float32, each 1 would be lost.
  constexpr std::int64_t kCount = 1001;
  std::vector<float> gradient(kCount, 1.0F);
  gradient[0] = 0x1p24F;
  const std::vector<std::int64_t> indices(kCount, 1);
  std::vector<float> result = {7, 7, 7};
  cpu_backend().embedding.embedding_backward(DType::float32, {kCount, 3, 1}, indices.data(),
                                             gradient.data(), false, result.data(), kQueue);
  CHECK(result == std::vector<float>{0, 0x1p24F + 1000, 0});
}

TEST_CASE("an accumulated gradient is added to what is there, but in the padding row") {
  const auto fresh = embedding_of<double>(10, 2, false);
  const auto added = embedding_of<double>(10, 2, true);
  for (std::size_t i = 0; i < fresh.size(); ++i) CHECK(added[i] == fresh[i] + 3);
  CHECK(fresh[4] == 0);   // row 2: padding
  CHECK(fresh[12] == 0);  // row 6: no index
  CHECK(fresh[2] != 0);
}
