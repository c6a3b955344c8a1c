#include <catch2/catch.hpp>

#include <zlib.h>

#include <lockstep/data/idx.hpp>

#include "idx_file.hpp"

namespace ls = lockstep;
using Catch::Matchers::Contains;
using idx_file::file_error;
using idx_file::header;
using idx_file::TemporaryFile;
using ls::data::read_idx;
using ls::data::read_idx_images;

namespace {

constexpr int kGzipWindow = 15 + 16;  // zlib's way to ask for a gzip header

std::string gzip(const std::string& bytes) {
  z_stream stream{};
  REQUIRE(deflateInit2(&stream, 9, Z_DEFLATED, kGzipWindow, 8, Z_DEFAULT_STRATEGY) == Z_OK);
  std::string packed(deflateBound(&stream, bytes.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  REQUIRE(deflate(&stream, Z_FINISH) == Z_STREAM_END);
  packed.resize(stream.total_out);
  deflateEnd(&stream);
  return packed;
}

std::vector<std::uint8_t> pixels_of(const TemporaryFile& file) {
  return read_idx_images(file.path()).to_vector<std::uint8_t>();
}

}  // namespace

TEST_CASE("A gzip'ed IDX file is read as if unpacked, whatever its name") {
  const auto packed = gzip(idx_file::images());
  const TemporaryFile unnamed(packed);
  const TemporaryFile named(packed, ".gz");
  CHECK(read_idx_images(unnamed.path()).shape() == ls::Shape{3, 2, 2});
  CHECK(pixels_of(unnamed).back() == 11);
  CHECK(pixels_of(named) == pixels_of(unnamed));
}

TEST_CASE("An IDX file gzip'ed in two members is read whole") {
  const auto bytes = idx_file::images();
  const TemporaryFile file(gzip(bytes.substr(0, 20)) + gzip(bytes.substr(20)));
  CHECK(pixels_of(file).back() == 11);
}

TEST_CASE("A gzip'ed IDX file larger than the reader's buffers is read whole") {
  std::string bytes = header(2051, {1000, 28, 28});
  for (int i = 0; i < 1000 * 28 * 28; ++i) bytes += static_cast<char>(i * 2654435761u >> 24);
  const TemporaryFile file(gzip(bytes));
  const auto pixels = pixels_of(file);
  CHECK(std::string(pixels.begin(), pixels.end()) == bytes.substr(16));
}

TEST_CASE("A gzip'ed IDX file cut to any shorter length is refused with its path") {
  const auto whole = gzip(idx_file::images());
  for (std::size_t length = 0; length < whole.size(); ++length) {
    CAPTURE(length);
    const TemporaryFile file(whole.substr(0, length));
    const auto message = file_error([&] { read_idx_images(file.path()); });
    CHECK_THAT(message, Contains(file.path()) && Contains("expected") && Contains("found"));
    if (length >= 2) CHECK_THAT(message, Contains("gzip") && Contains("truncated?"));
  }
}

TEST_CASE("A gzip'ed IDX file with any one byte damaged is refused or still right") {
  const auto whole = gzip(idx_file::images());
  const TemporaryFile good(whole);
  for (std::size_t position = 0; position < whole.size(); ++position) {
    CAPTURE(position);
    auto bytes = whole;
    bytes[position] = static_cast<char>(bytes[position] ^ 0x10);
    const TemporaryFile file(bytes);
    std::vector<std::uint8_t> pixels;
    const auto message = file_error([&] { pixels = pixels_of(file); });
    if (message.empty()) {
      // Time and system in the header, and unused bits of the last byte of data.
      CHECK((position < 10 || position == whole.size() - 9));
      CHECK(pixels == pixels_of(good));
    } else {
      CHECK_THAT(message, Contains(file.path()));
    }
  }
}

TEST_CASE("Sizes that do not fit the content of a gzip'ed IDX file are refused") {
  const TemporaryFile short_file(gzip(header(2051, {0xFFFFFFFF, 0x7FFFFFFF, 1}) + "abc"));
  CHECK_THAT(file_error([&] { read_idx_images(short_file.path()); }),
             Contains("found only 19 bytes"));
  const TemporaryFile long_file(gzip(idx_file::images() + "x"));
  CHECK_THAT(file_error([&] { read_idx_images(long_file.path()); }), Contains("trailing bytes"));
}

TEST_CASE("A small gzip file that unpacks to much more than its header says is refused early") {
  // 64 members of 16 MiB of zeros behind a header for 4 bytes: 1 GiB in 1 MB.
  const auto zeros = gzip(std::string(16 << 20, '\0'));
  std::string bomb = gzip(header(2051, {1, 2, 2}));
  for (int i = 0; i < 64; ++i) bomb += zeros;
  const TemporaryFile file(bomb);
  const auto message = file_error([&] { read_idx_images(file.path()); });
  CHECK_THAT(message, Contains("expected 20 bytes") && Contains("trailing bytes, at least 262144"));
}

TEST_CASE("A file that is gzip'ed twice is named as such") {
  const TemporaryFile file(gzip(gzip(idx_file::images())));
  CHECK_THAT(file_error([&] { read_idx(file.path()); }), Contains("gzip inside gzip"));
}
