#include "comm/mpi/world_errors.hpp"

#include "comm/mpi/mpi_call.hpp"
#include "comm/report.hpp"

namespace lockstep::inline v0::detail::mpi {
namespace {

void on_error(MPI_Comm* communicator, int* code, ...) {
  if (OwnCalls::under_way()) return;
  report_failure("an MPI call of the program failed: " + to_string(CallFailed{"MPI", *code}));
  MPI_Abort(*communicator, *code);
}

}  // namespace

void return_own_errors() {
  MPI_Errhandler handler = MPI_ERRHANDLER_NULL;
  check(MPI_Comm_create_errhandler(on_error, &handler), "MPI_Comm_create_errhandler");
  check(MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler), "MPI_Comm_set_errhandler");
  check(MPI_Errhandler_free(&handler), "MPI_Errhandler_free");
}

}  // namespace lockstep::inline v0::detail::mpi
