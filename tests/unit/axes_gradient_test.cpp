// Operations along axes and batched products against central differences in float64.
#include <catch2/catch.hpp>

#include "unit/gradient_check.hpp"

namespace ls = lockstep;
using gradient_check::kTolerance;
using gradient_check::largest_error;
using gradient_check::random_leaves;
using gradient_check::Tensors;

namespace {

const std::vector<ls::Shape> kShapes = {{1},    {0},       {7},       {3, 5},
                                        {1, 4}, {2, 0, 3}, {2, 3, 4}, {2, 1, 3, 2}};

double error(const gradient_check::Function& function, const std::vector<ls::Shape>& shapes) {
  return largest_error(function, random_leaves(shapes));
}

}  // namespace

TEST_CASE("the gradients of transpose, permute and slice are right along every axis") {
  for (const ls::Shape& shape : kShapes)
    for (int axis = -shape.axes(); axis < shape.axes(); ++axis) {
      INFO(to_string(shape) << " axis " << axis);
      CHECK(error([&](const Tensors& x) { return ls::transpose(x[0], axis, 0); }, {shape}) <
            kTolerance);
      for (const std::int64_t step : {1, 2})
        CHECK(error([&](const Tensors& x) { return ls::slice(x[0], axis, 1, 100, step); },
                    {shape}) < kTolerance);
      CHECK(error([&](const Tensors& x) { return ls::slice(x[0], axis, 0, -1); }, {shape}) <
            kTolerance);
    }
  CHECK(error(
            [](const Tensors& x) {
              return ls::permute(x[0], {2, 0, 3, 1});
            },
            {{2, 3, 4, 5}}) < kTolerance);
}

TEST_CASE("the gradients of concatenate and stack are right along every axis") {
  for (const ls::Shape& shape : kShapes)
    for (int axis = -shape.axes(); axis < shape.axes(); ++axis) {
      INFO(to_string(shape) << " axis " << axis);
      const auto joined = [&](const Tensors& x) {
        return ls::concatenate({x[0], ls::slice(x[1], axis, 0, 2), x[0]}, axis);
      };
      CHECK(error(joined, {shape, shape}) < kTolerance);
      CHECK(error(
                [&](const Tensors& x) {
                  return ls::stack({x[0], x[1], x[1]}, axis);
                },
                {shape, shape}) < kTolerance);
    }
}

TEST_CASE("a value that is sliced many times collects all gradients, overlaps added") {
  const auto windows = [](const Tensors& x) {
    const ls::Tensor y = x[0] * x[0];
    Tensors parts;
    for (const std::int64_t begin : {0, 1, 2, 4})
      parts.push_back(ls::slice(y, 1, begin, begin + 3) * ls::slice(x[0], 1, -4, -1));
    return ls::concatenate(parts, 0);
  };
  CHECK(error(windows, {{2, 7}}) < kTolerance);
}

TEST_CASE("the gradients of sums and means over axes are right, kept or not") {
  for (const ls::Shape& shape : kShapes)
    for (const bool keep : {false, true})
      for (unsigned mask = 1; mask < 1U << shape.axes(); ++mask) {
        std::vector<int> axes;
        for (int axis = 0; axis < shape.axes(); ++axis)
          if ((mask >> axis & 1U) != 0) axes.insert(axes.begin(), axis - shape.axes());
        INFO(to_string(shape) << " mask " << mask << " keep " << keep);
        CHECK(error([&](const Tensors& x) { return ls::sum(x[0], axes, {.keep = keep}); },
                    {shape}) < kTolerance);
        if (shape.element_count() > 0)
          CHECK(error([&](const Tensors& x) { return ls::mean(x[0], axes, {.keep = keep}); },
                      {shape}) < kTolerance);
      }
}

TEST_CASE("the gradients of max and min are right along every axis") {
  for (const ls::Shape& shape : kShapes)
    for (int axis = -shape.axes(); axis < shape.axes(); ++axis) {
      if (shape[axis] == 0) continue;
      INFO(to_string(shape) << " axis " << axis);
      CHECK(error([&](const Tensors& x) { return ls::max(x[0], axis); }, {shape}) < kTolerance);
      CHECK(error([&](const Tensors& x) { return ls::min(x[0], axis, {.keep = true}); }, {shape}) <
            kTolerance);
    }
}

TEST_CASE("the gradients of batched products are right for every broadcast") {
  const std::vector<std::pair<ls::Shape, ls::Shape>> pairs{
      {{2, 3, 4}, {2, 4, 5}},       {{2, 3, 4}, {4, 5}},          {{3, 4}, {2, 4, 5}},
      {{2, 3, 4}, {1, 4, 5}},       {{1, 3, 4}, {2, 4, 5}},       {{2, 1, 2, 3}, {3, 3, 2}},
      {{2, 3, 2, 3}, {2, 1, 3, 4}}, {{3, 1, 2, 3}, {1, 2, 3, 2}}, {{0, 3, 4}, {4, 5}},
      {{2, 3, 0}, {2, 0, 5}},       {{2, 0, 4}, {4, 5}},          {{1, 1, 1}, {1, 1, 1}},
      {{2, 3, 4}, {0, 1, 4, 5}}};
  for (const auto& [a, b] : pairs) {
    INFO(to_string(a) << " and " << to_string(b));
    CHECK(error([](const Tensors& x) { return ls::matmul(x[0], x[1]); }, {a, b}) < kTolerance);
  }
  CHECK(error([](const Tensors& x) { return ls::matmul(x[0], ls::matmul(x[0], x[1])); },
              {{2, 3, 3}, {3, 2}}) < kTolerance);
}

TEST_CASE("an attention of several heads has the right gradient") {
  const auto attention = [](const Tensors& x) {
    const auto heads = [](const ls::Tensor& y) {
      return ls::transpose(ls::reshape(y, {2, 3, 2, 4}), 1, 2);
    };
    const ls::Tensor scores = ls::matmul(heads(x[0]), ls::transpose(heads(x[1]), -1, -2));
    return ls::reshape(ls::transpose(ls::matmul(scores * 0.1, heads(x[2])), 1, 2), {2, 3, 8});
  };
  CHECK(error(attention, {{2, 3, 8}, {2, 3, 8}, {2, 3, 8}}) < kTolerance);
}
