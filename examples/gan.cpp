// Two models trained alternately: a generator learns to make points of a ring of eight Gaussians,
// and a critic to tell them from real ones (least squares: Mao et al., arXiv:1611.04076). Each has
// a replica and an optimizer of its own.
#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include <lockstep/lockstep.hpp>

#include "common/command_line.hpp"
#include "common/result.hpp"

namespace ls = lockstep;

namespace {

constexpr std::int64_t kNoise = 4;     // numbers that the generator starts from
constexpr std::int64_t kPoints = 500;  // per rank, to measure the distance with
constexpr double kPi = 3.14159265358979323846;

ls::Tensor real_points(std::int64_t count, ls::Generator& generator) {
  std::vector<float> points = ls::normal({count, 2}, ls::DType::float32, generator).to_vector();
  for (std::size_t i = 0; i < points.size(); i += 2) {
    const double angle = static_cast<double>(generator.below(8)) * kPi / 4;
    points[i] = static_cast<float>(std::cos(angle)) + 0.05F * points[i];
    points[i + 1] = static_cast<float>(std::sin(angle)) + 0.05F * points[i + 1];
  }
  return ls::tensor(points, {count, 2});
}

double mean_distance(const std::vector<double>& a, const std::vector<double>& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); i += 2)
    for (std::size_t j = 0; j < b.size(); j += 2)
      sum += std::hypot(a[i] - b[j], a[i + 1] - b[j + 1]);
  return sum / (static_cast<double>(a.size() / 2) * static_cast<double>(b.size() / 2));
}

// The energy distance (Szekely and Rizzo, 2013): 0 where both are the same distribution.
double energy_distance(const ls::Tensor& x, const ls::Tensor& y) {
  const auto a = x.to_vector<double>();
  const auto b = y.to_vector<double>();
  return 2 * mean_distance(a, b) - mean_distance(a, a) - mean_distance(b, b);
}

ls::Tensor distance_to(double target, const ls::Tensor& scores) {
  return ls::mse_loss(scores, ls::full(scores.shape(), target, scores.dtype(), scores.device()));
}

// A frozen model is passed through, and takes no part in the exchange.
template <class Model>
void set_frozen(Model& model, bool frozen) {
  for (auto& [name, parameter] : ls::parameters(model)) {
    if (frozen)
      parameter.freeze();
    else
      parameter.unfreeze();
  }
}

}  // namespace

int main(int argc, char** argv) {
  return ls::run(argc, argv, [&](ls::Environment& env) {
    common::TrainingOptions options{.batch_size = 64};
    std::int64_t steps = 1500;
    CLI::App app{"Trains a generator and a critic alternately.", "gan"};
    common::add_run_options(app, options);
    common::add_batch_option(app, options);
    app.add_option("--steps", steps, "of each model")->check(common::whole_number_from(1));
    if (const auto status = common::parse(app, argc, argv, env)) return *status;
    common::apply(options, env);

    ls::nn::Mlp generator{{kNoise, 64, 64, 2}};
    ls::nn::Mlp critic{{2, 64, 64, 1}};
    ls::DataParallel make{generator, env};
    ls::DataParallel judge{critic, env};
    ls::optim::Adam generator_adam{make.parameters(), {.learning_rate = 1e-3, .beta1 = 0.5}};
    ls::optim::Adam critic_adam{judge.parameters(), {.learning_rate = 1e-3, .beta1 = 0.5}};

    ls::Generator numbers{options.seed, static_cast<std::uint64_t>(env.rank()) + 1};
    const auto noise = [&](std::int64_t count) {
      return ls::normal({count, kNoise}, ls::DType::float32, numbers).to(env.device());
    };
    // Over all ranks, each with the same points every time.
    const auto distance = [&] {
      const ls::NoGrad no_grad;
      ls::Generator same{options.seed + 1, static_cast<std::uint64_t>(env.rank())};
      const ls::Tensor real = real_points(kPoints, same);
      const ls::Tensor start = ls::normal({kPoints, kNoise}, ls::DType::float32, same);
      const double own = energy_distance(generator(start.to(env.device())), real);
      return ls::average_metrics(env.ranks(), {{"distance", own}}).at("distance").mean;
    };

    const double first_distance = distance();
    double last_distance = first_distance;
    env.print("step 0  distance " + common::fixed(first_distance, 4));
    for (std::int64_t step = 1; step <= steps; ++step) {
      const ls::Tensor real = real_points(options.batch_size, numbers).to(env.device());
      const ls::Tensor fake = make(noise(options.batch_size)).detach();
      critic_adam.zero_grad();
      (distance_to(1, judge(real)) + distance_to(0, judge(fake))).backward();
      critic_adam.step();

      generator_adam.zero_grad();
      set_frozen(critic, true);
      distance_to(1, judge(make(noise(options.batch_size)))).backward();
      set_frozen(critic, false);
      generator_adam.step();

      if (step % std::max<std::int64_t>(steps / 5, 1) != 0 && step != steps) continue;
      last_distance = distance();
      env.print("step " + std::to_string(step) + "  distance " + common::fixed(last_distance, 4));
    }
    env.print(common::ResultLine{}
                  .add("ranks", env.size())
                  .add("device", to_string(env.device()))
                  .add("first_distance", first_distance, 6)
                  .add("last_distance", last_distance, 6)
                  .text());
    return 0;
  });
}
