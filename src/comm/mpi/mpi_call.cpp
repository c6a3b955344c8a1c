#include "comm/mpi/mpi_call.hpp"

#include <lockstep/core/error.hpp>
#include "comm/mpi/pause.hpp"

namespace lockstep::inline v0::detail::mpi {

std::string to_string(const CallFailed& failure) {
  char text[MPI_MAX_ERROR_STRING] = {};
  int length = 0;
  if (MPI_Error_string(failure.code, text, &length) != MPI_SUCCESS)
    return std::string(failure.call) + ": error " + std::to_string(failure.code);
  return std::string(failure.call) + ": " + std::string(text, static_cast<std::size_t>(length));
}

bool is_truncation(const CallFailed& failure) {
  int error_class = MPI_SUCCESS;
  MPI_Error_class(failure.code, &error_class);
  return error_class == MPI_ERR_TRUNCATE;
}

MPI_Datatype datatype(DType dtype) noexcept {
  switch (dtype) {
    case DType::float32:
      return MPI_FLOAT;
    case DType::float64:
      return MPI_DOUBLE;
    case DType::bfloat16:
    case DType::float16:
      return MPI_UINT16_T;
    case DType::int64:
      return MPI_INT64_T;
    case DType::int32:
      return MPI_INT32_T;
    case DType::uint8:
      return MPI_UINT8_T;
  }
  return MPI_DATATYPE_NULL;
}

MPI_Op operation(ReduceOp op) noexcept {
  switch (op) {
    case ReduceOp::sum:
      return MPI_SUM;
    case ReduceOp::min:
      return MPI_MIN;
    case ReduceOp::max:
      return MPI_MAX;
  }
  return MPI_OP_NULL;
}

bool is_initialized() noexcept {
  int flag = 0;
  MPI_Initialized(&flag);
  return flag != 0;
}

bool is_finalized() noexcept {
  int flag = 0;
  MPI_Finalized(&flag);
  return flag != 0;
}

int thread_level() {
  int level = MPI_THREAD_SINGLE;
  check(MPI_Query_thread(&level), "MPI_Query_thread");
  return level;
}

MPI_Comm duplicate(MPI_Comm communicator, std::chrono::milliseconds timeout) {
  MPI_Comm copy = MPI_COMM_NULL;
  MPI_Request request = MPI_REQUEST_NULL;
  check(MPI_Comm_idup(communicator, &copy, &request), "MPI_Comm_idup");
  Pause pause(false);
  for (int finished = 0; finished == 0; pause()) {
    check(MPI_Test(&request, &finished, MPI_STATUS_IGNORE), "MPI_Test");
    if (finished == 0 && pause.waited() > timeout) {
      int rank = 0;
      MPI_Comm_rank(communicator, &rank);
      throw CommunicationError("[mpi] new communicator on rank " + std::to_string(rank) +
                                   ": waited " + seconds_text(pause.waited()) +
                                   " for the other ranks; every rank of the group must make it",
                               -1);
    }
  }
  check(MPI_Comm_set_errhandler(copy, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
  return copy;
}

}  // namespace lockstep::inline v0::detail::mpi
