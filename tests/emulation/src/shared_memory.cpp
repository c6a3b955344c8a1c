#include "emulation/src/shared_memory.hpp"

#include <elf.h>
#include <link.h>

#include <cstring>
#include <fstream>
#include <string>
#include <vector>

namespace emulation {
namespace {

struct Range {
  void* begin;
  std::size_t byte_count;
};

template <typename T>
bool read_at(std::ifstream& file, std::uint64_t offset, T* into, std::size_t count) {
  file.seekg(static_cast<std::streamoff>(offset));
  file.read(reinterpret_cast<char*>(into), static_cast<std::streamsize>(count * sizeof(T)));
  return file.good();
}

int find_in_module(dl_phdr_info* info, std::size_t, void* found) {
  const std::string name = info->dlpi_name;
  std::ifstream file(name.empty() ? "/proc/self/exe" : name, std::ios::binary);
  Elf64_Ehdr header;
  if (!file || !read_at(file, 0, &header, 1)) return 0;  // such as linux-vdso
  std::vector<Elf64_Shdr> sections(header.e_shnum);
  if (sections.empty() || !read_at(file, header.e_shoff, sections.data(), sections.size())) {
    return 0;
  }
  const Elf64_Shdr& names = sections[header.e_shstrndx];
  std::string text(names.sh_size, '\0');
  if (!read_at(file, names.sh_offset, text.data(), text.size())) return 0;
  for (const Elf64_Shdr& section : sections) {
    if (std::strncmp(text.c_str() + section.sh_name, "emulated_shared_", 16) != 0) continue;
    static_cast<std::vector<Range>*>(found)->push_back(
        {reinterpret_cast<void*>(info->dlpi_addr + section.sh_addr), section.sh_size});
  }
  return 0;
}

}  // namespace

void poison_shared_memory() {
  static const std::vector<Range> ranges = [] {
    std::vector<Range> found;
    dl_iterate_phdr(find_in_module, &found);
    return found;
  }();
  for (const Range& range : ranges) std::memset(range.begin, 0xff, range.byte_count);
}

}  // namespace emulation
