// What a replica keeps: its arenas, and the exchange of their gradients.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <lockstep/parallel/data_parallel.hpp>

#include "core/arena.hpp"
#include "parallel/bucket_exchange.hpp"

namespace lockstep::inline v0::detail {

class ReplicaState final : public GradientListener {
 public:
  ReplicaState(ParameterList parameters, const std::vector<NamedBuffer>& buffers,
               const Communicator& ranks, Device device, const DataParallelOptions& options);
  ~ReplicaState() override;

  // From the tape.
  void begin_backward() override;
  void ready(Arena& arena, std::size_t index) override;
  void end_backward() override;
  void abandon_backward() noexcept override;
  void wait() override;

  void synchronize();

  ParameterList parameters;
  Device device;
  bool synchronizing = true;  // false within no_sync()
  double divisor = 1;         // of the coming synchronization
  BucketExchange exchange;

 private:
  void pack_parameters();
  void copy_from_rank_0(const std::vector<NamedBuffer>& buffers);
  void register_gradients();
  void finish_exchange();
  void prepare_base();
  /// Calls function(entry, id) for each gradient that takes part.
  template <class Function>
  void for_each_entry(Function function);

  std::vector<std::shared_ptr<Arena>> arenas_;
  std::vector<std::vector<std::int64_t>> ids_;  // per arena and entry; -1: takes no part
  Averaging averaging_;
  bool base_is_average_ = false;  // what the gradients hold is the result of an exchange
  bool broken_ = false;
};

}  // namespace lockstep::inline v0::detail
