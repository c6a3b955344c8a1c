#include "distributed/mpi_calls.hpp"

#include <mpi.h>

#include <atomic>

namespace {

std::atomic<std::int64_t> all_reduces{0};
std::atomic<std::int64_t> messages{0};
std::atomic<std::int64_t> sent_bytes{0};
std::atomic<std::int64_t> talk{0};
std::atomic<std::int64_t> polls{0};

std::atomic<std::int64_t>& message_or_talk(MPI_Datatype type) {
  return type == MPI_BYTE ? talk : messages;
}

void count_send(int count, MPI_Datatype type) {
  ++message_or_talk(type);
  if (type == MPI_BYTE) return;
  int element_bytes = 0;
  PMPI_Type_size(type, &element_bytes);
  sent_bytes += std::int64_t{count} * element_bytes;
}

}  // namespace

namespace mpi_calls {

Counts counts() { return {all_reduces, messages, sent_bytes, talk, polls}; }
void reset() {
  all_reduces = 0;
  messages = 0;
  sent_bytes = 0;
  talk = 0;
  polls = 0;
}

}  // namespace mpi_calls

// Every call that moves data or asks about it: counted, then passed on.
#define COUNTED(count, name, parameters, arguments) \
  extern "C" int MPI_##name parameters {            \
    count;                                          \
    return PMPI_##name arguments;                   \
  }

using Type = MPI_Datatype;
using Comm = MPI_Comm;
using Request = MPI_Request;
using Status = MPI_Status;

COUNTED(++all_reduces, Allreduce, (const void* s, void* r, int n, Type t, MPI_Op o, Comm c),
        (s, r, n, t, o, c))
COUNTED(++all_reduces, Iallreduce,
        (const void* s, void* r, int n, Type t, MPI_Op o, Comm c, Request* q),
        (s, r, n, t, o, c, q))

COUNTED(count_send(n, t), Send, (const void* b, int n, Type t, int to, int tag, Comm c),
        (b, n, t, to, tag, c))
COUNTED(count_send(n, t), Isend,
        (const void* b, int n, Type t, int to, int tag, Comm c, Request* q),
        (b, n, t, to, tag, c, q))
COUNTED(++message_or_talk(t), Recv, (void* b, int n, Type t, int from, int tag, Comm c, Status* s),
        (b, n, t, from, tag, c, s))
COUNTED(++message_or_talk(t), Irecv,
        (void* b, int n, Type t, int from, int tag, Comm c, Request* q), (b, n, t, from, tag, c, q))
COUNTED(++message_or_talk(t), Imrecv, (void* b, int n, Type t, MPI_Message* m, Request* q),
        (b, n, t, m, q))
COUNTED(++message_or_talk(t), Mrecv, (void* b, int n, Type t, MPI_Message* m, Status* s),
        (b, n, t, m, s))
COUNTED(++talk, Barrier, (Comm c), (c))
COUNTED(++talk, Ibarrier, (Comm c, Request* q), (c, q))
COUNTED(++message_or_talk(t), Bcast, (void* b, int n, Type t, int root, Comm c), (b, n, t, root, c))
COUNTED(++message_or_talk(t), Ibcast, (void* b, int n, Type t, int root, Comm c, Request* q),
        (b, n, t, root, c, q))
COUNTED(++message_or_talk(t), Reduce,
        (const void* s, void* r, int n, Type t, MPI_Op o, int root, Comm c),
        (s, r, n, t, o, root, c))
COUNTED(++message_or_talk(t), Allgather,
        (const void* s, int n, Type t, void* r, int m, Type u, Comm c), (s, n, t, r, m, u, c))
COUNTED(++message_or_talk(t), Iallgather,
        (const void* s, int n, Type t, void* r, int m, Type u, Comm c, Request* q),
        (s, n, t, r, m, u, c, q))
COUNTED(++message_or_talk(t), Alltoall,
        (const void* s, int n, Type t, void* r, int m, Type u, Comm c), (s, n, t, r, m, u, c))
COUNTED(++message_or_talk(t), Ialltoall,
        (const void* s, int n, Type t, void* r, int m, Type u, Comm c, Request* q),
        (s, n, t, r, m, u, c, q))

COUNTED(++polls, Test, (Request * q, int* flag, Status* s), (q, flag, s))
COUNTED(++polls, Testall, (int n, Request* q, int* flag, Status* s), (n, q, flag, s))
COUNTED(++polls, Testany, (int n, Request* q, int* i, int* flag, Status* s), (n, q, i, flag, s))
COUNTED(++polls, Testsome, (int n, Request* q, int* m, int* i, Status* s), (n, q, m, i, s))
COUNTED(++polls, Wait, (Request * q, Status* s), (q, s))
COUNTED(++polls, Waitall, (int n, Request* q, Status* s), (n, q, s))
COUNTED(++polls, Waitany, (int n, Request* q, int* i, Status* s), (n, q, i, s))
COUNTED(++polls, Waitsome, (int n, Request* q, int* m, int* i, Status* s), (n, q, m, i, s))
COUNTED(++polls, Probe, (int from, int tag, Comm c, Status* s), (from, tag, c, s))
COUNTED(++polls, Iprobe, (int from, int tag, Comm c, int* flag, Status* s), (from, tag, c, flag, s))
COUNTED(++polls, Improbe, (int from, int tag, Comm c, int* flag, MPI_Message* m, Status* s),
        (from, tag, c, flag, m, s))
