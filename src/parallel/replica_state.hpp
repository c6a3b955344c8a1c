// What a replica keeps: its arenas, and the exchange of their gradients.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
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
  void set_sample_count(double samples);
  void set_divisor(double divisor);

  ParameterList parameters;
  Device device;
  bool synchronizing = true;  // false within no_sync()
  BucketExchange exchange;

 private:
  void pack_parameters();
  void copy_from_rank_0(const std::vector<NamedBuffer>& buffers);
  void register_gradients();
  /// Before the first gradient of a step is handed over.
  void begin_exchange();
  /// When all gradients are handed over: what the ranks tell each other with them.
  void hand_over_words();
  void finish_exchange();
  /// What turns the sums of the exchange into averages, for those who read the arenas.
  void set_average_factor(std::int64_t step);
  double average_factor(std::int64_t step) const;
  /// Of the exchange that is next or in flight.
  std::int64_t step_number() const;
  void prepare_base();
  bool any_filled() const;
  void abandon_exchange();
  /// Calls function(entry, id) for each gradient that takes part.
  template <class Function>
  void for_each_entry(Function function);

  std::vector<std::shared_ptr<Arena>> arenas_;
  std::vector<std::vector<std::int64_t>> ids_;  // per arena and entry; -1: takes no part
  Averaging averaging_;
  Tensor words_;  // a line of the first arena: weight, parameters frozen since the start
  std::int64_t words_id_ = -1;
  std::optional<double> samples_;
  double divisor_ = 1;
  int frozen_ = 0;                // in this step
  bool base_present_ = false;     // an average of before is part of what the gradients hold
  bool base_is_average_ = false;  // what the gradients hold is the result of an exchange
  bool broken_ = false;
};

}  // namespace lockstep::inline v0::detail
