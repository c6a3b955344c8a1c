// A collective, a message, or a group of them, as an operation in a stream: bytes to and from other
// ranks, and then what is made of them.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "emulation/nccl/communicator.hpp"

namespace emulation::nccl {

enum class Kind : std::int32_t { all_reduce, reduce_scatter, all_gather, broadcast, message };

/// Goes ahead of the bytes, so that ranks that do not call the same are found out.
struct Header {
  Kind kind;
  std::int32_t type;
  std::int32_t op;
  std::int32_t padding = 0;
  std::uint64_t count;

  friend bool operator==(const Header&, const Header&) = default;
};

/// What is to be done; nothing of how far it is.
struct Plan {
  struct Transfer {
    int peer;
    Header header;
    void* bytes;  // null: into (or from) scratch
    std::size_t scratch_offset;
    std::size_t byte_count;
  };
  struct Copy {
    const void* from;
    void* to;
    std::size_t byte_count;
  };
  struct Reduction {
    ncclDataType_t type;
    ncclRedOp_t op;
    std::size_t count;
    const void* own;
    std::size_t scratch_offset;  // of the rows of the other ranks, in rank order
    void* result;
  };

  std::vector<Transfer> sends;     // to one peer in the order of the calls
  std::vector<Transfer> receives;  // likewise
  std::vector<Copy> copies;
  std::vector<Reduction> reductions;
  std::size_t scratch_bytes = 0;
  int calls = 0;
};

class Exchange final : public Operation {
 public:
  Exchange(std::shared_ptr<Communicator> communicator, std::shared_ptr<const Plan> plan);
  ~Exchange() override;

  Progress run() override;
  std::unique_ptr<Operation> clone() const override {
    return std::make_unique<Exchange>(communicator_, plan_);
  }
  bool has_peers() const override { return true; }

 private:
  /// How far a transfer is; the header counts.
  struct Moving {
    const Plan::Transfer* transfer;
    std::size_t moved = 0;
    Header arrived{};
  };

  void begin();
  bool send(Moving& moving);
  bool receive(Moving& moving);
  void finish();
  std::byte* place(const Plan::Transfer& transfer) const;

  std::shared_ptr<Communicator> communicator_;
  std::shared_ptr<const Plan> plan_;
  std::vector<std::byte> scratch_;
  std::vector<std::deque<Moving>> sends_;     // by peer
  std::vector<std::deque<Moving>> receives_;  // by peer
  bool begun_ = false;
  bool done_ = false;
};

}  // namespace emulation::nccl
