// The bytes of a file as its content means them: a gzip'ed file is unpacked on the way.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

namespace lockstep::inline v0::data::detail {

class ByteSource {
 public:
  virtual ~ByteSource() = default;
  /// Reads up to `byte_count` bytes; fewer only at the end. @throws FileError
  virtual std::int64_t read(void* into, std::int64_t byte_count) = 0;
  /// The size of the whole content. Counting stops beyond `limit`, so more than that means "at
  /// least". Moves the position; rewind() afterwards. @throws FileError
  virtual std::int64_t size(std::int64_t limit) = 0;
  virtual void rewind() = 0;
};

/// Plain or gzip'ed by its first two bytes, whatever the name says. @throws FileError
std::unique_ptr<ByteSource> open_bytes(const std::string& path);

/// For a file that begins like gzip. @throws FileError, always in a build without zlib.
std::unique_ptr<ByteSource> open_gzip(const std::string& path);

/// How to get a data file, for the end of an error message.
extern const char* const kHowToGetData;

}  // namespace lockstep::inline v0::data::detail
