// A job that `run` starts and ends over MPI.
//
// The end: every rank tells all others how its program ended, and waits until all have. If one of
// them threw, it waits only kGrace for the rest and then ends the job by MPI_Abort.
#include "comm/job.hpp"

#include <unistd.h>

#include <algorithm>
#include <thread>

#include <lockstep/core/error.hpp>
#include "comm/device_plane.hpp"
#include "comm/mpi/environment.hpp"
#include "comm/mpi/mpi_call.hpp"
#include "comm/mpi/world_errors.hpp"
#include "comm/report.hpp"
#include "comm/settings.hpp"

namespace lockstep::inline v0::detail {
namespace mpi {
namespace {

using Endings = std::vector<std::optional<Notice>>;

constexpr auto kGrace = std::chrono::seconds{2};
constexpr auto kHang = std::chrono::seconds{2};  // for MPI_Abort and, after failures, MPI_Finalize

/// Ends the process if it is still there after `time`.
void end_process_after(Clock::duration time, int status) {
  std::thread([=] {
    std::this_thread::sleep_for(time);
    _exit(status);
  }).detach();
}

bool all_ended(const Endings& endings) {
  return std::all_of(endings.begin(), endings.end(), [](const auto& e) { return e.has_value(); });
}

bool any_threw(const Endings& endings) {
  return std::any_of(endings.begin(), endings.end(),
                     [](const auto& ending) { return ending && ending->threw; });
}

/// Whose exceptions are worth a line: those that do not only repeat another rank's.
bool has_story(const std::optional<Notice>& ending, bool any_own) {
  return ending && ending->threw && (!any_own || !ending->secondary);
}

/// Each text once, with its ranks; by the lowest of these ranks. Returns whether it is this one.
bool report(const Endings& endings, int rank) {
  const bool any_own = std::any_of(endings.begin(), endings.end(), [](const auto& ending) {
    return ending && ending->threw && !ending->secondary;
  });
  const int size = static_cast<int>(endings.size());
  std::vector<std::pair<std::string, std::vector<int>>> stories;
  int reporter = -1;
  for (int other = 0; other < size; ++other) {
    const auto& ending = endings[static_cast<std::size_t>(other)];
    if (!has_story(ending, any_own)) continue;
    if (reporter < 0) reporter = other;
    const auto known = std::find_if(stories.begin(), stories.end(),
                                    [&](const auto& story) { return story.first == ending->text; });
    if (known != stories.end())
      known->second.push_back(other);
    else
      stories.push_back({ending->text, {other}});
  }
  if (reporter != rank) return false;
  for (const auto& [text, ranks] : stories) report_failure(ranks, size, text);
  return true;
}

class MpiJob final : public Job {
 public:
  MpiJob(int& argc, char**& argv) : owns_mpi_(!is_initialized()) {
    int level = MPI_THREAD_SINGLE;
    if (owns_mpi_) {
      MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
      return_own_errors();
    }
    MPI_Comm_size(MPI_COMM_WORLD, &size_);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
  }

  int size() const noexcept override { return size_; }

  std::unique_ptr<EnvironmentState> environment(const EnvironmentOptions& options) override {
    try {
      Started started = start_environment(MPI_COMM_WORLD, options, true);
      engine_ = std::move(started.engine);
      devices_ = std::move(started.devices);
      timeout_ = started.state->ranks.timeout();
      return std::move(started.state);
    } catch (const CommunicationError&) {
      throw;
    } catch (const Error&) {  // wrong settings, on this rank at least: end together all the same
      const EnvironmentOptions plain{
          .device = DeviceChoice::cpu, .timeout = timeout_, .progress = Progress::inline_calls};
      engine_ = start_environment(MPI_COMM_WORLD, plain, true).engine;
      throw;
    }
  }

  int end(const Ending& own) override {
    if (size_ == 1) {
      if (own.threw) report_failure(own.text);
      return finish(own.status);
    }
    if (!engine_) {  // the others cannot be told
      report_failure({rank_}, size_, own.text);
      abort(own.status);
    }
    return end_together(own);
  }

 private:
  int end_together(const Ending& own) {
    Notice ended;
    ended.code = own.status;
    ended.threw = own.threw;
    ended.text = own.text;
    ended.secondary = own.threw && engine_->is_secondary(own.text);
    engine_->announce_end(ended);
    const Endings endings = wait_for_all();
    if (all_ended(endings)) {
      report(endings, rank_);
      if (any_threw(endings)) end_process_after(kHang, own.status == 0 ? 1 : own.status);
      engine_->stop();
      wait_for_nccl_aborts(kHang);
      return finish(own.status);
    }
    if (!any_threw(endings)) {
      report_missing(endings);
      abort(1);
    }
    if (!report(endings, rank_)) std::this_thread::sleep_for(kGrace / 2);  // the reporter aborts
    abort(1);
  }

  Endings wait_for_all() {
    Pause pause(true);
    std::optional<Clock::time_point> threw_at;
    for (;; pause()) {
      engine_->attend_end();
      Endings endings = engine_->endings();
      const auto now = Clock::now();
      if (!threw_at && any_threw(endings)) threw_at = now;
      if (all_ended(endings) && engine_->told()) return endings;
      if (threw_at ? now - *threw_at > kGrace : pause.waited() > timeout_) return endings;
    }
  }

  void report_missing(const Endings& endings) const {
    std::string missing;
    int reporter = -1;
    for (int other = 0; other < size_; ++other) {
      if (!endings[static_cast<std::size_t>(other)])
        missing += (missing.empty() ? "rank " : ", rank ") + std::to_string(other);
      else if (reporter < 0)
        reporter = other;
    }
    if (reporter == rank_)
      report_failure({rank_}, size_,
                     "[mpi] end of the program: waited " + seconds_text(timeout_) + "; " + missing +
                         " did not come to its end; allow more time "
                         "(EnvironmentOptions::timeout, LOCKSTEP_TIMEOUT) if it still works");
  }

  int finish(int status) const {
    if (owns_mpi_ && !is_finalized()) MPI_Finalize();
    return status;
  }

  [[noreturn]] static void abort(int status) {
    end_process_after(kHang, status);
    MPI_Abort(MPI_COMM_WORLD, status);
    _exit(status);
  }

  bool owns_mpi_;
  int size_ = 1;
  int rank_ = 0;
  std::chrono::milliseconds timeout_ = std::chrono::seconds{10};
  std::shared_ptr<Engine> engine_;
  std::shared_ptr<DeviceFamily> devices_;  // no rank stops sending before all have ended
};

}  // namespace
}  // namespace mpi

std::unique_ptr<Job> start_job(int& argc, char**& argv) {
  return std::make_unique<mpi::MpiJob>(argc, argv);
}

}  // namespace lockstep::inline v0::detail
