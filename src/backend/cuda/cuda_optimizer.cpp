#include "backend/cuda/cuda_optimizer.hpp"

#include <algorithm>
#include <cstring>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <lockstep/core/error.hpp>
#include "backend/capture.hpp"
#include "backend/cuda/type_of.hpp"
#include "backend/optimizer_coefficients.hpp"
#include "kernels/adam.hpp"
#include "kernels/sgd.hpp"

namespace lockstep::inline v0::backend::cuda {
namespace {

template <class T>
kernels::AdamSegment<T> kernel_segment(const AdamSegment& segment) {
  const auto with = coefficients<T>(segment, 1.0);
  return {segment.begin, segment.end,          with.l2_decay, with.keep,
          with.beta1,    with.one_minus_beta1, with.beta2,    with.one_minus_beta2,
          with.rate,     with.root_scale,      with.epsilon};
}

template <class T>
kernels::SgdSegment<T> kernel_segment(const SgdSegment& segment) {
  const auto with = coefficients<T>(segment, 1.0);
  return {
      segment.begin,      segment.end,   with.weight_decay, with.momentum, with.one_minus_dampening,
      with.learning_rate, with.nesterov, with.first_step};
}

/// The table of segments in device memory, filled on the stream: at once, or before each replay of
/// the step that is being captured.
template <class T, class Segment>
class Table {
 public:
  using Entry = decltype(kernel_segment<T>(std::declval<Segment>()));

  Table(int index, std::span<const Segment> segments, const NextSegments<Segment>& next,
        Queue queue)
      : count_(std::max(segments.size(), next.most)) {
    const auto byte_count = static_cast<std::int64_t>(count_ * sizeof(Entry));
    if (Capture* capture = current_capture()) {
      if (!next.make) capture->refuse("runs an optimizer that cannot be replayed");
      const auto fill = [make = next.make, count = count_, end = segments.back().end](
                            std::byte* bytes) { write(make(), count, end, bytes); };
      data_ = capture->upload_each_time(byte_count, fill);
      return;
    }
    memory_.emplace(index, byte_count, queue);
    data_ = memory_->data();
    std::vector<std::byte> bytes(static_cast<std::size_t>(byte_count));
    write(segments, count_, segments.back().end, bytes.data());
    device_state(index).memory().copy_from_host(data_, bytes.data(), byte_count, queue);
  }

  const void* data() const noexcept { return data_; }
  int count() const noexcept { return static_cast<int>(count_); }

 private:
  /// The segments, and empty ones behind them.
  static void write(std::span<const Segment> segments, std::size_t count, std::int64_t end,
                    std::byte* bytes) {
    for (std::size_t i = 0; i < count; ++i, bytes += sizeof(Entry)) {
      Entry entry{};
      entry.begin = entry.end = end;
      if (i < segments.size()) entry = kernel_segment<T>(segments[i]);
      std::memcpy(bytes, &entry, sizeof entry);
    }
  }

  std::size_t count_;
  std::optional<Scratch> memory_;
  void* data_ = nullptr;
};

kernels::ArenaPointers kernel_pointers(const ArenaPointers& arena) {
  return {arena.values, arena.gradients, arena.first_moment, arena.second_moment};
}

kernels::StepScalars kernel_scalars(const ArenaPointers& arena) {
  return {arena.gradient_scale, arena.device_scale, arena.skip};
}

/// Calls body(float{}) or body(double{}).
template <class Body>
void with_float_type(const char* operation, DType dtype, const Body& body) {
  if (dtype == DType::float32) return body(float{});
  if (dtype == DType::float64) return body(double{});
  throw InvalidUsage(std::string("[cuda] ") + operation + " takes float32 and float64, not " +
                     name(dtype));
}

}  // namespace

void CudaOptimizer::adam(DType dtype, const ArenaPointers& arena,
                         std::span<const AdamSegment> segments, Queue queue,
                         const NextSegments<AdamSegment>& next) {
  if (segments.empty()) return;
  with_float_type("adam", dtype, [&]<class T>(T) {
    const Table<T, AdamSegment> table(index(), segments, next, queue);
    const std::int64_t begin = segments.front().begin;
    const std::int64_t end = segments.back().end;
    launch("adam", end - begin, queue, [&](cudaStream_t stream) {
      return kernels::adam(type_of(dtype), kernel_pointers(arena), table.data(), table.count(),
                           begin, end, kernel_scalars(arena), stream);
    });
  });
}

void CudaOptimizer::sgd(DType dtype, const ArenaPointers& arena,
                        std::span<const SgdSegment> segments, Queue queue,
                        const NextSegments<SgdSegment>& next) {
  if (segments.empty()) return;
  with_float_type("sgd", dtype, [&]<class T>(T) {
    const Table<T, SgdSegment> table(index(), segments, next, queue);
    const std::int64_t begin = segments.front().begin;
    const std::int64_t end = segments.back().end;
    launch("sgd", end - begin, queue, [&](cudaStream_t stream) {
      return kernels::sgd(type_of(dtype), kernel_pointers(arena), table.data(), table.count(),
                          begin, end, kernel_scalars(arena), stream);
    });
  });
}

}  // namespace lockstep::inline v0::backend::cuda
