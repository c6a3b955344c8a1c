// What the host did not destroy before MPI_Finalize is destroyed after it, and only gives memory
// back. A program of its own, because the test main finalizes MPI itself.
#include <mpi.h>

#include <cstdio>
#include <memory>

#include <lockstep/interop/mpi.hpp>
#include <lockstep/lockstep.hpp>

namespace ls = lockstep;

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  auto env = std::make_unique<ls::Environment>(ls::mpi::environment(MPI_COMM_WORLD));
  ls::nn::Linear model{3, 2};
  auto replica = std::make_unique<ls::DataParallel<ls::nn::Linear>>(model, *env);
  ls::optim::Adam adam{replica->parameters()};
  const ls::Communicator ranks = env->ranks().duplicate();
  ls::mean((*replica)(ls::full({4, 3}, 1))).backward();
  adam.step();
  // One more exchange, for which nobody waits.
  ls::mean((*replica)(ls::full({4, 3}, 1))).backward();
  MPI_Finalize();

  replica.reset();
  env.reset();
  const bool kept = model.weight().value().to_vector().size() == 6;
  if (!kept) std::fprintf(stderr, "the model is gone\n");
  return kept ? 0 : 1;
}
