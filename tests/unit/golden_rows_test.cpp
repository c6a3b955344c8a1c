// Operations on rows, forward and backward, against PyTorch's results.
#include <string_view>

#include <lockstep/core/operations.hpp>

#include "golden/check.hpp"

namespace ls = lockstep;

namespace {

constexpr const char* kRows =
#include "golden/rows.inc"
    ;

ls::Tensor normalized(const golden::Case& expected, const golden::Tensors& in) {
  const std::span<const std::int64_t> sizes = in[0].shape().sizes();
  const auto axes = static_cast<std::size_t>(std::stoi(expected.options.at("axes")));
  const double epsilon = std::stod(expected.options.at("epsilon"));
  return ls::layer_norm(in[0], ls::Shape(sizes.last(axes)), in.size() > 1 ? in[1] : ls::Tensor{},
                        in.size() > 2 ? in[2] : ls::Tensor{}, epsilon);
}

ls::Tensor looked_up(const golden::Case& expected, const golden::Tensors& in) {
  ls::EmbeddingOptions options;
  if (expected.options.contains("padding"))
    options.padding_index = std::stoll(expected.options.at("padding"));
  return ls::embedding(expected.labels[0].integers(), in[0], options);
}

/// Calls the operation that the name of the case starts with.
ls::Tensor call(const golden::Case& expected, const golden::Tensors& in) {
  const std::string_view name = expected.name;
  if (name.starts_with("layer_norm_")) return normalized(expected, in);
  if (name.starts_with("embedding_")) return looked_up(expected, in);
  if (name.starts_with("smoothed_"))
    return ls::cross_entropy(
        in[0], expected.labels[0].integers(),
        {.reduction =
             expected.options.at("reduction") == "sum" ? ls::Reduction::sum : ls::Reduction::mean,
         .label_smoothing = std::stod(expected.options.at("smoothing"))});
  const int axis = std::stoi(expected.options.at("axis"));
  if (name.starts_with("softmax_")) return ls::softmax(in[0], axis);
  if (name.starts_with("log_softmax_")) return ls::log_softmax(in[0], axis);
  FAIL("no operation for " << expected.name);
  return {};
}

}  // namespace

TEST_CASE("operations on rows and their gradients agree with PyTorch") {
  const std::vector<golden::Case> cases = golden::read(kRows);
  REQUIRE(cases.size() > 60);
  golden::check_operations(cases, call);
}

TEST_CASE("gradients of rows that nobody wants are not needed for the others") {
  golden::check_single_gradients(golden::read(kRows), call);
}
