#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <cmath>
#include <vector>

#include <lockstep/core/error.hpp>
#include <lockstep/core/random.hpp>

namespace ls = lockstep;
using Words = std::array<std::uint32_t, 4>;

TEST_CASE("Philox gives the published answers") {
  // Random123, kat_vectors: philox4x32 10.
  CHECK(ls::philox(0, 0, 0) == Words{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8});
  CHECK(ls::philox(~0ULL, ~0ULL, ~0ULL) == Words{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd});
  CHECK(ls::philox(0x299f31d0a4093822, 0x85a308d3243f6a88, 0x0370734413198a2e) ==
        Words{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1});
}

TEST_CASE("the elements of a uniform draw are the words of the blocks at its position") {
  ls::Generator generator(7, 9);
  generator.set_offset(100);
  const auto x = ls::uniform({10}, 0, 1, ls::DType::float32, generator).to_vector<float>();
  for (std::size_t i = 0; i < 10; ++i) {
    const auto block = ls::philox(7, 100 + i / 4, 9);
    CHECK(x[i] == static_cast<float>(block[i % 4] >> 8) * 0x1p-24F);
  }
  CHECK(generator.offset() == 103);
  const auto y = ls::uniform({3}, 0, 1, ls::DType::float64, generator).to_vector<double>();
  for (std::size_t i = 0; i < 3; ++i) {
    const auto block = ls::philox(7, 103 + i / 2, 9);
    const std::uint64_t word = block[i % 2 * 2] | static_cast<std::uint64_t>(block[i % 2 * 2 + 1])
                                                      << 32;
    CHECK(y[i] == static_cast<double>(word >> 11) * 0x1p-53);
  }
  CHECK(generator.offset() == 105);
}

TEST_CASE("a mask is 1 where the word of the element is below the probability") {
  constexpr double kProbability = 0.3;
  ls::Generator generator(7, 9);
  generator.set_offset(100);
  const auto mask = ls::bernoulli({1003}, kProbability, ls::DType::float32, generator).to_vector();
  CHECK(generator.offset() == 100 + 251);
  for (std::size_t i = 0; i < mask.size(); ++i) {
    const std::uint32_t word = ls::philox(7, 100 + i / 4, 9)[i % 4];
    CHECK(mask[i] == (word < kProbability * 0x1p32 ? 1.0F : 0.0F));
  }
  ls::Generator same(7, 9);
  same.set_offset(100);
  CHECK(ls::bernoulli({1003}, kProbability, ls::DType::float64, same).to_vector() == mask);
}

TEST_CASE("masks of probability 0 and 1 are exact, and others are refused") {
  ls::Generator generator(1);
  const auto all = [&](double probability) {
    return ls::bernoulli({5000}, probability, ls::DType::float32, generator).to_vector();
  };
  CHECK(all(0) == std::vector<float>(5000, 0.0F));
  CHECK(all(1) == std::vector<float>(5000, 1.0F));
  CHECK_THROWS_AS(all(1.5), ls::InvalidUsage);
  CHECK_THROWS_AS(all(-0.1), ls::InvalidUsage);
  CHECK_THROWS_AS(all(std::nan("")), ls::InvalidUsage);
}

TEST_CASE("uniform values stay below the upper end, also where rounding would reach it") {
  ls::Generator generator(1);
  for (const auto& value :
       ls::uniform({100000}, 1, 1.0000002, ls::DType::float32, generator).to_vector<float>())
    if (!(value >= 1.0F && value < 1.0000002F)) FAIL("out of range: " << value);
}

TEST_CASE("uniform values are spread over their range by low + (high - low) u") {
  ls::Generator generator(1);
  ls::Generator same(1);
  const auto x = ls::uniform({1001}, -3, 5, ls::DType::float64, generator).to_vector<double>();
  const auto u = ls::uniform({1001}, 0, 1, ls::DType::float64, same).to_vector<double>();
  double sum = 0;
  for (std::size_t i = 0; i < 1001; ++i) {
    CHECK(x[i] == -3 + 8 * u[i]);
    sum += u[i];
  }
  CHECK(*std::min_element(u.begin(), u.end()) >= 0);
  CHECK(*std::max_element(u.begin(), u.end()) < 1);
  CHECK(sum / 1001 == Approx(0.5).margin(0.03));
}

TEST_CASE("normal values have the moments of the distribution") {
  ls::Generator generator(3);
  const int count = 200001;
  const auto x = ls::normal({count}, ls::DType::float64, generator).to_vector<double>();
  double moments[5] = {};
  for (const double value : x)
    for (int power = 1; power <= 4; ++power) moments[power] += std::pow(value, power) / count;
  CHECK(moments[1] == Approx(0).margin(0.01));
  CHECK(moments[2] == Approx(1).margin(0.02));
  CHECK(moments[3] == Approx(0).margin(0.05));
  CHECK(moments[4] == Approx(3).margin(0.1));
  CHECK(generator.offset() == 100001);
}

TEST_CASE("normal values are Box-Muller pairs of a block, and float32 is float64 rounded") {
  ls::Generator generator(5, 1);
  ls::Generator again(5, 1);
  const auto x = ls::normal({7}, ls::DType::float64, generator).to_vector<double>();
  const auto y = ls::normal({7}, ls::DType::float32, again).to_vector<float>();
  for (std::size_t i = 0; i < 7; ++i) {
    const auto block = ls::philox(5, i / 2, 1);
    const auto unit = [&](std::size_t word) {
      return static_cast<double>(
                 (block[word] | static_cast<std::uint64_t>(block[word + 1]) << 32) >> 11) *
             0x1p-53;
    };
    const double radius = std::sqrt(-2 * std::log(1 - unit(0)));
    const double angle = 6.283185307179586 * unit(2);
    CHECK(x[i] == Approx(radius * (i % 2 == 0 ? std::cos(angle) : std::sin(angle))).epsilon(1e-12));
    CHECK(y[i] == static_cast<float>(x[i]));
  }
}

TEST_CASE("draws of one generator differ, and copies of it repeat them") {
  ls::Generator generator(11);
  ls::Generator copy = generator;
  const auto a = ls::normal({5}, ls::DType::float32, generator).to_vector<float>();
  const auto b = ls::normal({5}, ls::DType::float32, generator).to_vector<float>();
  CHECK(a != b);
  CHECK(ls::normal({5}, ls::DType::float32, copy).to_vector<float>() == a);
  ls::Generator other_stream(11, 1);
  CHECK(ls::normal({5}, ls::DType::float32, other_stream).to_vector<float>() != a);
}

TEST_CASE("no elements take no blocks") {
  ls::Generator generator(11);
  CHECK(ls::normal({0}, ls::DType::float32, generator).element_count() == 0);
  CHECK(ls::uniform({3, 0}, 0, 1, ls::DType::float64, generator).element_count() == 0);
  CHECK(generator.offset() == 0);
}

TEST_CASE("integers below a bound are uniform") {
  ls::Generator generator(2);
  std::array<int, 7> counts{};
  for (int i = 0; i < 70000; ++i) ++counts[generator.below(7)];
  for (const int count : counts) CHECK(std::abs(count - 10000) < 400);
  CHECK(generator.below(1) == 0);
  // 3 * 2^62: without drawing again every third value would come up twice as often.
  const std::uint64_t bound = 3ULL << 62;
  int thirds = 0;
  for (int i = 0; i < 9000; ++i) {
    const std::uint64_t value = generator.below(bound);
    CHECK(value < bound);
    thirds += value % 3 == 0 ? 1 : 0;
  }
  CHECK(std::abs(thirds - 3000) < 250);
}

TEST_CASE("a permutation holds every number once, and any place may hold any number") {
  ls::Generator generator(4);
  auto order = generator.permutation(1000);
  const auto other = generator.permutation(1000);
  CHECK(order != other);
  std::sort(order.begin(), order.end());
  for (std::int64_t i = 0; i < 1000; ++i) CHECK(order[static_cast<std::size_t>(i)] == i);
  int places[3][3] = {};
  for (int i = 0; i < 9000; ++i) {
    const auto three = generator.permutation(3);
    for (int place = 0; place < 3; ++place) ++places[place][three[static_cast<std::size_t>(place)]];
  }
  for (const auto& row : places)
    for (const int count : row) CHECK(std::abs(count - 3000) < 250);
  CHECK(generator.permutation(0).empty());
  CHECK_THROWS_AS(generator.permutation(-1), ls::InvalidUsage);
}

TEST_CASE("randn draws from the default generator, which can be set") {
  ls::default_generator() = ls::Generator(17);
  const auto a = ls::randn({2, 3});
  CHECK(a.dtype() == ls::DType::float32);
  ls::Generator same(17);
  CHECK(a.to_vector<float>() == ls::normal({6}, ls::DType::float32, same).to_vector<float>());
}
