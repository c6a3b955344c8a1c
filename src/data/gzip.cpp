// gzip'ed files through zlib.
#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <vector>

#include <lockstep/core/error.hpp>
#include <lockstep/core/units.hpp>

#include "data/byte_source.hpp"

namespace lockstep::inline v0::data::detail {

namespace {

class GzipFile : public ByteSource {
 public:
  explicit GzipFile(const std::string& path) : path_(path), file_(gzopen(path.c_str(), "rbe")) {
    if (file_ == nullptr) fail(std::strerror(errno));
    gzbuffer(file_, 256 * KiB);
  }
  ~GzipFile() override { gzclose_r(file_); }
  GzipFile(const GzipFile&) = delete;
  GzipFile& operator=(const GzipFile&) = delete;

  std::int64_t read(void* into, std::int64_t byte_count) override {
    std::int64_t done = 0;
    while (done < byte_count) {
      // zlib counts in int.
      const auto part = static_cast<unsigned>(std::min(byte_count - done, GiB));
      const int got = gzread(file_, static_cast<char*>(into) + done, part);
      check();
      if (got == 0) break;
      done += got;
    }
    return done;
  }

  // The size in the trailer is modulo 4 GiB, of the last member only, and may lie; so the file is
  // unpacked once without being kept, which checks its checksum too.
  std::int64_t size(std::int64_t limit) override {
    rewind();
    std::vector<char> scratch(256 * KiB);
    std::int64_t total = 0;
    while (total <= limit) {
      const auto got = read(scratch.data(), static_cast<std::int64_t>(scratch.size()));
      total += got;
      if (got < static_cast<std::int64_t>(scratch.size())) break;
    }
    return total;
  }

  void rewind() override {
    if (gzrewind(file_) != 0) fail("a file that cannot be read again from its beginning");
  }

 private:
  void check() {
    int code = Z_OK;
    const char* text = gzerror(file_, &code);
    if (code == Z_ERRNO) fail(std::strerror(errno));
    if (code == Z_BUF_ERROR) fail("the end of the file in the middle of it (truncated?)");
    // zlib's text is "path: cause".
    const std::string prefix = path_ + ": ";
    const std::string cause = text;
    if (code != Z_OK)
      fail("damage, " + (cause.rfind(prefix, 0) == 0 ? cause.substr(prefix.size()) : cause));
  }
  [[noreturn]] void fail(const std::string& found) const {
    throw FileError("[data] cannot read '" + path_ +
                    "': expected a whole gzip file, found: " + found + ". " + kHowToGetData);
  }

  std::string path_;
  gzFile file_;
};

}  // namespace

std::unique_ptr<ByteSource> open_gzip(const std::string& path) {
  return std::make_unique<GzipFile>(path);
}

}  // namespace lockstep::inline v0::data::detail
