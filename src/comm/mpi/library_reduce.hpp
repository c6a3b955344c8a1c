// all_reduce by the MPI library's own algorithm (MPI_Iallreduce).
#pragma once

#include "comm/communicator_backend.hpp"
#include "comm/mpi/operation.hpp"

namespace lockstep::inline v0::detail::mpi {

class LibraryReduce final : public Collective {
 public:
  LibraryReduce(std::shared_ptr<Group> group, const Call& call, Span values,
                std::vector<Tensor> keep)
      : Collective(std::move(group), call, std::move(keep)), values_(values) {}

  /// Sums of the dtypes that MPI adds itself, and extremes of integers. MPI does not say what
  /// becomes of NaN in a minimum, and it may differ between ranks.
  static bool suits(DType dtype, ReduceOp op) noexcept;

 private:
  void begin() override;
  bool transfer() override;

  Span values_;
};

}  // namespace lockstep::inline v0::detail::mpi
