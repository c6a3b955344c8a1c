#include "comm/mpi/notice.hpp"

#include <algorithm>
#include <cstring>

namespace lockstep::inline v0::detail::mpi {
namespace {

constexpr std::size_t kMostTallies = 64;

struct Head {
  std::int32_t kind;
  std::int32_t rank;
  std::uint64_t group;
  Progressed made;
  std::int64_t number;
  Call call;
  std::int64_t step;
  std::int32_t code;
  std::uint8_t waits, threw, secondary, unused;
  std::int32_t tally_count;
  std::int32_t text_bytes;
};
static_assert(sizeof(Head) == 96 && sizeof(Notice::Tally) == 24);

}  // namespace

std::vector<char> encode(const Notice& notice) {
  const std::size_t tallies = std::min(notice.tallies.size(), kMostTallies);
  const std::size_t tally_bytes = tallies * sizeof(Notice::Tally);
  const std::size_t text_bytes =
      std::min(notice.text.size(), kMostNoticeBytes - sizeof(Head) - tally_bytes);
  const Head head{static_cast<std::int32_t>(notice.kind),
                  notice.rank,
                  notice.group,
                  notice.made,
                  notice.number,
                  notice.call,
                  notice.step,
                  notice.code,
                  notice.waits,
                  notice.threw,
                  notice.secondary,
                  0,
                  static_cast<std::int32_t>(tallies),
                  static_cast<std::int32_t>(text_bytes)};
  std::vector<char> bytes(sizeof head + tally_bytes + text_bytes);
  char* place = bytes.data();
  std::memcpy(place, &head, sizeof head);
  place += sizeof head;
  if (tallies > 0)
    std::memcpy(place, notice.tallies.data() + (notice.tallies.size() - tallies), tally_bytes);
  std::copy_n(notice.text.data(), text_bytes, place + tally_bytes);
  return bytes;
}

Notice decode(const std::vector<char>& bytes) {
  Head head;
  if (bytes.size() < sizeof head) return {};
  std::memcpy(&head, bytes.data(), sizeof head);
  const std::size_t tally_bytes =
      static_cast<std::size_t>(head.tally_count) * sizeof(Notice::Tally);
  const auto text_bytes = static_cast<std::size_t>(head.text_bytes);
  if (head.tally_count < 0 || head.text_bytes < 0 ||
      bytes.size() != sizeof head + tally_bytes + text_bytes)
    return {};
  Notice notice;
  notice.kind = static_cast<NoticeKind>(head.kind);
  notice.group = head.group;
  notice.made = head.made;
  notice.waits = head.waits != 0;
  notice.number = head.number;
  notice.call = head.call;
  notice.step = head.step;
  notice.rank = head.rank;
  notice.code = head.code;
  notice.threw = head.threw != 0;
  notice.secondary = head.secondary != 0;
  notice.tallies.resize(static_cast<std::size_t>(head.tally_count));
  if (tally_bytes > 0) std::memcpy(notice.tallies.data(), bytes.data() + sizeof head, tally_bytes);
  notice.text.assign(bytes.data() + sizeof head + tally_bytes, text_bytes);
  return notice;
}

}  // namespace lockstep::inline v0::detail::mpi
