// A module of the program's own: two inputs, two outputs, float64, a bare parameter beside layers.
// Each rank has a part of the batch; the gradients are those of the whole batch.
#include <cmath>
#include <cstdio>
#include <span>
#include <utility>

#include <lockstep/lockstep.hpp>

namespace ls = lockstep;

namespace {

struct TwoHeads {
  ls::nn::Linear left{3, 5, {.dtype = ls::DType::float64}};
  ls::nn::Linear right{2, 5, {.bias = false, .dtype = ls::DType::float64}};
  ls::nn::Linear head{5, 4, {.dtype = ls::DType::float64}};
  ls::Parameter scale{ls::full({5}, 1.5, ls::DType::float64)};

  template <class Visitor>
  void visit(Visitor&& visitor) {
    visitor("left", left);
    visitor("right", right);
    visitor("head", head);
    visitor("scale", scale);
  }
  std::pair<ls::Tensor, ls::Tensor> operator()(const ls::Tensor& a, const ls::Tensor& b) const {
    const ls::Tensor hidden = ls::relu(left(a) + right(b)) * scale;
    return {head(hidden), ls::sum(hidden * hidden)};
  }
};

constexpr std::int64_t kRowsPerRank = 4;

/// Rows [first, first + count) of the whole batch.
ls::Tensor rows(const ls::Tensor& whole, std::int64_t first, std::int64_t count) {
  const std::int64_t columns = whole.shape()[1];
  const double* begin = whole.data<double>() + first * columns;
  return ls::tensor(std::span(begin, static_cast<std::size_t>(count * columns)), {count, columns});
}

/// Mean over `count` samples.
template <class Model>
ls::Tensor loss_of(Model& model, const ls::Tensor& a, const ls::Tensor& b, std::int64_t count) {
  auto [scores, energy] = model(a, b);
  return (ls::sum(scores * scores) + 0.5 * energy) * (1.0 / static_cast<double>(count));
}

}  // namespace

int main(int argc, char** argv) {
  return ls::run(argc, argv, [](ls::Environment& env) -> int {
    env.seed(3);
    TwoHeads alone;
    env.seed(3);
    TwoHeads model;
    ls::DataParallel replica{model, env};

    ls::Generator generator{11};
    const std::int64_t count = kRowsPerRank * env.size();
    const ls::Tensor a = ls::uniform({count, 3}, -1, 1, ls::DType::float64, generator);
    const ls::Tensor b = ls::uniform({count, 2}, -1, 1, ls::DType::float64, generator);

    loss_of(alone, a, b, count).backward();
    const std::int64_t first = kRowsPerRank * env.rank();
    loss_of(replica, rows(a, first, kRowsPerRank).to(env.device()),
            rows(b, first, kRowsPerRank).to(env.device()), kRowsPerRank)
        .backward();

    const ls::ParameterList expected = ls::parameters(alone);
    const ls::ParameterList& found = replica.parameters();
    if (found.size() != 6 || found[5].name != "scale" || found[2].name != "right.weight") return 1;
    for (std::size_t i = 0; i < found.size(); ++i) {
      const auto want = expected[i].parameter.gradient().to_vector<double>();
      const auto have = found[i].parameter.gradient().to_vector<double>();
      for (std::size_t k = 0; k < want.size(); ++k)
        if (!(std::abs(have[k] - want[k]) <= 1e-12 * (1 + std::abs(want[k])))) {
          std::fprintf(stderr, "rank %d: gradient of %s [%zu] is %.17g, not %.17g\n", env.rank(),
                       found[i].name.c_str(), k, have[k], want[k]);
          return 1;
        }
    }
    return 0;
  });
}
