#include "comm/mpi/library_reduce.hpp"

#include <limits>

#include "comm/mpi/tuning.hpp"

namespace lockstep::inline v0::detail::mpi {
namespace {

/// Which of two NaN an addition keeps depends on their order, and libraries add in another order on
/// each rank (MPICH). So that ranks hold the same bits, every NaN becomes the same one.
template <class T>
void unify_nans(void* data, std::int64_t count) {
  T* values = static_cast<T*>(data);
  for (std::int64_t i = 0; i < count; ++i)
    values[i] = values[i] == values[i] ? values[i] : std::numeric_limits<T>::quiet_NaN();
}

}  // namespace

bool LibraryReduce::suits(DType dtype, ReduceOp op) noexcept {
  if (dtype == DType::int32 || dtype == DType::int64) return true;
  return op == ReduceOp::sum && (dtype == DType::float32 || dtype == DType::float64);
}

void LibraryReduce::begin() { turn_ = group().library_calls++; }

void LibraryReduce::post() {
  const SplitCounts parts = split_counts(values_.count, tuning().elements_per_call);
  const auto op = operation(static_cast<ReduceOp>(call().op));
  // MPI matches collectives by their order: turns keep it, and all parts are posted in one turn.
  for (std::int64_t part = 0; part < parts.parts(); ++part) {
    MPI_Request request = MPI_REQUEST_NULL;
    char* data = static_cast<char*>(values_.data) + parts.offset(part) * byte_size(values_.dtype);
    check(MPI_Iallreduce(MPI_IN_PLACE, data, parts.size(part), datatype(values_.dtype), op,
                         group().data, &request),
          "MPI_Iallreduce");
    requests_.add(request);
  }
}

bool LibraryReduce::transfer() {
  if (!posted_) {
    if (!greeted() || group().library_posted != turn_) return false;
    post();
    posted_ = true;
    ++group().library_posted;
  }
  requests_.test([](std::int64_t, const MPI_Status&) {});
  if (!requests_.empty()) return false;
  if (values_.dtype == DType::float32) unify_nans<float>(values_.data, values_.count);
  if (values_.dtype == DType::float64) unify_nans<double>(values_.data, values_.count);
  return true;
}

}  // namespace lockstep::inline v0::detail::mpi
