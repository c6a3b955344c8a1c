// DataParallel: a replica of a model whose gradients are averaged over the ranks during backward.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include <lockstep/comm/environment.hpp>
#include <lockstep/core/module.hpp>
#include <lockstep/parallel/gradient_synchronizer.hpp>

namespace lockstep::inline v0 {

namespace detail {
class ReplicaState;
}

struct DataParallelOptions {
  std::int64_t bucket_bytes = 25 * MiB;
  std::int64_t first_bucket_bytes = 1 * MiB;
  Averaging averaging = Averaging::mean;
  SumOrder order = SumOrder::fastest;
};

/// What a replica does, whatever its model.
class LOCKSTEP_API Replica {
 public:
  /// While it lives, backward only accumulates. The first backward after it synchronizes all that
  /// was touched.
  class LOCKSTEP_API [[nodiscard]] NoSync {
   public:
    explicit NoSync(Replica& replica) noexcept;
    ~NoSync();
    NoSync(const NoSync&) = delete;
    NoSync& operator=(const NoSync&) = delete;

   private:
    Replica* replica_;
    bool before_;
  };
  NoSync no_sync() noexcept { return NoSync(*this); }
  /// False within no_sync().
  bool synchronizing() const noexcept;

  const ParameterList& parameters() const noexcept;
  const Communicator& ranks() const noexcept;
  Device device() const noexcept;

  /// Averaging::weighted: the samples behind the coming backward (or window) on this rank.
  void set_sample_count(double samples);
  /// Synchronizes without a backward: what was accumulated under no_sync, zeros for what was not
  /// touched. For a rank without samples in this step, or a window that ends early.
  void synchronize();
  /// Divides the gradients of the coming synchronization by this as well (micro-batches of a
  /// window).
  void set_divisor(double divisor);
  /// Waits for the exchange in flight, if any.
  void wait();
  const SynchronizerCounters& counters() const noexcept;
  std::int64_t bucket_count() const noexcept;

  Replica(Replica&&) noexcept;
  Replica& operator=(Replica&&) noexcept;
  ~Replica();

 protected:
  Replica(ParameterList parameters, std::vector<detail::NamedBuffer> buffers,
          const Communicator& ranks, Device device, const DataParallelOptions& options);

 private:
  std::unique_ptr<detail::ReplicaState> state_;
};

/// Refers to the model, which must outlive it. On construction (collective) the ranks compare
/// names, shapes and dtypes, parameters are packed into arenas on the rank's device, and rank 0's
/// parameters and buffers are copied to all.
template <Module Model>
class DataParallel : public Replica {
 public:
  DataParallel(Model& model, const Environment& environment,
               const DataParallelOptions& options = {})
      : DataParallel(model, environment.ranks(), environment.device(), options) {}
  DataParallel(Model& model, const Communicator& ranks, Device device,
               const DataParallelOptions& options = {})
      : Replica(lockstep::parameters(model), lockstep::buffers(model), ranks, device, options),
        model_(&model) {}
  template <class... Rest>
  DataParallel(Model&&, Rest&&...) = delete;

  /// The model's own call, with any arguments and result.
  template <class... Arguments>
  decltype(auto) operator()(Arguments&&... arguments) {
    return (*model_)(std::forward<Arguments>(arguments)...);
  }
  Model& model() noexcept { return *model_; }
  const Model& model() const noexcept { return *model_; }

 private:
  Model* model_;
};

template <class Model, class... Rest>
DataParallel(Model&, Rest&&...) -> DataParallel<Model>;

/// Gradient accumulation: `micro_batches` backwards to one exchange and one optimizer step. The
/// gradient is the mean over the micro-batches that the window really had.
///
///   ls::AccumulationWindow window{replica, 4};
///   for (const auto& batch : loader.epoch(epoch))
///     if (window.backward(loss(batch))) { adam.step(); adam.zero_grad(); }
///   if (window.finish()) { adam.step(); adam.zero_grad(); }  // the last window may be shorter
///
/// The last window may have fewer micro-batches on one rank than on another, but not none: finish()
/// then exchanges nothing there, and the others wait: for that rank's next exchange, which belongs
/// to another step, or until their deadline.
class LOCKSTEP_API AccumulationWindow {
 public:
  /// @throws InvalidUsage unless micro_batches is positive.
  AccumulationWindow(Replica& replica, std::int64_t micro_batches);
  /// Runs loss.backward(); true when the window is complete and its gradients are being exchanged.
  bool backward(const Tensor& loss);
  /// Ends a window that was begun; false if none was.
  bool finish();

 private:
  Replica* replica_;
  std::int64_t micro_batches_;
  std::int64_t done_ = 0;
};

}  // namespace lockstep::inline v0
