// Operations along axes and batched products, forward and backward, against PyTorch's results.
#include <string_view>

#include <lockstep/core/operations.hpp>

#include "golden/check.hpp"

namespace ls = lockstep;

namespace {

constexpr const char* kAxes =
#include "golden/axes.inc"
    ;

template <class T>
std::vector<T> numbers(const golden::Case& expected, const char* option) {
  std::vector<T> values;
  std::istringstream words(expected.options.at(option));
  for (std::string word; std::getline(words, word, ',');)
    values.push_back(static_cast<T>(std::stoll(word)));
  return values;
}

/// Calls the operation that the name of the case starts with.
ls::Tensor call(const golden::Case& expected, const golden::Tensors& in) {
  const std::string_view name = expected.name;
  if (name.starts_with("matmul_")) return ls::matmul(in[0], in[1]);
  const auto axes = numbers<int>(expected, "axes");
  if (name.starts_with("transpose_")) return ls::transpose(in[0], axes[0], axes[1]);
  if (name.starts_with("permute_")) return ls::permute(in[0], axes);
  if (name.starts_with("concatenate_")) return ls::concatenate(in, axes[0]);
  if (name.starts_with("stack_")) return ls::stack(in, axes[0]);
  if (name.starts_with("slice_")) {
    const auto range = numbers<std::int64_t>(expected, "range");
    return ls::slice(in[0], axes[0], range[0], range[1], range[2]);
  }
  const bool keep = numbers<int>(expected, "keep")[0] != 0;
  if (name.starts_with("sum_")) return ls::sum(in[0], axes, {.keep = keep});
  if (name.starts_with("mean_")) return ls::mean(in[0], axes, {.keep = keep});
  if (name.starts_with("max_")) return ls::max(in[0], axes[0], {.keep = keep});
  if (name.starts_with("min_")) return ls::min(in[0], axes[0], {.keep = keep});
  FAIL("no operation for " << expected.name);
  return {};
}

}  // namespace

TEST_CASE("operations along axes and their gradients agree with PyTorch") {
  const std::vector<golden::Case> cases = golden::read(kAxes);
  REQUIRE(cases.size() > 110);
  golden::check_operations(cases, call);
}

TEST_CASE("gradients along axes that nobody wants are not needed for the others") {
  golden::check_single_gradients(golden::read(kAxes), call);
}
