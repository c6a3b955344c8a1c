// A program that owns MPI, its signals, its floating-point mode and its output finds all of it
// unchanged after lockstep trained in it. A program of its own: nothing of lockstep's test main.
#include <dlfcn.h>
#include <mpi.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cfenv>
#include <clocale>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <string>
#include <vector>
#if defined(__SSE2__)
#include <xmmintrin.h>
#endif

#include <lockstep/interop/mpi.hpp>
#include <lockstep/lockstep.hpp>

namespace ls = lockstep;

namespace {

int failures = 0;
int report = STDERR_FILENO;  // where this program writes; the real one is redirected

void check(bool condition, const char* what) {
  if (condition) return;
  ++failures;
  dprintf(report, "changed or wrong: %s\n", what);
}

int openblas_threads() {
  using Function = int (*)();
  const auto function = reinterpret_cast<Function>(dlsym(RTLD_DEFAULT, "openblas_get_num_threads"));
  return function == nullptr ? -1 : function();
}

unsigned floating_point_mode() {
#if defined(__SSE2__)
  return _mm_getcsr() & ~0x3FU;  // without the sticky exception flags
#else
  return 0;
#endif
}

/// What a process has one of.
struct Process {
  unsigned mode = floating_point_mode();
  int rounding = std::fegetround();
  int exceptions = fegetexcept();
  std::vector<struct sigaction> signals;
  sigset_t blocked{};
  std::string locale = std::setlocale(LC_ALL, nullptr);
  std::string folder = std::filesystem::current_path();
  std::vector<std::string> variables;
  mode_t file_mode = 0;
  int blas_threads = openblas_threads();

  Process() {
    for (int signal = 1; signal < NSIG; ++signal) {
      struct sigaction action {};
      sigaction(signal, nullptr, &action);
      signals.push_back(action);
    }
    pthread_sigmask(SIG_SETMASK, nullptr, &blocked);
    for (char** variable = environ; *variable != nullptr; ++variable)
      variables.emplace_back(*variable);
    file_mode = umask(0);
    umask(file_mode);
  }
};

void compare(const Process& before, const Process& after) {
  check(before.mode == after.mode, "MXCSR");
  check(before.rounding == after.rounding, "rounding direction");
  check(before.exceptions == after.exceptions, "floating-point traps");
  for (std::size_t i = 0; i < before.signals.size(); ++i)
    check(before.signals[i].sa_handler == after.signals[i].sa_handler &&
              before.signals[i].sa_flags == after.signals[i].sa_flags,
          ("handler of signal " + std::to_string(i + 1)).c_str());
  check(std::memcmp(&before.blocked, &after.blocked, sizeof before.blocked) == 0, "signal mask");
  check(before.locale == after.locale, "locale");
  check(before.folder == after.folder, "working directory");
  check(before.variables == after.variables, "environment variables");
  check(before.file_mode == after.file_mode, "umask");
  check(before.blas_threads == after.blas_threads, "OpenBLAS's number of threads");
}

std::ptrdiff_t thread_count() {
  const std::filesystem::directory_iterator tasks("/proc/self/task");
  return std::distance(begin(tasks), end(tasks));
}

auto network() { return ls::nn::Sequential{ls::nn::Linear{64, 64}, ls::nn::ReLU{}}; }

void compute_alone() {
  const auto model = network();
  ls::mean(model(ls::full({128, 64}, 1))).backward();
}

/// Trains over these ranks; the process must look the same in between as well.
void train(MPI_Comm communicator, ls::Progress progress, const Process& before) {
  ls::Environment env = ls::mpi::environment(communicator, {.progress = progress});
  env.seed(3);
  auto model = network();
  ls::DataParallel replica{model, env};
  ls::optim::Adam adam{replica.parameters()};
  for (int step = 0; step < 3; ++step) {
    adam.zero_grad();
    ls::mean(replica(ls::full({128, 64}, 1))).backward();
    adam.step();
    compare(before, Process());
  }
  env.close();
}

/// Sends a descriptor into a file while it lives.
class Capture {
 public:
  explicit Capture(int descriptor) : descriptor_(descriptor), saved_(dup(descriptor)) {
    file_ = std::tmpfile();
    std::fflush(nullptr);
    dup2(fileno(file_), descriptor);
  }
  ~Capture() { std::fclose(file_); }
  int saved() const { return saved_; }
  std::int64_t restore() {
    std::fflush(nullptr);
    dup2(saved_, descriptor_);
    return lseek(fileno(file_), 0, SEEK_END);
  }

 private:
  int descriptor_;
  int saved_;
  std::FILE* file_;
};

void on_signal(int) {}

}  // namespace

int main(int argc, char** argv) {
  // What a program may have set up for itself.
  std::setlocale(LC_ALL, "C.UTF-8");
  std::signal(SIGUSR1, on_signal);
  std::signal(SIGTERM, on_signal);
  std::signal(SIGSEGV, on_signal);
#if defined(__SSE2__)
  _mm_setcsr(_mm_getcsr() | 0x8040U);  // flush to zero, denormals are zero
#endif
  int provided = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);

  Capture output(STDOUT_FILENO);
  Capture errors(STDERR_FILENO);
  report = errors.saved();
  compute_alone();  // compute threads, if any, are there now
  const std::ptrdiff_t threads = thread_count();
  const Process before;
  std::vector<ls::Progress> modes{ls::Progress::automatic, ls::Progress::inline_calls};
  if (provided == MPI_THREAD_MULTIPLE) modes.push_back(ls::Progress::thread);
  for (const ls::Progress mode : modes) {
    train(MPI_COMM_WORLD, mode, before);
    compare(before, Process());
    check(thread_count() == threads, "number of threads");
  }
  check(output.restore() == 0, "standard output was written to");
  check(errors.restore() == 0, "standard error was written to");

  int all_failures = 0;
  MPI_Allreduce(&failures, &all_failures, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  MPI_Finalize();
  return all_failures == 0 ? 0 : 1;
}
