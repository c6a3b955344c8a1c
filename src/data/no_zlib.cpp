// gzip'ed files in a build without zlib.
#include <lockstep/core/error.hpp>

#include "data/byte_source.hpp"

namespace lockstep::inline v0::data::detail {

std::unique_ptr<ByteSource> open_gzip(const std::string& path) {
  throw FileError("[data] cannot read '" + path +
                  "': expected a plain file, found: a gzip file (first bytes 1F 8B), and this "
                  "build of lockstep has no zlib. Unpack it with gunzip, or build lockstep with "
                  "-DLOCKSTEP_ZLIB=ON.");
}

}  // namespace lockstep::inline v0::data::detail
