// Softmax cross-entropy.
#include <string>

#include "parity/functions.hpp"

using namespace parity;

namespace {

constexpr std::int64_t kIgnored = -7;

std::vector<std::int64_t> some_labels(std::int64_t rows, std::int64_t classes,
                                      int ignored_of_four) {
  std::mt19937_64 engine(3);
  std::vector<std::int64_t> labels(static_cast<std::size_t>(rows));
  for (auto& label : labels)
    label = static_cast<int>(engine() % 4) < ignored_of_four
                ? kIgnored
                : static_cast<std::int64_t>(engine() % static_cast<std::uint64_t>(classes));
  return labels;
}

/// Loss and gradient on both devices.
template <class T>
auto losses(const ls::Tensor& logits, const std::vector<std::int64_t>& labels,
            ls::Reduction reduction, bool odd) {
  const ls::Tensor targets = ls::tensor(labels, {static_cast<std::int64_t>(labels.size())});
  return on_devices<T>(
      [&](const Tensors& x) {
        return ls::cross_entropy(x[0], targets.to(x[0].device()),
                                 {.reduction = reduction, .ignore_index = kIgnored});
      },
      Tensors{logits}, odd);
}

}  // namespace

TEMPLATE_TEST_CASE("cross-entropy agrees on CUDA, whatever the number of rows and classes", "",
                   float, double) {
  if (no_device()) return;
  const std::vector<std::pair<std::int64_t, std::int64_t>> sizes = {
      {1, 1}, {5, 3}, {7, 10}, {33, 17}, {3, 257}, {2, 1025}, {1030, 130}, {5000, 2}};
  for (const auto& [rows, classes] : sizes)
    for (const auto reduction : {ls::Reduction::mean, ls::Reduction::sum})
      for (const int ignored : {0, 1, 4}) {
        INFO(rows << " x " << classes << ", ignored " << ignored << " of 4");
        const auto labels = some_labels(rows, classes, ignored);
        const auto logits = random_tensor({rows, classes}, ls::dtype_of<TestType>, 8);
        CHECK(apart(losses<TestType>(logits, labels, reduction, rows % 2 == 1)) <= kSum<TestType>);
      }
}

TEMPLATE_TEST_CASE("cross-entropy of no rows is 0 as a sum on CUDA and NaN as a mean", "", float,
                   double) {
  if (no_device()) return;
  for (const auto reduction : {ls::Reduction::mean, ls::Reduction::sum}) {
    const auto both =
        losses<TestType>(ls::empty({0, 3}, ls::dtype_of<TestType>), {}, reduction, false);
    CHECK(same(both));
    CHECK(std::isnan(both.second[0][0]) == (reduction == ls::Reduction::mean));
  }
}

TEMPLATE_TEST_CASE("logits of +-1000 give a finite loss on CUDA, and its gradient", "", float,
                   double) {
  if (no_device()) return;
  const std::vector<TestType> values = {1000, -1000, 0,    -1000, 1000,  1000,
                                        0,    0,     1000, -1000, -1000, -1000};
  const auto both =
      losses<TestType>(ls::tensor(values, {4, 3}), {0, 0, 2, 1}, ls::Reduction::mean, false);
  CHECK(std::isfinite(both.second[0][0]));
  CHECK(apart(both) <= kSum<TestType>);
}

TEMPLATE_TEST_CASE("rows that are left out get a gradient of exactly 0 on CUDA", "", float,
                   double) {
  if (no_device()) return;
  const auto logits = random_tensor({3, 5}, ls::dtype_of<TestType>, 9);
  const auto both =
      losses<TestType>(logits, {kIgnored, kIgnored, kIgnored}, ls::Reduction::mean, false);
  CHECK(std::isnan(both.second[0][0]));
  CHECK(both.second[1] == std::vector<TestType>(15, 0));
  CHECK(same(both));
}

TEMPLATE_TEST_CASE("a label out of range is reported by the next read from CUDA, once", "", float,
                   double) {
  if (no_device()) return;
  const auto logits = random_tensor({3, 5}, ls::dtype_of<TestType>, 10).to(kCuda);
  for (const std::int64_t wrong : {std::int64_t{5}, std::int64_t{-1}, std::int64_t{1} << 40}) {
    const ls::Tensor targets = ls::tensor<std::int64_t>({1, wrong, 4}, {3}, kCuda);
    const ls::Tensor loss = ls::cross_entropy(logits, targets);
    std::string text;
    try {
      static_cast<void>(loss.item());
    } catch (const ls::InvalidUsage& error) {
      text = error.what();
    }
    INFO(text);
    CHECK(text.find("label") != std::string::npos);
    CHECK(text.find("cuda:0") != std::string::npos);
    CHECK(std::isnan(loss.item()));  // no second time
    const ls::Tensor right = ls::tensor<std::int64_t>({1, 0, 4}, {3}, kCuda);
    CHECK_NOTHROW(ls::cross_entropy(logits, right).item());
  }
}

TEST_CASE("any read reports a wrong label, also of another tensor and after backward") {
  if (no_device()) return;
  ls::Tensor logits = random_tensor({2, 3}, ls::DType::float32, 11).to(kCuda);
  logits.set_requires_grad(true);
  const ls::Tensor other = ls::full({4}, 2.5, ls::DType::float64, kCuda);
  ls::cross_entropy(logits, ls::tensor<std::int64_t>({0, 3}, {2}, kCuda)).backward();
  CHECK_THROWS_AS(other.to_vector<double>(), ls::InvalidUsage);
  CHECK(other.to_vector<double>() == std::vector<double>(4, 2.5));
  CHECK_NOTHROW(logits.gradient().to_vector());
}
