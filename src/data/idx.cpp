// Big-endian: 2 zero bytes, element type, number of dimensions; the extents as u32; the elements.
// yann.lecun.com/exdb/mnist
#include <array>
#include <cstdio>
#include <span>
#include <vector>

#include <lockstep/core/create.hpp>
#include <lockstep/core/error.hpp>
#include <lockstep/data/idx.hpp>

#include "data/byte_source.hpp"

namespace lockstep::inline v0::data {

namespace {

constexpr std::uint32_t kImagesMagic = 2051;
constexpr std::uint32_t kLabelsMagic = 2049;
constexpr std::uint32_t kAnyMagic = 0;
constexpr std::uint32_t kUint8 = 0x08;

// From bytes, so that the byte order of this machine does not matter.
std::uint32_t big_endian(const unsigned char* bytes) {
  return std::uint32_t{bytes[0]} << 24 | std::uint32_t{bytes[1]} << 16 |
         std::uint32_t{bytes[2]} << 8 | std::uint32_t{bytes[3]};
}

std::string hex(std::uint32_t value) {
  char text[11];
  std::snprintf(text, sizeof text, "0x%08X", value);
  return text;
}

// What people have where an IDX file should be.
const char* likely_cause(std::uint32_t magic) {
  const auto type = (magic >> 8) & 0xFF;
  if ((magic >> 16) == 0x1F8B) return ": gzip inside gzip";
  if ((magic >> 16) == 0x504B) return ": a zip archive";
  if ((magic >> 16) == 0x425A) return ": a bzip2 file";
  if (magic == 0xFD377A58) return ": an xz file";
  if (magic == 0x28B52FFD) return ": a zstd file";
  if (magic == 0x76657273) return ": a Git LFS pointer in place of the file";
  if ((magic >> 24) == '<') return ": a web page in place of the file";
  if ((magic & 0xFFFF) == 0 && ((magic >> 16) & 0xFF) == kUint8)
    return ": a little-endian header, and IDX is big-endian";
  if ((magic >> 16) == 0 && type >= 0x09 && type <= 0x0E)
    return ": elements of another type than uint8";
  return "";
}

class IdxReader {
 public:
  explicit IdxReader(const std::string& path) : path_(path), source_(detail::open_bytes(path)) {}

  Tensor read(std::uint32_t required_magic) {
    const auto extents = read_header(required_magic);
    check_size(extents);
    Tensor result = empty(Shape(std::span<const std::int64_t>(extents)), DType::uint8);
    source_->rewind();
    std::array<unsigned char, 4 * (1 + Shape::kMaxAxes)> header;
    const auto header_bytes = 4 * (1 + static_cast<std::int64_t>(extents.size()));
    if (source_->read(header.data(), header_bytes) != header_bytes ||
        source_->read(result.mutable_raw_data(), result.byte_count()) != result.byte_count())
      fail("the bytes counted before", "fewer: the file was changed while it was read");
    return result;
  }

 private:
  std::vector<std::int64_t> read_header(std::uint32_t required_magic) {
    unsigned char word[4];
    const auto got = source_->read(word, 4);
    if (got != 4) fail("a magic number of 4 bytes", std::to_string(got) + " bytes");
    check_magic(big_endian(word), required_magic);
    std::vector<std::int64_t> extents(word[3]);
    for (std::size_t i = 0; i < extents.size(); ++i) {
      if (source_->read(word, 4) != 4)
        fail(std::to_string(extents.size()) + " extents of 4 bytes",
             "the end of the file after " + std::to_string(i));
      extents[i] = big_endian(word);
    }
    return extents;
  }

  void check_magic(std::uint32_t magic, std::uint32_t required) const {
    const auto dimensions = magic & 0xFF;
    const bool valid = (magic >> 8) == kUint8 && dimensions >= 1 && dimensions <= Shape::kMaxAxes;
    if (valid && (required == kAnyMagic || required == magic)) return;
    const auto* expected = required == kImagesMagic   ? "magic number 2051 (images)"
                           : required == kLabelsMagic ? "magic number 2049 (labels)"
                                                      : "magic number 2049 to 2056 (uint8 data)";
    const auto* kind = magic == kImagesMagic   ? ": images"
                       : magic == kLabelsMagic ? ": labels"
                                               : likely_cause(magic);
    fail(expected, std::to_string(magic) + " (" + hex(magic) + ")" + kind);
  }

  // Before memory is taken: a damaged header must not ask for terabytes, nor a small gzip file
  // unpack to them.
  void check_size(const std::vector<std::int64_t>& extents) {
    std::int64_t count = 1;
    std::string product;
    bool no_elements = false;
    for (const auto extent : extents) {
      no_elements = no_elements || extent == 0;
      product += (product.empty() ? "" : " x ") + std::to_string(extent);
    }
    for (const auto extent : extents)
      if (!no_elements && __builtin_mul_overflow(count, extent, &count))
        fail("extents of a data set", product);
    const auto header_bytes = 4 * (1 + static_cast<std::int64_t>(extents.size()));
    std::int64_t expected = 0;
    if (__builtin_add_overflow(no_elements ? 0 : count, header_bytes, &expected))
      fail("extents of a data set", product);
    const auto found = source_->size(expected);
    if (found == expected) return;
    fail(std::to_string(expected) + " bytes (header " + std::to_string(header_bytes) + ", data " +
             product + ")",
         (found > expected ? "trailing bytes, at least " : "only ") + std::to_string(found) +
             " bytes");
  }

  [[noreturn]] void fail(const std::string& expected, const std::string& found) const {
    throw FileError("[data] '" + path_ + "' is no valid IDX file: expected " + expected +
                    ", found " + found + ". " + detail::kHowToGetData);
  }

  std::string path_;
  std::unique_ptr<detail::ByteSource> source_;
};

}  // namespace

Tensor read_idx(const std::string& path) { return IdxReader(path).read(kAnyMagic); }
Tensor read_idx_images(const std::string& path) { return IdxReader(path).read(kImagesMagic); }
Tensor read_idx_labels(const std::string& path) { return IdxReader(path).read(kLabelsMagic); }

}  // namespace lockstep::inline v0::data
