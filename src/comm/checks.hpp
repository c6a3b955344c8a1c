// The checks that a rank makes alone, before anything is sent.
#pragma once

#include "comm/call.hpp"
#include "comm/communicator_backend.hpp"

namespace lockstep::inline v0::detail {

/// Checks the arguments of one verb on one rank; every error names both.
class ArgumentCheck {
 public:
  ArgumentCheck(Verb verb, const CommunicatorBackend& backend) noexcept
      : verb_(verb), rank_(backend.rank()), size_(backend.size()) {}

  /// The memory of a tensor that is read. @throws InvalidUsage if it is undefined
  Span input(const Tensor& tensor) const;
  /// The memory of a tensor that is written. @throws InvalidUsage also for borrowed const memory
  Span output(Tensor& tensor) const;

  /// Both must have one dtype and device.
  void same_kind(const Span& input, const Span& output) const;
  /// `whole` must have size() times the elements of `part`.
  void parts(const Span& whole, const Span& part, const char* whole_name,
             const char* part_name) const;
  /// They must not overlap, unless `part` is exactly part rank() of `whole`.
  void apart_or_own_part(const Span& whole, const Span& part) const;
  void apart(const Span& a, const Span& b) const;
  void reducible(const Span& values, ReduceOp op) const;
  void root(int rank) const;
  /// Another rank of this group, and a tag that every MPI allows.
  void peer(int rank, int tag) const;

 private:
  std::string place() const;

  Verb verb_;
  int rank_;
  int size_;
};

}  // namespace lockstep::inline v0::detail
