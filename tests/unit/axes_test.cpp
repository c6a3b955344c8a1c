// Operations along axes: every dtype, the edges, what they refuse, and casts between all dtypes.
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>

#include <lockstep/core/error.hpp>
#include <lockstep/lockstep.hpp>

namespace ls = lockstep;
using Catch::Matchers::Contains;

namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr ls::DType kAllDTypes[] = {ls::DType::float32, ls::DType::float64, ls::DType::bfloat16,
                                    ls::DType::float16, ls::DType::int64,   ls::DType::int32,
                                    ls::DType::uint8};
constexpr ls::DType kHalves[] = {ls::DType::bfloat16, ls::DType::float16};

/// 0, 1, 2, ... which every dtype holds.
ls::Tensor counting(const ls::Shape& shape, ls::DType dtype = ls::DType::float32) {
  std::vector<double> values(static_cast<std::size_t>(shape.element_count()));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<double>(i);
  return ls::tensor(values, shape).to(dtype);
}

std::vector<std::int64_t> integers(const ls::Tensor& x) { return x.to_vector<std::int64_t>(); }

}  // namespace

TEST_CASE("transpose, permute, slice, concatenate and stack copy every dtype") {
  using Values = std::vector<std::int64_t>;
  for (const ls::DType dtype : kAllDTypes) {
    INFO(name(dtype));
    const ls::Tensor x = counting({2, 3}, dtype);
    CHECK(ls::transpose(x, 0, 1).dtype() == dtype);
    CHECK(ls::transpose(x, 0, 1).shape() == ls::Shape{3, 2});
    CHECK(integers(ls::transpose(x, 0, -1)) == Values{0, 3, 1, 4, 2, 5});
    CHECK(integers(ls::permute(ls::reshape(x, {1, 2, 3}), {2, 0, 1})) == Values{0, 3, 1, 4, 2, 5});
    CHECK(integers(ls::slice(x, 1, 1, 3)) == Values{1, 2, 4, 5});
    CHECK(integers(ls::slice(x, 1, 0, 3, 2)) == Values{0, 2, 3, 5});
    CHECK(integers(ls::concatenate({x, ls::slice(x, 1, 2, 3)}, 1)) ==
          Values{0, 1, 2, 2, 3, 4, 5, 5});
    CHECK(integers(ls::concatenate({x, x}, 0)) == Values{0, 1, 2, 3, 4, 5, 0, 1, 2, 3, 4, 5});
    CHECK(ls::stack({x, x, x}, -1).shape() == ls::Shape{2, 3, 3});
    CHECK(integers(ls::stack({x, x}, 1)) == Values{0, 1, 2, 0, 1, 2, 3, 4, 5, 3, 4, 5});
  }
}

TEST_CASE("a large transpose is that of its elements, for every width of them") {
  for (const ls::DType dtype :
       {ls::DType::uint8, ls::DType::bfloat16, ls::DType::float32, ls::DType::float64}) {
    const ls::Tensor x = counting({3, 131, 517}).to(dtype);
    const auto before = x.to_vector<double>();
    const auto after = ls::transpose(x, 1, 2).to_vector<double>();
    bool right = true;
    for (std::size_t i = 0; i < after.size(); ++i)
      right =
          right && after[i] == before[i / (131 * 517) * 131 * 517 + i % 131 * 517 + i / 131 % 517];
    CHECK(right);
  }
}

TEST_CASE("16-bit floats have gradients through copies, and through several uses") {
  for (const ls::DType dtype : kHalves) {
    ls::Tensor x = counting({2, 3}).set_requires_grad(true);
    const ls::Tensor half = x.to(dtype);
    const ls::Tensor both =
        ls::concatenate({ls::transpose(half, 0, 1), ls::slice(ls::transpose(half, 0, 1), 0, 0, 2),
                         ls::reshape(ls::slice(half, 1, 1, 3), {2, 2})},
                        0);
    ls::sum(both.to(ls::DType::float32)).backward();
    CHECK(x.gradient().to_vector() == std::vector<float>{2, 3, 2, 2, 3, 2});
  }
}

TEST_CASE("results are copies") {
  ls::Tensor x = counting({2, 3});
  const ls::Tensor results[] = {ls::transpose(x, 0, 0), ls::slice(x, 0, 0, 2),
                                ls::concatenate({x}, 0), ls::stack({x}),
                                ls::sum(counting({1}), {0})};
  x.fill(9);
  for (const ls::Tensor& result : results) CHECK(result.to_vector().back() < 9);
  ls::Tensor one = ls::full({1, 1}, 3);
  const ls::Tensor kept = ls::sum(one, {0, 1}, {.keep = true});
  one.fill(9);
  CHECK(kept.item() == 3);
}

TEST_CASE("slices clamp as Python's do") {
  const ls::Tensor x = counting({5});
  const auto range = [&](std::int64_t begin, std::int64_t end, std::int64_t step = 1) {
    return integers(ls::slice(x, 0, begin, end, step));
  };
  using Values = std::vector<std::int64_t>;
  constexpr std::int64_t kLeast = std::numeric_limits<std::int64_t>::min();
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  CHECK(range(0, 5) == Values{0, 1, 2, 3, 4});
  CHECK(range(-2, kMost) == Values{3, 4});
  CHECK(range(kLeast, -3) == Values{0, 1});
  CHECK(range(3, 2).empty());
  CHECK(range(5, 5).empty());
  CHECK(range(7, 9).empty());
  CHECK(range(0, 5, 2) == Values{0, 2, 4});
  CHECK(range(1, 4, 2) == Values{1, 3});
  CHECK(range(1, 5, kMost) == Values{1});
  CHECK(ls::slice(ls::zeros({2, 0, 3}), 0, 1, 2).shape() == ls::Shape{1, 0, 3});
}

TEST_CASE("sums over nothing are 0 and means of nothing NaN") {
  const ls::Tensor x = ls::zeros({2, 0, 3});
  CHECK(ls::sum(x, {1}).to_vector() == std::vector<float>(6, 0));
  CHECK(ls::sum(x, {0}).shape() == ls::Shape{0, 3});
  for (const float value : ls::mean(x, {1}).to_vector()) CHECK(std::isnan(value));
  for (const float value : ls::mean(x, {0, 1}).to_vector()) CHECK(std::isnan(value));
  for (const float value : ls::mean(ls::zeros({2, 3, 0}), {0, 2}).to_vector())
    CHECK(std::isnan(value));
}

TEST_CASE("a sum over neighbouring axes is rounded once") {
  ls::Generator generator{3};
  const ls::Tensor x = ls::uniform({50, 30, 1, 30}, 0, 1, ls::DType::float32, generator);
  const auto expected = ls::sum(x.to(ls::DType::float64), {1, 3}).to_vector();
  CHECK(ls::sum(x, {1, 3}).to_vector() == expected);
}

TEST_CASE("max, min, argmax and argmin take the first of equals, and a NaN before all") {
  using Values = std::vector<float>;
  const ls::Tensor x = ls::tensor({1.0F, 5.0F, 5.0F, -1.0F, -2.0F, -1.0F}, {2, 3});
  CHECK(ls::argmax(x).dtype() == ls::DType::int64);
  CHECK(integers(ls::argmax(x)) == std::vector<std::int64_t>{1, 0});
  CHECK(integers(ls::argmax(x, 0)) == std::vector<std::int64_t>{0, 0, 0});
  CHECK(integers(ls::argmin(x)) == std::vector<std::int64_t>{0, 1});
  CHECK(integers(ls::argmin(x, 0)) == std::vector<std::int64_t>{1, 1, 1});
  CHECK(ls::argmax(x, 0, {.keep = true}).shape() == ls::Shape{1, 3});
  CHECK(ls::max(x, 1).to_vector() == Values{5, -1});
  CHECK(ls::min(x, 0).to_vector() == Values{-1, -2, -1});
  const ls::Tensor odd = ls::tensor({1.0F, kNan, kInfinity, kNan, -kInfinity, -kInfinity}, {2, 3});
  CHECK(integers(ls::argmax(odd)) == std::vector<std::int64_t>{1, 0});
  CHECK(integers(ls::argmin(odd)) == std::vector<std::int64_t>{1, 0});
  CHECK(integers(ls::argmax(odd, 0)) == std::vector<std::int64_t>{1, 0, 0});
  CHECK(integers(ls::argmin(odd, 0)) == std::vector<std::int64_t>{1, 0, 1});
  for (const float value : ls::min(odd, 1).to_vector()) CHECK(std::isnan(value));
}

TEST_CASE("max and min of integers are exact") {
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  const ls::Tensor x = ls::tensor<std::int64_t>({kMost - 1, kMost, -kMost, -kMost - 1}, {2, 2});
  CHECK(integers(ls::max(x, 1)) == std::vector<std::int64_t>{kMost, -kMost});
  CHECK(integers(ls::min(x, 1)) == std::vector<std::int64_t>{kMost - 1, -kMost - 1});
  CHECK(integers(ls::max(x, 0)) == std::vector<std::int64_t>{kMost - 1, kMost});
  CHECK(integers(ls::max(x.to(ls::DType::int32), 1)) == std::vector<std::int64_t>{-1, 1});
}

TEST_CASE("the gradient of max goes to one element, the first of equals") {
  ls::Tensor x = ls::full({2, 3, 2}, 4).set_requires_grad(true);
  ls::sum(ls::max(x, 1) * 3.0).backward();
  CHECK(x.gradient().to_vector() == std::vector<float>{3, 3, 0, 0, 0, 0, 3, 3, 0, 0, 0, 0});
}

TEST_CASE("an axis without elements has no extreme, unless nothing is asked for") {
  CHECK_THROWS_AS(ls::max(ls::zeros({2, 0}), 1), ls::InvalidUsage);
  CHECK_THROWS_WITH(ls::argmax(ls::zeros({2, 0})),
                    Contains("argmax") && Contains("axis 1") && Contains("(2, 0)"));
  CHECK(ls::max(ls::zeros({2, 0}), 0).shape() == ls::Shape{0});
  CHECK(ls::argmax(ls::zeros({0, 3})).shape() == ls::Shape{0});
}

TEST_CASE("errors name the operation, the axis and the shape") {
  const ls::Tensor x = ls::zeros({2, 3});
  const auto out_of_range = [](const std::string& operation, int axis) {
    return operation + ": axis " + std::to_string(axis) + " is out of range for shape (2, 3)";
  };
  CHECK_THROWS_WITH(ls::transpose(x, 0, 2), out_of_range("transpose", 2));
  CHECK_THROWS_WITH(ls::permute(x, {0, -3}), out_of_range("permute", -3));
  CHECK_THROWS_WITH(ls::slice(x, -3, 0, 1), out_of_range("slice", -3));
  CHECK_THROWS_WITH(ls::concatenate({x, x}, 2), out_of_range("concatenate", 2));
  CHECK_THROWS_WITH(ls::sum(x, {0, 2}), out_of_range("sum", 2));
  CHECK_THROWS_WITH(ls::mean(x, {-3}), out_of_range("mean", -3));
  CHECK_THROWS_WITH(ls::max(x, 2), out_of_range("max", 2));
  CHECK_THROWS_WITH(ls::min(x, 2), out_of_range("min", 2));
  CHECK_THROWS_WITH(ls::argmax(x, 2), out_of_range("argmax", 2));
  CHECK_THROWS_AS(ls::transpose(x, 0, 2), ls::ShapeError);
  CHECK_THROWS_AS(ls::argmax(ls::zeros({})), ls::ShapeError);
  CHECK_NOTHROW(ls::stack({x, x}, 2));
  CHECK_THROWS_AS(ls::stack({x, x}, 3), ls::ShapeError);
}

TEST_CASE("wrong use of the operations along axes is refused") {
  const ls::Tensor x = ls::zeros({2, 3});
  CHECK_THROWS_AS(ls::permute(x, {0}), ls::ShapeError);
  CHECK_THROWS_AS(ls::permute(x, {0, -2}), ls::InvalidUsage);
  CHECK_THROWS_WITH(ls::slice(x, 0, 0, 2, 0), Contains("step"));
  CHECK_THROWS_AS(ls::concatenate({}, 0), ls::InvalidUsage);
  CHECK_THROWS_AS(ls::concatenate({x, ls::Tensor{}}, 0), ls::InvalidUsage);
  CHECK_THROWS_WITH(ls::concatenate({x, ls::zeros({3, 2})}, 0),
                    Contains("(2, 3)") && Contains("(3, 2)") && Contains("axis 0"));
  CHECK_THROWS_AS(ls::concatenate({x, ls::zeros({3})}, 0), ls::ShapeError);
  CHECK_THROWS_WITH(ls::concatenate({x, x.to(ls::DType::int32)}, 0),
                    Contains("float32") && Contains("int32"));
  CHECK_THROWS_WITH(ls::stack({x, ls::zeros({3, 2})}), Contains("stack") && Contains("(3, 2)"));
  CHECK_THROWS_AS(ls::stack({}), ls::InvalidUsage);
  CHECK_THROWS_AS(ls::sum(x, {0, -2}), ls::InvalidUsage);
  CHECK_THROWS_AS(ls::sum(x, std::vector<int>{}), ls::InvalidUsage);
  CHECK_THROWS_AS(ls::sum(x.to(ls::DType::int64), {0}), ls::InvalidUsage);
  CHECK_THROWS_WITH(ls::max(x.to(ls::DType::uint8), 0), Contains("uint8"));
  CHECK_THROWS_AS(ls::transpose(ls::Tensor{}, 0, 1), ls::InvalidUsage);
}

TEST_CASE("batched products refuse what does not fit, naming both shapes") {
  const auto product = [](const ls::Shape& a, const ls::Shape& b) {
    return ls::matmul(ls::zeros(a), ls::zeros(b));
  };
  CHECK(product({5, 1, 2, 3}, {4, 3, 6}).shape() == ls::Shape{5, 4, 2, 6});
  CHECK_THROWS_AS(product({2, 2, 3}, {3, 3, 2}), ls::ShapeError);
  CHECK_THROWS_WITH(product({2, 2, 3}, {2, 4, 5}), Contains("(2, 2, 3)") && Contains("(2, 4, 5)"));
  CHECK_THROWS_AS(product({2, 2, 3}, {3}), ls::ShapeError);
  CHECK(product({0, 2, 3}, {3, 4}).shape() == ls::Shape{0, 2, 4});
  CHECK(product({2, 2, 0}, {2, 0, 4}).to_vector() == std::vector<float>(16, 0));
}

TEST_CASE("batched products refuse operands that were written over") {
  ls::Tensor a = ls::full({2, 1, 2}, 1);
  const ls::Tensor b = ls::full({2, 2, 1}, 1).set_requires_grad(true);
  const ls::Tensor c = ls::matmul(a, b);
  a.fill(0);
  CHECK_THROWS_WITH(c.backward(ls::zeros({2, 1, 1})), Contains("matmul"));
}

TEST_CASE("a tensor converts between any two dtypes, and back in gradients between floats") {
  for (const ls::DType from : kAllDTypes)
    for (const ls::DType to : kAllDTypes) {
      INFO(name(from) << " to " << name(to));
      const ls::Tensor x = counting({2, 100}, from);
      CHECK(x.to(to).dtype() == to);
      CHECK(x.to(to).shape() == x.shape());
      CHECK(integers(x.to(to)) == integers(counting({2, 100})));
      CHECK(ls::zeros({0}, from).to(to).element_count() == 0);
      if (!ls::is_floating_point(from)) continue;
      const ls::Tensor leaf = x.detach().clone().set_requires_grad(true);
      CHECK(leaf.to(to).requires_grad() == ls::is_floating_point(to));
      if (!ls::is_floating_point(to)) continue;
      leaf.to(to).backward(counting({2, 100}, to));
      CHECK(leaf.gradient().dtype() == from);
      CHECK(integers(leaf.gradient()) == integers(x));
    }
}
