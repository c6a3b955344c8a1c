// A call of the data plane that another library carries out, among the operations of the engine.
#pragma once

#include <memory>

#include "comm/communicator_backend.hpp"
#include "comm/mpi/operation.hpp"

namespace lockstep::inline v0::detail::mpi {

class Followed final : public Operation {
 public:
  Followed(std::shared_ptr<Group> group, const Call& call, std::shared_ptr<Task> task)
      : Operation(std::move(group), call, {}), task_(std::move(task)) {}

  void start() override {}
  bool advance() override;
  bool needs(int rank) const override;
  /// A rank that failed gives its device's work up.
  bool needs_to_the_end() const override { return true; }
  const char* transport() const noexcept override { return task_->transport(); }
  bool abandon() noexcept override;

 private:
  std::shared_ptr<Task> task_;
};

}  // namespace lockstep::inline v0::detail::mpi
