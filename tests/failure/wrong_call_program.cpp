// A program that makes a wrong MPI call of its own under `run`: as without lockstep, it is fatal.
#include <mpi.h>

#include <cstdio>

#include <lockstep/comm/run.hpp>

int main(int argc, char** argv) {
  return lockstep::run(argc, argv, [](lockstep::Environment& env) {
    const int nobody = env.size();
    if (env.is_root()) MPI_Send(&nobody, 1, MPI_INT, nobody, 0, MPI_COMM_WORLD);
    env.ranks().barrier();
    std::printf("went on\n");
  });
}
