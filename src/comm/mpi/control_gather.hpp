// The control plane: every call is one exchange of host bytes, straight from each rank to each
// other, so a rank knows exactly which ones are missing.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "comm/mpi/operation.hpp"

namespace lockstep::inline v0::detail::mpi {

class ControlGather final : public Operation {
 public:
  ControlGather(std::shared_ptr<Group> group, const Call& call, std::string_view own);

  void start() override;
  bool advance() override;
  bool heard_of(int rank) const override { return heard_[static_cast<std::size_t>(rank)]; }
  bool needs(int rank) const override { return rank != group().rank; }

  /// By rank, once it is finished.
  std::vector<std::string> take_bytes() { return std::move(bytes_); }

 private:
  // The first message; what does not fit follows in further ones.
  struct Envelope {
    static constexpr std::int64_t kRoom = 472;
    std::int64_t number = 0;
    std::int64_t verb = 0;
    std::int64_t byte_count = 0;
    char bytes[kRoom] = {};
  };
  static constexpr std::int64_t kHeadBytes = sizeof(Envelope) - Envelope::kRoom;

  Channel channel() const noexcept;
  void open(int rank);

  Envelope own_;
  std::vector<Envelope> envelopes_;
  std::vector<bool> heard_;
  std::vector<std::string> bytes_;
};

}  // namespace lockstep::inline v0::detail::mpi
