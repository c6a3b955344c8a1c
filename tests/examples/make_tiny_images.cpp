// Writes a data set in the form of Fashion-MNIST, small and easy: in the pictures of class c, the
// rows 2c and 2c + 1 are bright.
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <string>

namespace {

constexpr std::uint32_t kClasses = 10;
constexpr std::uint32_t kSide = 28;

std::string word(std::uint32_t value) {
  return {static_cast<char>(value >> 24), static_cast<char>(value >> 16),
          static_cast<char>(value >> 8), static_cast<char>(value)};
}

bool write(const std::string& path, const std::string& bytes) {
  std::ofstream file(path, std::ios::binary);
  file << bytes;
  file.close();
  return file.good();
}

bool write_part(const std::string& prefix, std::uint32_t count) {
  std::string images = word(2051) + word(count) + word(kSide) + word(kSide);
  std::string labels = word(2049) + word(count);
  for (std::uint32_t i = 0; i < count; ++i) {
    labels += static_cast<char>(i % kClasses);
    for (std::uint32_t row = 0; row < kSide; ++row) {
      const bool bright = row / 2 == i % kClasses;
      for (std::uint32_t column = 0; column < kSide; ++column)
        images += static_cast<char>((bright ? 160 : 0) + (i * 31 + row * 7 + column * 13) % 64);
    }
  }
  return write(prefix + "-images-idx3-ubyte", images) &&
         write(prefix + "-labels-idx1-ubyte", labels);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: make_tiny_images FOLDER\n";
    return 2;
  }
  const std::string folder = argv[1];
  std::filesystem::create_directories(folder);
  return write_part(folder + "/train", 400) && write_part(folder + "/t10k", 101) ? EXIT_SUCCESS
                                                                                 : EXIT_FAILURE;
}
