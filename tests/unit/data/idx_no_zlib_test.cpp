#include <catch2/catch.hpp>

#include <lockstep/data/idx.hpp>

#include "idx_file.hpp"

using Catch::Matchers::Contains;

TEST_CASE("Without zlib, a gzip'ed file is refused with its path and what to do") {
  const idx_file::TemporaryFile file("\x1F\x8B\x08 and so on");
  CHECK_THAT(idx_file::file_error([&] { lockstep::data::read_idx_images(file.path()); }),
             Contains(file.path()) && Contains("gzip") && Contains("gunzip") &&
                 Contains("LOCKSTEP_ZLIB=ON"));
}
