#include <catch2/catch.hpp>
#include <cstdint>
#include <limits>

#include <lockstep/core/error.hpp>
#include <lockstep/core/shape.hpp>

namespace ls = lockstep;
using Catch::Matchers::Contains;

TEST_CASE("a shape knows its axes and its number of elements") {
  const ls::Shape shape{2, 3, 5};
  CHECK(shape.axes() == 3);
  CHECK(shape.element_count() == 30);
  CHECK(shape[0] == 2);
  CHECK(shape[-1] == 5);
  CHECK(to_string(shape) == "(2, 3, 5)");
  CHECK(ls::Shape{}.element_count() == 1);
  CHECK(to_string(ls::Shape{}) == "()");
}

TEST_CASE("a size of zero makes an empty shape, wherever it stands") {
  constexpr std::int64_t kHuge = std::int64_t{1} << 40;
  CHECK(ls::Shape{0, 3}.element_count() == 0);
  CHECK(ls::Shape{3, 0}.element_count() == 0);
  CHECK(ls::Shape{kHuge, kHuge, 0}.element_count() == 0);
  CHECK(ls::Shape{0, kHuge, kHuge}.element_count() == 0);
}

TEST_CASE("sizes whose product overflows are refused and named") {
  constexpr std::int64_t kHuge = std::int64_t{1} << 32;
  CHECK_THROWS_AS((ls::Shape{kHuge, kHuge}), ls::ShapeError);
  CHECK_THROWS_WITH((ls::Shape{kHuge, kHuge}), Contains("4294967296, 4294967296"));
  CHECK_THROWS_AS((ls::Shape{kHuge, kHuge, kHuge, kHuge}), ls::ShapeError);
  CHECK_THROWS_AS((ls::Shape{std::numeric_limits<std::int64_t>::max(), 2}), ls::ShapeError);
}

TEST_CASE("negative sizes, too many axes and axes out of range are refused") {
  CHECK_THROWS_AS((ls::Shape{3, -1}), ls::ShapeError);
  CHECK_THROWS_AS((ls::Shape{1, 1, 1, 1, 1, 1, 1, 1, 1}), ls::ShapeError);
  CHECK_NOTHROW(ls::Shape{1, 1, 1, 1, 1, 1, 1, 1});
  CHECK_THROWS_AS((ls::Shape{2, 3}[2]), ls::ShapeError);
  CHECK_THROWS_AS((ls::Shape{2, 3}[-3]), ls::ShapeError);
}

TEST_CASE("shapes are equal if their sizes are") {
  CHECK(ls::Shape{2, 3} == ls::Shape{2, 3});
  CHECK_FALSE(ls::Shape{2, 3} == ls::Shape{3, 2});
  CHECK_FALSE(ls::Shape{2} == ls::Shape{2, 1});
  CHECK_FALSE(ls::Shape{} == ls::Shape{1});
}
