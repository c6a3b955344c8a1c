#include "comm/job.hpp"
#include "comm/report.hpp"

namespace lockstep::inline v0::detail {
namespace {

class SelfJob final : public Job {
 public:
  int size() const noexcept override { return 1; }
  std::unique_ptr<EnvironmentState> environment(const EnvironmentOptions& options) override {
    return self_environment(options);
  }
  int end(const Ending& own) override {
    if (own.threw) report_failure(own.text);
    return own.status;
  }
};

}  // namespace

std::unique_ptr<Job> start_self_job() { return std::make_unique<SelfJob>(); }

}  // namespace lockstep::inline v0::detail
