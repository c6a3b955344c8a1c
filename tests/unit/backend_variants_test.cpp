// Every vector variant gives the bits of the baseline.
#include <catch2/catch.hpp>
#include <cstdlib>
#include <string>

#include "backend_support.hpp"

using namespace backend_test;

namespace {

constexpr DType kFloats[] = {DType::float32, DType::float64};

std::vector<unsigned char> bytes_of(const void* data, std::size_t count) {
  const auto* first = static_cast<const unsigned char*>(data);
  return {first, first + count};
}

/// Random elements of any dtype, as bytes: floating-point values are finite.
std::vector<unsigned char> elements(DType dtype, std::int64_t count, unsigned seed) {
  const auto values = random_values<double>(count, seed, -100, 100);
  std::vector<unsigned char> result(static_cast<std::size_t>(count * byte_size(dtype)));
  cpu_backend().elementwise.cast(DType::float64, values.data(), dtype, result.data(), count,
                                 kQueue);
  return result;
}

}  // namespace

TEST_CASE("the best variant is chosen, unless LOCKSTEP_CPU_VARIANT names a lower one") {
  const auto variants = cpu::usable_variants();
  CHECK(std::string(variants.front()->variant) == "baseline");
  const char* wish = std::getenv("LOCKSTEP_CPU_VARIANT");
  std::string expected = variants.back()->variant;
  for (const cpu::Kernels* variant : variants)
    if (wish != nullptr && std::string(variant->variant) == wish) expected = wish;
  CHECK(cpu_variant() == expected);
}

TEST_CASE("tests can choose among the variants") {
  for_each_variant([](const char* name) { CHECK(std::string(cpu_variant()) == name); });
}

TEST_CASE("Adam gives the same bits in every variant") {
  for (const DType dtype : kFloats)
    for (const std::int64_t count : kOddSizes)
      for (const double decay : {0.0, 0.01}) {
        CHECK(same_in_all_variants([&] {
          auto w = elements(dtype, count, 1);
          const auto g = elements(dtype, count, 2);
          auto m = elements(dtype, count, 3);
          std::vector<unsigned char> v(w.size());
          const AdamSegment segment{0, count, 1e-3, 0.9, 0.999, 1e-8, decay, 0.02, 7};
          const ArenaPointers arena{w.data(), g.data(), m.data(), v.data(), 1.0 / 3};
          for (int step = 0; step < 3; ++step)
            cpu_backend().optimizer.adam(dtype, arena, {&segment, 1}, kQueue);
          w.insert(w.end(), m.begin(), m.end());
          w.insert(w.end(), v.begin(), v.end());
          return w;
        }));
      }
}

TEST_CASE("SGD gives the same bits in every variant") {
  for (const DType dtype : kFloats)
    for (const std::int64_t count : kOddSizes)
      for (const bool nesterov : {false, true}) {
        CHECK(same_in_all_variants([&] {
          auto w = elements(dtype, count, 1);
          const auto g = elements(dtype, count, 2);
          auto m = elements(dtype, count, 3);
          const SgdSegment segment{0, count, 1e-3, 0.9, 0, 0.1, nesterov, false};
          const ArenaPointers arena{w.data(), g.data(), m.data(), nullptr, 0.7};
          cpu_backend().optimizer.sgd(dtype, arena, {&segment, 1}, kQueue);
          w.insert(w.end(), m.begin(), m.end());
          return w;
        }));
      }
}

TEST_CASE("reductions give the same bits in every variant") {
  Reduction& reduction = cpu_backend().reduction;
  for (const DType dtype : kFloats)
    for (const std::int64_t count : kOddSizes) {
      const auto a = elements(dtype, 3 * count, 1);
      const auto b = elements(dtype, 3 * count, 2);
      CHECK(same_in_all_variants([&] {
        std::vector<double> result(static_cast<std::size_t>(count) + 8);
        reduction.sum(dtype, a.data(), 1, 3 * count, 1, 0.3, false, result.data(), kQueue);
        reduction.sum(dtype, a.data(), 3, count, 1, 0.3, false, &result[1], kQueue);
        reduction.add_sum_of_squares(dtype, a.data(), 3 * count, &result[4], kQueue);
        reduction.squared_difference(dtype, a.data(), b.data(), 3 * count, 0.1, &result[5], kQueue);
        reduction.sum(dtype, a.data(), 1, 3, count, 0.3, false, &result[6], kQueue);
        return result;
      }));
    }
}

TEST_CASE("the order of a sum is that of 16 lanes and a tree") {
  // 2^60 swallows the 1 of the lane that it is added to: the result names the order.
  std::vector<double> x(33, 1.0);
  x[0] = 0x1p60;
  x[32] = -0x1p60;
  double result = 0;
  cpu_backend().reduction.sum(DType::float64, x.data(), 1, 33, 1, 1, false, &result, kQueue);
  CHECK(result == 30);
}

TEST_CASE("casts between all dtypes give the same bits in every variant") {
  for (int from = 0; from < 7; ++from)
    for (int to = 0; to < 7; ++to)
      for (const std::int64_t count : kOddSizes) {
        const auto from_type = static_cast<DType>(from);
        const auto to_type = static_cast<DType>(to);
        const auto x = elements(from_type, count, 5);
        CHECK(same_in_all_variants([&] {
          std::vector<unsigned char> result(static_cast<std::size_t>(count * byte_size(to_type)));
          cpu_backend().elementwise.cast(from_type, x.data(), to_type, result.data(), count,
                                         kQueue);
          return result;
        }));
      }
}

TEST_CASE("folds give the same bits in every variant") {
  for (int index = 0; index < 7; ++index)
    for (const std::int64_t count : kOddSizes) {
      const auto dtype = static_cast<DType>(index);
      const auto a = elements(dtype, count, 1);
      const auto b = elements(dtype, count, 2);
      const auto c = elements(dtype, count, 3);
      const void* sources[] = {a.data(), b.data(), c.data()};
      CHECK(same_in_all_variants([&] {
        std::vector<unsigned char> result(a.size());
        cpu_backend().elementwise.fold_sum(dtype, sources, 3, result.data(), count, kQueue);
        return result;
      }));
      if (byte_size(dtype) < 4) continue;
      for (const bool maximum : {false, true})
        CHECK(same_in_all_variants([&] {
          std::vector<unsigned char> result(a.size());
          cpu_backend().elementwise.fold_extreme(dtype, maximum, sources, 3, result.data(), count,
                                                 kQueue);
          return result;
        }));
    }
}

TEST_CASE("elementwise operations give the same bits in every variant") {
  Elementwise& elementwise = cpu_backend().elementwise;
  for (const DType dtype : kFloats)
    for (const std::int64_t count : kOddSizes) {
      const auto a = elements(dtype, count, 1);
      const auto b = elements(dtype, count, 2);
      const std::size_t size = a.size();
      CHECK(same_in_all_variants([&] {
        std::vector<unsigned char> all;
        std::vector<unsigned char> y(size);
        const auto keep = [&] { all.insert(all.end(), y.begin(), y.end()); };
        Broadcast plain;
        plain.axes = 1;
        plain.sizes[0] = count;
        plain.a_strides[0] = plain.b_strides[0] = 1;
        for (int operation = 0; operation < 4; ++operation) {
          elementwise.binary(static_cast<BinaryOperation>(operation), dtype, plain, a.data(),
                             b.data(), y.data(), kQueue);
          keep();
        }
        elementwise.affine(dtype, a.data(), 1.1, -0.3, y.data(), count, kQueue);
        keep();
        elementwise.add_scaled(dtype, 0.7, a.data(), y.data(), count, kQueue);
        elementwise.scale(dtype, 1.0 / 3, y.data(), count, kQueue);
        keep();
        elementwise.scaled_difference(dtype, a.data(), b.data(), 0.9, y.data(), count, kQueue);
        keep();
        return all;
      }));
    }
}

TEST_CASE("cross-entropy gives the same bits in every variant") {
  for (const DType dtype : kFloats)
    for (const std::int64_t classes : {1, 2, 10, 16, 17, 100, 1000}) {
      const std::int64_t rows = 5;
      const auto logits = elements(dtype, rows * classes, 3);
      const std::vector<std::int64_t> labels = {0, classes - 1, -100, classes / 2, 0};
      CHECK(same_in_all_variants([&] {
        std::vector<unsigned char> softmax(logits.size());
        std::vector<double> numbers(2);
        cpu_backend().loss.cross_entropy(dtype, {rows, classes}, logits.data(), labels.data(),
                                         &numbers[0], softmax.data(), &numbers[1], kQueue);
        const auto more = bytes_of(numbers.data(), 16);
        softmax.insert(softmax.end(), more.begin(), more.end());
        return softmax;
      }));
    }
}

TEST_CASE("random numbers have the same bits in every variant") {
  for (const DType dtype : kFloats)
    for (const std::int64_t count : kOddSizes)
      CHECK(same_in_all_variants([&] {
        std::vector<unsigned char> result(static_cast<std::size_t>(4 * count * byte_size(dtype)));
        const RandomPosition position{42, 3, 0xfffffffe};
        const std::size_t part = result.size() / 4;
        cpu_backend().random.uniform(dtype, position, -1, 3, result.data(), count, kQueue);
        cpu_backend().random.normal(dtype, position, result.data() + part, count, kQueue);
        cpu_backend().random.bernoulli(dtype, position, 0.4, result.data() + 2 * part, count,
                                       kQueue);
        cpu_backend().random.dropout(dtype, position, 0.4, result.data(), result.data() + 3 * part,
                                     count, kQueue);
        return result;
      }));
}
