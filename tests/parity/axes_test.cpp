// Operations along axes and batched products, forward and backward, through the public interface.
#include <string>

#include "parity/functions.hpp"

using namespace parity;

namespace {

const std::vector<ls::Shape> kShapes = {{1},          {0},      {7},       {257},
                                        {5, 33},      {1, 4},   {2, 0, 3}, {3, 5, 7},
                                        {2, 9, 1, 8}, {40, 35}, {2, 3, 64}};

template <class Body>
void for_each_axis(const Body& body) {
  for (const ls::Shape& shape : kShapes)
    for (int axis = 0; axis < shape.axes(); ++axis) {
      INFO(to_string(shape) << " axis " << axis);
      body(shape, axis);
    }
}

}  // namespace

TEMPLATE_TEST_CASE("copies along axes have the same bits on CUDA, backward too", "", float,
                   double) {
  if (no_device()) return;
  for_each_axis([](const ls::Shape& shape, int axis) {
    check_same<TestType>([&](const Tensors& x) { return ls::transpose(x[0], axis, -1); }, {shape});
    check_same<TestType>([&](const Tensors& x) { return ls::slice(x[0], axis, 1, -1, 2); },
                         {shape});
    check_same<TestType>(
        [&](const Tensors& x) {
          const ls::Tensor part = ls::slice(x[1], axis, 0, 3);
          return ls::concatenate({x[0], part, ls::slice(x[0], axis, -2, 100)}, axis);
        },
        {shape, shape});
    check_same<TestType>(
        [&](const Tensors& x) {
          return ls::stack({x[0], x[1]}, axis);
        },
        {shape, shape});
  });
  check_same<TestType>(
      [](const Tensors& x) {
        return ls::permute(x[0], {2, 0, 3, 1});
      },
      {{2, 33, 4, 50}});
}

TEMPLATE_TEST_CASE("extremes have the same bits on CUDA, backward too", "", float, double) {
  if (no_device()) return;
  for_each_axis([](const ls::Shape& shape, int axis) {
    if (shape[axis] == 0) return;
    check_same<TestType>([&](const Tensors& x) { return ls::max(x[0], axis); }, {shape});
    check_same<TestType>([&](const Tensors& x) { return ls::min(x[0], axis, {.keep = true}); },
                         {shape});
    const ls::Tensor x = random_tensor(shape, ls::dtype_of<TestType>, 7);
    for (const auto operation : {ls::argmax, ls::argmin}) {
      const ls::Tensor found = operation(x.to(kCuda), axis, {});
      CHECK(found.shape() == operation(x, axis, {}).shape());
      CHECK(same(operation(x, axis, {}).template to_vector<std::int64_t>(),
                 found.template to_vector<std::int64_t>()));
    }
  });
}

TEMPLATE_TEST_CASE("sums and means over axes agree on CUDA", "", float, double) {
  if (no_device()) return;
  const double tolerance = kSum<TestType>;
  for_each_axis([&](const ls::Shape& shape, int axis) {
    check_near<TestType>([&](const Tensors& x) { return ls::sum(x[0], {axis}); }, {shape},
                         tolerance);
    check_near<TestType>([&](const Tensors& x) { return ls::mean(x[0], {axis}, {.keep = true}); },
                         {shape}, tolerance);
  });
  check_near<TestType>(
      [](const Tensors& x) {
        return ls::mean(x[0], {-1, 0});
      },
      {{3, 70, 5}}, tolerance);
}

TEMPLATE_TEST_CASE("batched products agree on CUDA in every form of a broadcast", "", float,
                   double) {
  if (no_device()) return;
  const std::vector<std::pair<ls::Shape, ls::Shape>> pairs{
      {{2, 3, 4}, {2, 4, 5}},       {{2, 3, 4}, {4, 5}},           {{3, 4}, {2, 4, 5}},
      {{1, 3, 4}, {2, 4, 5}},       {{2, 1, 2, 3}, {3, 3, 2}},     {{2, 3, 2, 3}, {2, 1, 3, 4}},
      {{3, 1, 2, 3}, {1, 2, 3, 2}}, {{0, 3, 4}, {0, 4, 5}},        {{2, 3, 0}, {2, 0, 5}},
      {{2, 16, 257}, {2, 257, 9}},  {{2, 3, 16, 8}, {2, 3, 8, 32}}};
  for (const auto& [a, b] : pairs) {
    INFO(to_string(a) << " and " << to_string(b));
    check_near<TestType>([](const Tensors& x) { return ls::matmul(x[0], x[1]); }, {a, b},
                         kProduct<TestType>);
  }
  check_near<TestType>(
      [](const Tensors& x) { return ls::matmul(x[0], x[1]) + ls::matmul(x[0] * 0.5, x[1]); },
      {{3, 5, 7}, {3, 7, 2}}, kProduct<TestType>);
}

TEST_CASE("every dtype is copied and converted on CUDA as on the CPU") {
  if (no_device()) return;
  constexpr ls::DType kAll[] = {ls::DType::float32, ls::DType::float64, ls::DType::bfloat16,
                                ls::DType::float16, ls::DType::int64,   ls::DType::int32,
                                ls::DType::uint8};
  const ls::Tensor values = random_tensor({5, 36}, ls::DType::float64, 3) * 50.0;
  for (const ls::DType from : kAll) {
    INFO(name(from));
    const auto both = [&](const auto& function) {
      const ls::Tensor x = values.to(from);
      return std::pair(function(x).template to_vector<double>(),
                       function(x.to(kCuda)).template to_vector<double>());
    };
    CHECK(same(both([](const ls::Tensor& x) { return ls::transpose(x, 0, 1); })));
    CHECK(same(both([](const ls::Tensor& x) { return ls::slice(x, 1, 2, 30, 3); })));
    CHECK(same(both([](const ls::Tensor& x) { return ls::concatenate({x, x, x}, 1); })));
    for (const ls::DType to : kAll)
      CHECK(same(both([&](const ls::Tensor& x) { return x.to(to); })));
  }
}

TEST_CASE("16-bit gradients are added up on CUDA as on the CPU") {
  if (no_device()) return;
  for (const ls::DType dtype : {ls::DType::bfloat16, ls::DType::float16})
    check_same<float>(
        [&](const Tensors& x) {
          const ls::Tensor half = x[0].to(dtype);
          const ls::Tensor parts = ls::concatenate(
              {ls::slice(half, 1, 0, 3), ls::slice(half, 1, 2, 7), ls::transpose(half, 0, 1)}, 1);
          return parts.to(ls::DType::float32);
        },
        {{9, 9}});
}

TEST_CASE("a captured step may hold operations along axes and batched products") {
  if (no_device()) return;
  const auto run = [](ls::Device device) {
    ls::Tensor weight = random_tensor({3, 8, 8}, ls::DType::float64, 1).to(device);
    weight.set_requires_grad(true);
    ls::CapturedStep step{[&](const ls::Tensor& x) {
      const ls::Tensor heads = ls::matmul(ls::transpose(x, 0, 1), weight);
      const ls::Tensor both = ls::concatenate({ls::slice(heads, 2, 0, 5), heads}, 2);
      ls::Tensor loss = ls::mean(ls::max(both, 2), {0, 1});
      weight.zero_gradient();
      loss.backward();
      return loss;
    }};
    std::vector<std::vector<double>> values;
    for (std::uint64_t i = 0; i < 6; ++i) {
      const ls::Tensor x = random_tensor({4, 3, 8}, ls::DType::float64, 2 + i);
      values.push_back(step(x.to(device)).to_vector<double>());
      values.push_back(weight.gradient().to_vector<double>());
    }
    CHECK(step.replay_count() == (device == kCuda ? 4 : 0));
    return values;
  };
  CHECK(apart(run(ls::Device::cpu()), run(kCuda)) <= kProduct<double>);
}
