// Two models with a replica and an optimizer each, trained alternately (as a GAN is), with
// parameter groups that have options of their own. The answer has a closed form.
#include <array>
#include <cmath>
#include <cstdio>
#include <utility>

#include <lockstep/lockstep.hpp>

namespace ls = lockstep;

namespace {

struct Pair {
  ls::Parameter weight{ls::full({}, 1.0, ls::DType::float64)};
  ls::Parameter offset{ls::full({}, 2.0, ls::DType::float64)};

  template <class Visitor>
  void visit(Visitor&& visitor) {
    visitor("weight", weight);
    visitor("offset", offset);
  }
  ls::Tensor operator()(double x) const { return weight.value() * x + offset.value(); }
};

ls::ParameterList only(const char* name, const ls::Parameter& parameter) {
  ls::ParameterList list;
  list.push_back({name, parameter.share()});
  return list;
}

bool close(const char* what, const ls::Parameter& parameter, double expected) {
  const double value = parameter.value().item<double>();
  if (std::abs(value - expected) <= 1e-12) return true;
  std::fprintf(stderr, "%s is %.17g, not %.17g\n", what, value, expected);
  return false;
}

}  // namespace

int main(int argc, char** argv) {
  return ls::run(argc, argv, [](ls::Environment& env) -> int {
    Pair first;
    Pair second;
    ls::DataParallel first_replica{first, env};
    ls::DataParallel second_replica{second, env};

    using SgdGroup = ls::optim::Group<ls::optim::SgdOptions>;
    std::array<SgdGroup, 2> sgd_groups{
        SgdGroup{only("weight", first.weight), {.learning_rate = 0.5, .weight_decay = 0.25}},
        SgdGroup{only("offset", first.offset), {.learning_rate = 0.125}}};
    ls::optim::Sgd sgd{sgd_groups};
    using AdamWGroup = ls::optim::Group<ls::optim::AdamWOptions>;
    std::array<AdamWGroup, 2> adamw_groups{
        AdamWGroup{only("weight", second.weight),
                   {.learning_rate = 0.01, .epsilon = 0, .weight_decay = 0.5}},
        AdamWGroup{only("offset", second.offset),
                   {.learning_rate = 0.1, .epsilon = 0, .weight_decay = 0}}};
    ls::optim::AdamW adamw{adamw_groups};
    if (sgd.group_count() != 2 || sgd.learning_rate(1) != 0.125) return 1;

    // d loss / d weight = rank + 1, mean (size + 1) / 2; d loss / d offset = 1.
    const double x = env.rank() + 1;
    const double mean_x = (env.size() + 1) / 2.0;
    double weight = 1.0;
    double offset = 2.0;
    double adam_weight = 1.0;
    double adam_offset = 2.0;
    for (int step = 0; step < 6; ++step) {
      sgd.zero_grad();
      first_replica(x).backward();
      sgd.step();
      weight -= 0.5 * (mean_x + 0.25 * weight);
      offset -= 0.125;

      adamw.zero_grad();
      second_replica(x).backward();
      adamw.step();
      // With a constant gradient, Adam without epsilon moves by the learning rate.
      adam_weight = adam_weight * (1 - 0.01 * 0.5) - 0.01;
      adam_offset -= 0.1;
      if (step == 2) adamw.set_learning_rate(0, 0.01);
    }
    const bool good = close("first.weight", first.weight, weight) &&
                      close("first.offset", first.offset, offset) &&
                      close("second.weight", second.weight, adam_weight) &&
                      close("second.offset", second.offset, adam_offset);
    return good ? 0 : 1;
  });
}
