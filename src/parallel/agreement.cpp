#include "parallel/agreement.hpp"

#include <algorithm>
#include <cstddef>

#include <lockstep/core/error.hpp>

namespace lockstep::inline v0::detail {

namespace {

std::string joined(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) {
    std::string clean = line;
    std::replace(clean.begin(), clean.end(), '\n', ' ');
    text += clean + "\n";
  }
  return text;
}

std::vector<std::string> split(const std::string& text) {
  std::vector<std::string> lines;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = text.find('\n', begin);
    lines.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return lines;
}

std::string line_at(const std::vector<std::string>& lines, std::size_t i) {
  return i < lines.size() ? lines[i] : "nothing";
}

}  // namespace

void check_agreement(const Communicator& ranks, const std::string& subject,
                     const std::vector<std::string>& lines) {
  if (ranks.size() == 1) return;
  const std::vector<std::string> all = ranks.gather_bytes(joined(lines));
  for (std::size_t rank = 1; rank < all.size(); ++rank) {
    if (all[rank] == all[0]) continue;
    const auto first = split(all[0]);
    const auto other = split(all[rank]);
    std::size_t i = 0;
    while (i < first.size() && i < other.size() && first[i] == other[i]) ++i;
    throw InvalidUsage(subject + " is not the same on all ranks: rank 0 has " + line_at(first, i) +
                       ", rank " + std::to_string(rank) + " has " + line_at(other, i));
  }
}

}  // namespace lockstep::inline v0::detail
