#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include <lockstep/core/error.hpp>

#include "data/byte_source.hpp"

namespace lockstep::inline v0::data::detail {

const char* const kHowToGetData =
    "Fashion-MNIST: apt-get install dataset-fashion-mnist (files in "
    "/usr/share/datasets/fashion-mnist), or github.com/zalandoresearch/fashion-mnist";

namespace {

[[noreturn]] void fail(const std::string& path, const std::string& found) {
  throw FileError("[data] cannot read '" + path + "': expected a readable file, found: " + found +
                  ". " + kHowToGetData);
}

class PlainFile : public ByteSource {
 public:
  // O_NONBLOCK: a pipe without a writer is refused, not waited for.
  explicit PlainFile(const std::string& path)
      : path_(path), descriptor_(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {
    if (descriptor_ < 0) fail(path, std::strerror(errno));
    struct stat status {};
    if (::fstat(descriptor_, &status) != 0) refuse(std::strerror(errno));
    if (S_ISDIR(status.st_mode)) refuse("a directory");
    if (!S_ISREG(status.st_mode)) refuse("a pipe or device, which cannot be read twice");
    size_ = status.st_size;
  }
  ~PlainFile() override { ::close(descriptor_); }
  PlainFile(const PlainFile&) = delete;
  PlainFile& operator=(const PlainFile&) = delete;

  std::int64_t read(void* into, std::int64_t byte_count) override {
    std::int64_t done = 0;
    while (done < byte_count) {
      const auto got = ::read(descriptor_, static_cast<char*>(into) + done,
                              static_cast<std::size_t>(byte_count - done));
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) fail(path_, std::strerror(errno));
      if (got == 0) break;
      done += got;
    }
    return done;
  }
  std::int64_t size(std::int64_t) override { return size_; }
  void rewind() override { ::lseek(descriptor_, 0, SEEK_SET); }

 private:
  // For the constructor, whose destructor does not run.
  [[noreturn]] void refuse(const std::string& found) {
    ::close(descriptor_);
    fail(path_, found);
  }

  std::string path_;
  int descriptor_;
  std::int64_t size_ = 0;
};

}  // namespace

std::unique_ptr<ByteSource> open_bytes(const std::string& path) {
  auto file = std::make_unique<PlainFile>(path);
  unsigned char first[2] = {};
  const bool gzip = file->read(first, 2) == 2 && first[0] == 0x1F && first[1] == 0x8B;
  if (gzip) return open_gzip(path);
  file->rewind();
  return file;
}

}  // namespace lockstep::inline v0::data::detail
