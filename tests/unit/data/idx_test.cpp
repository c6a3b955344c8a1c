#include <catch2/catch.hpp>

#include <sys/stat.h>

#include <lockstep/data/idx.hpp>

#include "idx_file.hpp"

namespace ls = lockstep;
using Catch::Matchers::Contains;
using idx_file::file_error;
using idx_file::header;
using idx_file::TemporaryFile;
using ls::data::read_idx;
using ls::data::read_idx_images;
using ls::data::read_idx_labels;

TEST_CASE("An IDX file of images keeps its shape and every pixel") {
  const TemporaryFile file(idx_file::images());
  for (const auto& images : {read_idx_images(file.path()), read_idx(file.path())}) {
    CHECK(images.shape() == ls::Shape{3, 2, 2});
    CHECK(images.dtype() == ls::DType::uint8);
    CHECK(images.to_vector<std::uint8_t>() ==
          std::vector<std::uint8_t>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11});
  }
}

TEST_CASE("An IDX file of labels keeps its labels") {
  const TemporaryFile file(idx_file::labels());
  CHECK(read_idx_labels(file.path()).shape() == ls::Shape{3});
  CHECK(read_idx_labels(file.path()).to_vector<std::uint8_t>() ==
        std::vector<std::uint8_t>{7, 0, 9});
}

TEST_CASE("A plain IDX file is read under a name that ends in .gz") {
  const TemporaryFile file(idx_file::images(), ".gz");
  CHECK(read_idx_images(file.path()).element_count() == 12);
}

TEST_CASE("An IDX file without samples gives an empty tensor of its shape") {
  const TemporaryFile file(header(2051, {0, 28, 28}));
  CHECK(read_idx_images(file.path()).shape() == ls::Shape{0, 28, 28});
  const TemporaryFile extreme(header(2052, {0xFFFFFFFF, 0xFFFFFFFF, 0xFFFFFFFF, 0}));
  CHECK(read_idx(extreme.path()).element_count() == 0);
}

TEST_CASE("An IDX file of up to eight dimensions is read, of none or nine is refused") {
  const TemporaryFile eight(header(2056, {1, 1, 2, 1, 1, 1, 1, 1}) + "ab");
  CHECK(read_idx(eight.path()).shape() == ls::Shape{1, 1, 2, 1, 1, 1, 1, 1});
  const TemporaryFile none(header(2048, {}) + "a");
  CHECK_THAT(file_error([&] { read_idx(none.path()); }), Contains("found 2048 (0x00000800)"));
  const TemporaryFile nine(header(2057, {1, 1, 1, 1, 1, 1, 1, 1, 1}) + "a");
  CHECK_THAT(file_error([&] { read_idx(nine.path()); }), Contains("found 2057 (0x00000809)"));
}

TEST_CASE("An IDX file cut to any shorter length is refused with path, expected and found") {
  const auto whole = idx_file::images();
  for (std::size_t length = 0; length < whole.size(); ++length) {
    CAPTURE(length);
    const TemporaryFile file(whole.substr(0, length));
    const auto message = file_error([&] { read_idx_images(file.path()); });
    CHECK_THAT(message, Contains(file.path()));
    CHECK_THAT(message, Contains("expected"));
    CHECK_THAT(message, Contains("found"));
    CHECK_THAT(message, Contains("apt-get install dataset-fashion-mnist"));
    if (length >= 16)
      CHECK_THAT(message, Contains("expected 28 bytes (header 16, data 3 x 2 x 2), found only " +
                                   std::to_string(length) + " bytes"));
  }
}

TEST_CASE("Trailing bytes in an IDX file are refused") {
  const TemporaryFile file(idx_file::images() + "x");
  CHECK_THAT(file_error([&] { read_idx_images(file.path()); }),
             Contains("expected 28 bytes") && Contains("trailing bytes, at least 29"));
}

TEST_CASE("Images read as labels and labels read as images are refused by their magic number") {
  const TemporaryFile images(idx_file::images());
  CHECK_THAT(file_error([&] { read_idx_labels(images.path()); }),
             Contains("expected magic number 2049 (labels), found 2051 (0x00000803): images"));
  const TemporaryFile labels(idx_file::labels());
  CHECK_THAT(file_error([&] { read_idx_images(labels.path()); }),
             Contains("expected magic number 2051 (images), found 2049 (0x00000801): labels"));
}

TEST_CASE("A header in the wrong byte order is named as such") {
  std::string bytes("\3\10\0\0\3\0\0\0\2\0\0\0\2\0\0\0", 16);
  const TemporaryFile file(bytes + std::string(12, 'p'));
  CHECK_THAT(file_error([&] { read_idx_images(file.path()); }),
             Contains("found 50855936 (0x03080000)") && Contains("little-endian"));
}

TEST_CASE("What often stands in place of an IDX file is named") {
  const auto message_for = [](const std::string& bytes) {
    const TemporaryFile file(bytes);
    return file_error([&] { read_idx(file.path()); });
  };
  CHECK_THAT(message_for("<!DOCTYPE html><html>404</html>"), Contains("a web page"));
  CHECK_THAT(message_for("version https://git-lfs.github.com/spec/v1\n"), Contains("Git LFS"));
  CHECK_THAT(message_for("PK\3\4 and so on"), Contains("a zip archive"));
  CHECK_THAT(message_for("BZh91AY&SY"), Contains("a bzip2 file"));
  CHECK_THAT(message_for(std::string("\xFD"
                                     "7zXZ\0",
                                     6)),
             Contains("an xz file"));
  CHECK_THAT(message_for("\x28\xB5\x2F\xFD data"), Contains("a zstd file"));
  CHECK_THAT(message_for(header(0x0D03, {1, 1, 1}) + "abcd"), Contains("another type than uint8"));
}

TEST_CASE("Huge extents in an IDX header are refused before memory is taken") {
  const auto message_for = [](const std::vector<std::uint32_t>& extents) {
    const TemporaryFile file(header(2048 + static_cast<std::uint32_t>(extents.size()), extents));
    return file_error([&] { read_idx(file.path()); });
  };
  CHECK_THAT(message_for({0xFFFFFFFF, 0x7FFFFFFF}),
             Contains("expected 9223372030412324877 bytes") && Contains("found only 12 bytes"));
  CHECK_THAT(message_for({0xFFFFFFFF, 0xFFFFFFFF}),
             Contains("expected extents of a data set, found 4294967295 x 4294967295"));
  CHECK_THAT(message_for({0xFFFFFFFF, 0xFFFFFFFF, 0xFFFFFFFF, 0xFFFFFFFF, 0xFFFFFFFF}),
             Contains("expected extents of a data set"));
  // 2^63 - 1 elements fit, with the header they do not.
  CHECK_THAT(message_for({7 * 7 * 73 * 127, 337, 92737, 649657}),
             Contains("expected extents of a data set"));
}

TEST_CASE("A missing file, a folder and a pipe are refused with their path") {
  const auto message_for = [](const std::string& path) {
    return file_error([&] { read_idx_images(path); });
  };
  CHECK_THAT(message_for("/nowhere/train-images-idx3-ubyte.gz"),
             Contains("'/nowhere/train-images-idx3-ubyte.gz'") &&
                 Contains("No such file or directory") && Contains("dataset-fashion-mnist"));
  CHECK_THAT(message_for("/"), Contains("'/'") && Contains("a directory"));
  std::string pipe;
  {
    const TemporaryFile name("");
    pipe = name.path();
  }
  REQUIRE(mkfifo(pipe.c_str(), 0600) == 0);
  CHECK_THAT(message_for(pipe), Contains(pipe) && Contains("a pipe"));
  std::remove(pipe.c_str());
}
