// Lockstep as a guest: the program owns MPI, has its own communicators, trains on some of them, and
// keeps using MPI in between and afterwards.
#include <cmath>
#include <cstdio>
#include <vector>

#include <lockstep/interop/mpi.hpp>
#include <lockstep/lockstep.hpp>

namespace ls = lockstep;

namespace {

/// Trains y = 3 x - 1 on the ranks of the communicator; true if it was learned.
bool learns_a_line(MPI_Comm communicator) {
  ls::Environment env = ls::mpi::environment(communicator);
  env.seed(7);
  ls::nn::Linear model{1, 1};
  ls::DataParallel replica{model, env};
  ls::optim::Sgd sgd{replica.parameters(), {.learning_rate = 0.2, .momentum = 0.5}};

  std::vector<float> x(16);
  std::vector<float> y(16);
  for (int i = 0; i < 16; ++i) {
    x[i] = static_cast<float>((i * env.size() + env.rank()) % 31) / 15.0F - 1.0F;
    y[i] = 3.0F * x[i] - 1.0F;
  }
  const ls::Tensor inputs = ls::borrow(x.data(), {16, 1}).to(env.device());
  const ls::Tensor targets = ls::borrow(y.data(), {16, 1}).to(env.device());
  for (int step = 0; step < 200; ++step) {
    auto loss = ls::mse_loss(replica(inputs), targets);
    sgd.zero_grad();
    loss.backward();
    sgd.step();
  }
  env.close();
  return std::abs(model.weight().value().item() - 3.0F) < 1e-2F &&
         std::abs(model.bias().value().item() + 1.0F) < 1e-2F;
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0;
  int size = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);

  // Two groups at once: even ranks train one model, odd ranks another.
  MPI_Comm group = MPI_COMM_NULL;
  MPI_Comm_split(MPI_COMM_WORLD, rank % 2, -rank, &group);
  int good = learns_a_line(group) && learns_a_line(MPI_COMM_WORLD) ? 1 : 0;
  MPI_Comm_free(&group);

  // The host's own communication is untouched.
  int sum = 0;
  MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (sum != size * (size - 1) / 2) good = 0;
  if (!good) std::fprintf(stderr, "rank %d: the line was not learned\n", rank);
  MPI_Finalize();
  return good ? 0 : 1;
}
