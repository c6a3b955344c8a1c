#include "common/terminal.hpp"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <string>

namespace common {

namespace {

bool has_columns(int descriptor) {
  winsize size{};
  return isatty(descriptor) != 0 && ioctl(descriptor, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
}

}  // namespace

bool output_is_terminal() {
  if (isatty(STDOUT_FILENO) == 0) return false;
  if (has_columns(STDOUT_FILENO)) return true;
  // mpirun gives its ranks a pseudo terminal without a size, wherever its own output goes. So look
  // at its own.
  const auto path = "/proc/" + std::to_string(getppid()) + "/fd/1";
  const int launcher = open(path.c_str(), O_WRONLY | O_NOCTTY | O_NONBLOCK | O_CLOEXEC);
  if (launcher < 0) return false;
  const bool terminal = has_columns(launcher);
  close(launcher);
  return terminal;
}

}  // namespace common
