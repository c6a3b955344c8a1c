// IDX files made by hand, for the tests of the reader.
#pragma once

#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

#include <lockstep/core/error.hpp>

namespace idx_file {

/// A file that is removed with the object.
class TemporaryFile {
 public:
  explicit TemporaryFile(const std::string& bytes, const std::string& ending = "") {
    const char* folder = std::getenv("TMPDIR");
    path_ = std::string(folder != nullptr ? folder : "/tmp") + "/lockstep_idx_XXXXXX" + ending;
    const int descriptor = mkstemps(path_.data(), static_cast<int>(ending.size()));
    if (descriptor < 0) throw lockstep::Error("cannot make " + path_);
    close(descriptor);
    std::ofstream(path_, std::ios::binary) << bytes;
  }
  ~TemporaryFile() { std::remove(path_.c_str()); }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

inline std::string word(std::uint32_t value) {
  return {static_cast<char>(value >> 24), static_cast<char>(value >> 16),
          static_cast<char>(value >> 8), static_cast<char>(value)};
}

inline std::string header(std::uint32_t magic, const std::vector<std::uint32_t>& extents) {
  std::string bytes = word(magic);
  for (const auto extent : extents) bytes += word(extent);
  return bytes;
}

/// 3 images of 2 x 2 with the pixels 0 to 11.
inline std::string images() {
  std::string bytes = header(2051, {3, 2, 2});
  for (char pixel = 0; pixel < 12; ++pixel) bytes += pixel;
  return bytes;
}

/// The labels 7, 0, 9.
inline std::string labels() { return header(2049, {3}) + std::string("\7\0\11", 3); }

/// What the FileError of a call says; "" if it does not throw.
template <class Function>
std::string file_error(Function&& function) {
  try {
    function();
  } catch (const lockstep::FileError& error) {
    return error.what();
  }
  return "";
}

}  // namespace idx_file
