// Starts a command and checks how it ends: its exit status, the time it takes, what it says, and
// that no process of it is left.
//
//   failure_driver [--status N | --fails] [--seconds N] [--has TEXT]... [--once TEXT]...
//                  [--lacks TEXT]... -- COMMAND...
#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

namespace {

using Clock = std::chrono::steady_clock;

struct Wanted {
  int status = 0;
  bool fails = false;  // any status but 0
  int seconds = 30;
  std::vector<std::string> has, once, lacks;
  std::vector<char*> command;
};

Wanted parse(int argc, char** argv) {
  Wanted wanted;
  int i = 1;
  for (; i < argc && std::strcmp(argv[i], "--") != 0; ++i) {
    const std::string option = argv[i];
    if (option == "--fails") {
      wanted.fails = true;
      continue;
    }
    const std::string value = i + 1 < argc ? argv[++i] : "";
    if (option == "--status") wanted.status = std::atoi(value.c_str());
    if (option == "--seconds") wanted.seconds = std::atoi(value.c_str());
    if (option == "--has") wanted.has.push_back(value);
    if (option == "--once") wanted.once.push_back(value);
    if (option == "--lacks") wanted.lacks.push_back(value);
  }
  for (++i; i < argc; ++i) wanted.command.push_back(argv[i]);
  wanted.command.push_back(nullptr);
  return wanted;
}

/// The processes that inherited this driver's mark, but for the driver itself.
std::vector<pid_t> processes_with(const std::string& mark) {
  std::vector<pid_t> found;
  DIR* folder = opendir("/proc");
  while (folder != nullptr) {
    const dirent* entry = readdir(folder);
    if (entry == nullptr) break;
    const pid_t id = std::atoi(entry->d_name);
    if (id <= 0 || id == getpid()) continue;
    std::ifstream file(std::string("/proc/") + entry->d_name + "/environ", std::ios::binary);
    const std::string environment{std::istreambuf_iterator<char>(file), {}};
    if (environment.find(mark) != std::string::npos) found.push_back(id);
  }
  if (folder != nullptr) closedir(folder);
  return found;
}

/// Reads until the other end is closed or the time is over.
std::string read_all(int descriptor, Clock::time_point end) {
  std::string text;
  char buffer[4096];
  for (;;) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end - Clock::now());
    pollfd ready{descriptor, POLLIN, 0};
    if (left.count() <= 0 || poll(&ready, 1, static_cast<int>(left.count())) <= 0) return text;
    const ssize_t count = read(descriptor, buffer, sizeof buffer);
    if (count <= 0) return text;
    text.append(buffer, static_cast<std::size_t>(count));
  }
}

/// The exit status as a shell gives it; -1 if the process has not ended by then.
int wait_until(pid_t process, Clock::time_point end) {
  int status = 0;
  while (waitpid(process, &status, WNOHANG) == 0) {
    if (Clock::now() > end) return -1;
    usleep(10'000);
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

int occurrences(const std::string& text, const std::string& part) {
  int count = 0;
  for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

/// Open MPI 4.1's mpirun sometimes crashes in its own clean-up when a job is aborted; the job has
/// been ended and reported by then, and no rank has anything to do with it.
bool launcher_crashed_at_its_end(int status, const std::string& output) {
  return status == 128 + SIGSEGV && occurrences(output, "(PMIx_server_finalize+") == 1 &&
         occurrences(output, "Process received signal") == 1;
}

class Verdict {
 public:
  void require(bool condition, const std::string& text) {
    if (condition) return;
    std::printf("FAILED: %s\n", text.c_str());
    failed_ = true;
  }
  int status() const { return failed_ ? 1 : 0; }

 private:
  bool failed_ = false;
};

}  // namespace

int main(int argc, char** argv) {
  Wanted wanted = parse(argc, argv);
  const std::string mark = "LOCKSTEP_FAILURE_TEST=" + std::to_string(getpid());
  int ends[2];
  if (pipe(ends) != 0) return 2;
  const auto begin = Clock::now();
  const auto end = begin + std::chrono::seconds{wanted.seconds};
  const pid_t process = fork();
  if (process == 0) {
    dup2(ends[1], STDOUT_FILENO);
    dup2(ends[1], STDERR_FILENO);
    close(ends[0]);
    close(ends[1]);
    putenv(const_cast<char*>(mark.c_str()));
    execvp(wanted.command[0], wanted.command.data());
    _exit(127);
  }
  close(ends[1]);
  const std::string output = read_all(ends[0], end);
  const int status = wait_until(process, end);

  // The launcher may need a moment to collect what it has ended.
  auto left = processes_with(mark);
  while (!left.empty() && status >= 0 && Clock::now() < end) {
    usleep(10'000);
    left = processes_with(mark);
  }
  const double seconds = std::chrono::duration<double>(Clock::now() - begin).count();
  std::printf("%sstatus %d and %zu processes left after %.2f s (limit %d s)\n", output.c_str(),
              status, left.size(), seconds, wanted.seconds);

  Verdict verdict;
  verdict.require(status >= 0, "not ended after " + std::to_string(wanted.seconds) + " s");
  const bool fails =
      wanted.fails || (wanted.status != 0 && launcher_crashed_at_its_end(status, output));
  verdict.require(fails ? status != 0 : status == wanted.status, "another exit status");
  verdict.require(left.empty(), std::to_string(left.size()) + " processes are left");
  for (const auto& text : wanted.has)
    verdict.require(occurrences(output, text) > 0, "not said: " + text);
  for (const auto& text : wanted.once)
    verdict.require(occurrences(output, text) == 1, "not said exactly once: " + text);
  for (const auto& text : wanted.lacks)
    verdict.require(occurrences(output, text) == 0, "said: " + text);
  for (const pid_t id : left) kill(id, SIGKILL);
  return verdict.status();
}
