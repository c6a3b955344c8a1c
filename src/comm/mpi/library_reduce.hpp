// all_reduce by the MPI library's own algorithm (MPI_Iallreduce). Where counts differ between ranks
// the library's schedule may break its own memory (Open MPI 4.1), so nothing is handed to it before
// everyone has said the same.
#pragma once

#include "comm/communicator_backend.hpp"
#include "comm/mpi/operation.hpp"

namespace lockstep::inline v0::detail::mpi {

class LibraryReduce final : public Collective {
 public:
  LibraryReduce(std::shared_ptr<Group> group, const Call& call, Span values,
                std::vector<Tensor> keep)
      : Collective(std::move(group), call, std::move(keep), Greets::everyone), values_(values) {}

  /// Sums of the dtypes that MPI adds itself, and extremes of integers. MPI does not say what
  /// becomes of NaN in a minimum, and it may differ between ranks.
  static bool suits(DType dtype, ReduceOp op) noexcept;

 private:
  void begin() override;
  bool transfer() override;
  // What MPI moves cannot be seen, so every rank is needed until it is complete.
  bool needs(int rank) const override { return rank != group().rank; }
  void post();

  Span values_;
  std::int64_t turn_ = 0;  // among the group's calls of the library
  bool posted_ = false;
};

}  // namespace lockstep::inline v0::detail::mpi
