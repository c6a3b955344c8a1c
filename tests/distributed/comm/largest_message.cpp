#include "largest_message.hpp"

#include <mpi.h>

#include <atomic>

namespace {

std::atomic<int> largest = 0;

void note(int count, MPI_Datatype type) {
  if (type == MPI_BYTE) return;
  for (int before = largest; before < count && !largest.compare_exchange_weak(before, count);) {
  }
}

}  // namespace

int largest_message() { return largest.exchange(0); }

extern "C" {

int MPI_Isend(const void* data, int count, MPI_Datatype type, int peer, int tag, MPI_Comm comm,
              MPI_Request* request) {
  note(count, type);
  return PMPI_Isend(data, count, type, peer, tag, comm, request);
}

int MPI_Irecv(void* data, int count, MPI_Datatype type, int peer, int tag, MPI_Comm comm,
              MPI_Request* request) {
  note(count, type);
  return PMPI_Irecv(data, count, type, peer, tag, comm, request);
}

int MPI_Iallreduce(const void* input, void* output, int count, MPI_Datatype type, MPI_Op op,
                   MPI_Comm comm, MPI_Request* request) {
  note(count, type);
  return PMPI_Iallreduce(input, output, count, type, op, comm, request);
}
}
