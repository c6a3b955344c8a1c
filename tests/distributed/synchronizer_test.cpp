// GradientSynchronizer: gradients of the program's own, in any order, in any memory.
#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <numeric>
#include <thread>

#include <lockstep/core/error.hpp>
#include <lockstep/parallel/gradient_synchronizer.hpp>

#include "distributed/models.hpp"

namespace ls = lockstep;
using Catch::Contains;

namespace {

int rank() { return test_environment().rank(); }
int size() { return test_environment().size(); }
const ls::Communicator& ranks() { return test_environment().ranks(); }

constexpr std::int64_t kCount = 7;

/// Seven gradients of 1 to 13 elements, next to each other in one piece of memory or each with a
/// gap behind it. Element k of gradient i is 100 i + k + factor * rank.
struct Gradients {
  std::vector<std::vector<std::int64_t>> places;  // index of each element in `memory`
  std::vector<double> memory;
  std::vector<std::int64_t> ids;

  explicit Gradients(bool adjacent) {
    std::int64_t next = 0;
    for (std::int64_t i = 0; i < kCount; ++i) {
      auto& place = places.emplace_back(static_cast<std::size_t>(2 * i + 1));
      std::iota(place.begin(), place.end(), next);
      next += 2 * i + 1 + (adjacent ? 0 : 3);
    }
    memory.assign(static_cast<std::size_t>(next), -1);
  }
  void add_to(ls::GradientSynchronizer& synchronizer) {
    for (const auto& place : places)
      ids.push_back(synchronizer.add("gradient " + std::to_string(ids.size()),
                                     ls::borrow(&memory[static_cast<std::size_t>(place[0])],
                                                {static_cast<std::int64_t>(place.size())})));
    synchronizer.commit();
  }
  void fill(double factor) {
    for_each([&](double& element, double base) { element = base + factor * rank(); });
  }
  /// Whether all elements are scale * (100 i + k) + offset.
  bool are(double scale, double offset) {
    bool good = true;
    for_each([&](double& element, double base) {
      good = good && std::abs(element - (scale * base + offset)) < 1e-9;
    });
    return good;
  }
  bool gaps_are_untouched() const {
    std::vector<bool> used(memory.size());
    for (const auto& place : places)
      for (const std::int64_t i : place) used[static_cast<std::size_t>(i)] = true;
    for (std::size_t i = 0; i < memory.size(); ++i)
      if (!used[i] && memory[i] != -1) return false;
    return true;
  }

 private:
  template <class Function>
  void for_each(Function function) {
    for (std::size_t i = 0; i < places.size(); ++i)
      for (std::size_t k = 0; k < places[i].size(); ++k)
        function(memory[static_cast<std::size_t>(places[i][k])], 100.0 * i + k);
  }
};

double middle_rank() { return (size() - 1) / 2.0; }

}  // namespace

TEST_CASE("gradients may become ready in any order, different on each rank") {
  for (const bool adjacent : {true, false}) {
    Gradients gradients(adjacent);
    ls::GradientSynchronizer synchronizer{ranks(), {.bucket_bytes = 100, .first_bucket_bytes = 20}};
    gradients.add_to(synchronizer);
    CHECK(synchronizer.bucket_count() > 2);
    ls::Generator generator{5, static_cast<std::uint64_t>(rank())};
    for (int step = 1; step <= 5; ++step) {
      gradients.fill(step);
      for (const std::int64_t i : generator.permutation(kCount))
        synchronizer.ready(gradients.ids[static_cast<std::size_t>(i)]);
      synchronizer.finish();
      CHECK(gradients.are(1, step * middle_rank()));
      CHECK(gradients.gaps_are_untouched());
    }
    CHECK(synchronizer.counters().steps == 5);
    const bool exchanged = size() > 1;
    CHECK(synchronizer.counters().collectives == (exchanged ? 5 * synchronizer.bucket_count() : 0));
    CHECK(synchronizer.counters().bytes_reduced == (exchanged ? 5 * 49 * 8 : 0));
  }
}

TEST_CASE("adjacent memory is not copied, scattered memory is, once in and once out") {
  for (const bool adjacent : {true, false}) {
    Gradients gradients(adjacent);
    ls::GradientSynchronizer synchronizer{ranks()};
    gradients.add_to(synchronizer);
    CHECK(synchronizer.bucket_count() == 1);
    gradients.fill(1);
    for (const std::int64_t id : gradients.ids) synchronizer.ready(id);
    synchronizer.finish();
    CHECK(gradients.are(1, middle_rank()));
    CHECK(synchronizer.counters().bytes_copied == (adjacent || size() == 1 ? 0 : 2 * 49 * 8));
  }
}

TEST_CASE("ready() may be called from several threads at once") {
  Gradients gradients(true);
  ls::GradientSynchronizer synchronizer{ranks(), {.bucket_bytes = 50, .first_bucket_bytes = 50}};
  gradients.add_to(synchronizer);
  for (int step = 0; step < 20; ++step) {
    gradients.fill(1);
    std::vector<std::thread> threads;
    for (std::size_t first = 0; first < 3; ++first)
      threads.emplace_back([&, first] {
        for (std::size_t i = first; i < kCount; i += 3) synchronizer.ready(gradients.ids[i]);
      });
    for (std::thread& thread : threads) thread.join();
    synchronizer.finish();
    CHECK(gradients.are(1, middle_rank()));
  }
}

TEST_CASE("the average is a mean, a sum, or weighted by samples") {
  const auto exchange = [](Gradients& gradients, ls::Averaging averaging, double samples) {
    ls::GradientSynchronizer synchronizer{ranks(), {.averaging = averaging}};
    gradients.add_to(synchronizer);
    if (averaging == ls::Averaging::weighted) synchronizer.set_sample_count(samples);
    gradients.fill(1);
    for (const std::int64_t id : gradients.ids) synchronizer.ready(id);
    synchronizer.finish();
  };
  Gradients mean(true);
  exchange(mean, ls::Averaging::mean, 0);
  CHECK(mean.are(1, middle_rank()));

  Gradients sum(true);
  exchange(sum, ls::Averaging::sum, 0);
  CHECK(sum.are(size(), size() * middle_rank()));

  // Rank r has r + 1 samples: sum r (r + 1) / sum (r + 1) = 2 (W - 1) / 3.
  Gradients weighted(false);
  exchange(weighted, ls::Averaging::weighted, rank() + 1);
  CHECK(weighted.are(1, 2.0 * (size() - 1) / 3));
}

TEST_CASE("in rank order the sum has the same bits whatever the buckets") {
  constexpr std::int64_t kParts = 8;
  constexpr std::int64_t kElements = 5000;
  const auto values_of = [](int of_rank) {
    ls::Generator generator{8, static_cast<std::uint64_t>(of_rank)};
    return ls::normal({kParts * kElements}, ls::DType::float32, generator).to_vector();
  };
  std::vector<float> expected = values_of(0);
  for (int other = 1; other < size(); ++other) {
    const std::vector<float> values = values_of(other);
    for (std::size_t i = 0; i < expected.size(); ++i) expected[i] += values[i];
  }
  for (const std::int64_t bucket_bytes : {1L, 30000L, 1L << 20}) {
    INFO("buckets of " << bucket_bytes << " bytes");
    std::vector<float> memory = values_of(rank());
    ls::GradientSynchronizer synchronizer{ranks(),
                                          {.bucket_bytes = bucket_bytes,
                                           .first_bucket_bytes = bucket_bytes,
                                           .averaging = ls::Averaging::sum,
                                           .order = ls::SumOrder::ranks}};
    for (std::int64_t i = 0; i < kParts; ++i)
      synchronizer.add(std::to_string(i), ls::borrow(&memory[i * kElements], {kElements}));
    synchronizer.commit();
    for (std::int64_t i = 0; i < kParts; ++i) synchronizer.ready(i);
    synchronizer.finish();
    CHECK((memory == expected));
  }
}

TEST_CASE("a rank without samples finishes without the rest") {
  Gradients gradients(true);
  ls::GradientSynchronizer synchronizer{ranks(), {.averaging = ls::Averaging::weighted}};
  gradients.add_to(synchronizer);
  // Rank r has r samples, so rank 0 has none.
  for (int step = 0; step < 3; ++step) {
    synchronizer.set_sample_count(rank());
    gradients.fill(1);
    if (rank() != 0)
      for (const std::int64_t id : gradients.ids) synchronizer.ready(id);
    rank() == 0 ? synchronizer.finish_without_rest() : synchronizer.finish();
    if (size() > 1) CHECK(gradients.are(1, (2.0 * size() - 1) / 3));
    if (size() == 1) CHECK(gradients.are(0, 0));
  }
}

TEST_CASE("with no samples on any rank the gradients are exactly zero") {
  Gradients gradients(true);
  ls::GradientSynchronizer synchronizer{ranks(), {.averaging = ls::Averaging::weighted}};
  gradients.add_to(synchronizer);
  gradients.fill(1);
  synchronizer.set_sample_count(0);
  for (const std::int64_t id : gradients.ids) synchronizer.ready(id);
  synchronizer.finish();
  CHECK(gradients.are(0, 0));
}

TEST_CASE("gradients that are not ready are named, and may be completed") {
  Gradients gradients(true);
  ls::GradientSynchronizer synchronizer{ranks()};
  gradients.add_to(synchronizer);
  gradients.fill(0);
  for (std::size_t i = 0; i < kCount; ++i)
    if (i != 2 && i != 5) synchronizer.ready(gradients.ids[i]);
  CHECK_THROWS_AS(synchronizer.finish(), ls::InvalidUsage);
  CHECK_THROWS_WITH(synchronizer.finish(),
                    Contains("gradient 2") && Contains("gradient 5") && !Contains("gradient 3"));
  synchronizer.ready(gradients.ids[2]);
  synchronizer.ready(gradients.ids[5]);
  synchronizer.finish();
  CHECK(gradients.are(1, 0));
}

TEST_CASE("misuse is refused where it happens") {
  Gradients gradients(true);
  ls::GradientSynchronizer synchronizer{ranks()};
  CHECK_THROWS_AS(synchronizer.finish(), ls::InvalidUsage);
  CHECK_THROWS_AS(synchronizer.add("labels", ls::zeros({3}, ls::DType::int64)), ls::InvalidUsage);
  gradients.add_to(synchronizer);
  CHECK_THROWS_AS(synchronizer.add("late", ls::zeros({3})), ls::InvalidUsage);
  CHECK_THROWS_AS(synchronizer.commit(), ls::InvalidUsage);
  CHECK_THROWS_AS(synchronizer.ready(kCount), ls::InvalidUsage);
  CHECK_THROWS_AS(synchronizer.ready(-1), ls::InvalidUsage);
  CHECK_THROWS_AS(synchronizer.set_sample_count(3), ls::InvalidUsage);
  synchronizer.ready(gradients.ids[0]);
  CHECK_THROWS_WITH(synchronizer.ready(gradients.ids[0]), Contains("gradient 0"));
  synchronizer.finish_without_rest();
}

TEST_CASE("different gradients on different ranks are refused on all of them") {
  if (size() == 1) return;
  const bool odd = rank() == 1;
  const auto commit = [](const char* name, const ls::Shape& shape, ls::DType dtype) {
    ls::GradientSynchronizer synchronizer{ranks()};
    synchronizer.add(name, ls::zeros(shape, dtype));
    synchronizer.commit();
  };
  const auto f32 = ls::DType::float32;
  CHECK_THROWS_WITH(commit("g", odd ? ls::Shape{2, 6} : ls::Shape{3, 4}, f32),
                    Contains("g") && Contains("(3, 4)") && Contains("(2, 6)"));
  CHECK_THROWS_WITH(commit("g", {3}, odd ? ls::DType::float64 : f32),
                    Contains("float32") && Contains("float64"));
  CHECK_THROWS_WITH(commit(odd ? "other" : "g", {3}, f32), Contains("other"));
}

TEST_CASE("gradients without elements, and a synchronizer without gradients, are legal") {
  ls::Tensor none = ls::zeros({0, 3});
  ls::Tensor some = ls::full({2}, rank());
  ls::GradientSynchronizer synchronizer{ranks()};
  const auto a = synchronizer.add("none", none);
  const auto b = synchronizer.add("some", some);
  synchronizer.commit();
  synchronizer.ready(a);
  synchronizer.ready(b);
  synchronizer.finish();
  CHECK(some.to_vector()[1] == Approx(middle_rank()));

  ls::GradientSynchronizer nothing{ranks()};
  nothing.commit();
  CHECK_NOTHROW(nothing.finish());
}

TEST_CASE("gradients of every floating-point type are averaged") {
  for (const ls::DType dtype :
       {ls::DType::float32, ls::DType::float64, ls::DType::bfloat16, ls::DType::float16}) {
    INFO(ls::name(dtype));
    // Integers up to 4 and their mean times the number of ranks are exact in all of them.
    ls::Tensor gradient = ls::full({5}, size() * (rank() + 1), dtype);
    ls::GradientSynchronizer synchronizer{ranks()};
    const auto id = synchronizer.add("g", gradient);
    synchronizer.commit();
    synchronizer.ready(id);
    synchronizer.finish();
    const std::vector<float> mean(5, static_cast<float>(size() * (size() + 1) / 2));
    CHECK(gradient.to_vector() == mean);
  }
}

TEST_CASE("a synchronizer can be moved") {
  Gradients gradients(true);
  ls::GradientSynchronizer first{ranks()};
  gradients.add_to(first);
  ls::GradientSynchronizer second = std::move(first);
  gradients.fill(1);
  for (const std::int64_t id : gradients.ids) second.ready(id);
  second.finish();
  CHECK(gradients.are(1, middle_rank()));
  CHECK(second.ranks().size() == size());
}
