// A simulation that owns MPI trains a surrogate while it runs, and then uses it: a network learns
// how well heat is conducted between two cells. A step brings any number of new samples on a rank,
// also none; every sample counts once. mpirun -np 2 in_situ
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <exception>
#include <string>
#include <vector>

#include <lockstep/interop/mpi.hpp>
#include <lockstep/lockstep.hpp>

#include "common/command_line.hpp"
#include "common/result.hpp"
#include "in_situ/rod.hpp"

namespace ls = lockstep;

namespace {

constexpr int kStepsToCompare = 100;

/// Learns the conductivity, so that there is no flux where there is no difference.
struct Surrogate {
  ls::nn::Mlp<ls::nn::GELU> conductivity{{2, 32, 32, 1}, {.dtype = ls::DType::float64}};

  template <class Visitor>
  void visit(Visitor&& visitor) {
    visitor("conductivity", conductivity);
  }
  /// (edges, 2) and (edges, 1) -> (edges, 1).
  ls::Tensor operator()(const ls::Tensor& sides, const ls::Tensor& differences) const {
    return conductivity(sides) * differences;
  }
};

/// Rows of so many columns, where the surrogate computes.
ls::Tensor rows_of(const std::vector<double>& values, std::int64_t columns, ls::Device device) {
  return ls::tensor(values, {static_cast<std::int64_t>(values.size()) / columns, columns}, device);
}

std::vector<double> differences_of(const std::vector<double>& sides) {
  std::vector<double> differences(sides.size() / 2);
  for (std::size_t i = 0; i < differences.size(); ++i)
    differences[i] = sides[2 * i] - sides[2 * i + 1];
  return differences;
}

/// The edges at which something happens.
std::vector<double> worth_learning(const std::vector<double>& sides) {
  std::vector<double> some;
  for (std::size_t i = 0; i < sides.size(); i += 2)
    if (std::abs(sides[i] - sides[i + 1]) > 1e-3) some.insert(some.end(), {sides[i], sides[i + 1]});
  return some;
}

int simulate(int argc, char** argv) {
  ls::Environment env = ls::mpi::environment(MPI_COMM_WORLD);
  common::TrainingOptions options;
  std::int64_t steps = 600;
  CLI::App app{"Trains a surrogate inside a running simulation of heat.", "in_situ"};
  common::add_run_options(app, options);
  app.add_option("--steps", steps, "of the simulation")->check(common::whole_number_from(1));
  if (const auto status = common::parse(app, argc, argv, env)) return *status;
  common::apply(options, env);

  Surrogate model;
  ls::DataParallel replica{model, env, {.averaging = ls::Averaging::weighted}};
  ls::optim::Adam adam{replica.parameters(), {.learning_rate = 2e-2}};
  ls::optim::Schedule schedule{adam, ls::optim::cosine({.steps = steps, .minimum = 1e-5})};

  const auto fluxes_of = [&](const std::vector<double>& sides) {
    return replica(rows_of(sides, 2, env.device()),
                   rows_of(differences_of(sides), 1, env.device()));
  };
  const Fluxes surrogate = [&](const std::vector<double>& sides) {
    const ls::NoGrad no_grad;
    return fluxes_of(sides).to_vector<double>();
  };
  // Of a run that uses the surrogate, against the simulation.
  const auto error = [&] {
    Rod guess(env.rank(), env.size(), options.seed);
    Rod truth(env.rank(), env.size(), options.seed);
    for (int step = 0; step < kStepsToCompare; ++step) {
      guess.step(surrogate);
      truth.step(simulated_fluxes);
    }
    return guess.distance_from(truth);
  };
  std::int64_t idle_steps = 0;
  const auto learn = [&](const std::vector<double>& sides) {
    adam.zero_grad();
    replica.set_sample_count(static_cast<double>(sides.size() / 2));
    if (sides.empty()) {
      ++idle_steps;
      replica.synchronize();  // the other ranks may have some
    } else {
      const auto truth = rows_of(simulated_fluxes(sides), 1, env.device());
      ls::mse_loss(fluxes_of(sides), truth).backward();
    }
    adam.step();
    schedule.step();
  };

  const double first_error = error();
  double last_error = first_error;
  env.print("step 0  error " + common::fixed(first_error, 6));
  Rod rod(env.rank(), env.size(), options.seed);
  const std::int64_t interval = std::max<std::int64_t>(steps / 4, 1);
  for (std::int64_t step = 1; step <= steps; ++step) {
    learn(worth_learning(rod.step(simulated_fluxes)));
    if (step % interval != 0 && step != steps) continue;
    last_error = error();
    env.print("step " + std::to_string(step) + "  error " + common::fixed(last_error, 6));
  }
  std::string idle = "steps without a new sample, rank by rank:";
  for (const auto& count : env.ranks().gather_bytes(std::to_string(idle_steps)))
    idle += " " + count;
  env.print(idle);
  env.print(common::ResultLine{}
                .add("ranks", env.size())
                .add("first_error", first_error, 6)
                .add("last_error", last_error, 6)
                .text());
  env.close();
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  try {
    const int status = simulate(argc, argv);
    MPI_Finalize();
    return status;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "in_situ: %s\n", error.what());
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  return 1;
}
