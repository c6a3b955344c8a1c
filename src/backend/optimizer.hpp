// Backend family: one optimizer pass over one arena. float32 and float64; the same bits in every
// vector variant.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include <lockstep/core/dtype.hpp>
#include "backend/queue.hpp"

namespace lockstep::inline v0::backend {

/// Arena memory of one dtype; all pointers share one index. `gradients` is only read.
struct ArenaPointers {
  void* values = nullptr;
  const void* gradients = nullptr;
  void* first_moment = nullptr;          // Adam: m; SGD: momentum buffer, null without momentum
  void* second_moment = nullptr;         // Adam: v; SGD: null
  double gradient_scale = 1;             // multiplied into each gradient as it is read
  const double* device_scale = nullptr;  // in device memory, multiplied to gradient_scale; or null
  const std::int32_t* skip = nullptr;    // in device memory; where it is not 0 nothing changes
};

/// A run of elements [begin, end) with the same options and step number.
struct AdamSegment {
  std::int64_t begin = 0;
  std::int64_t end = 0;
  double learning_rate = 0;
  double beta1 = 0;
  double beta2 = 0;
  double epsilon = 0;
  double l2_decay = 0;         // added to the gradient
  double decoupled_decay = 0;  // w *= 1 - learning_rate * decay, before the update
  std::int64_t step = 1;       // counts from 1

  friend bool operator==(const AdamSegment&, const AdamSegment&) = default;
};

struct SgdSegment {
  std::int64_t begin = 0;
  std::int64_t end = 0;
  double learning_rate = 0;
  double momentum = 0;
  double dampening = 0;
  double weight_decay = 0;
  bool nesterov = false;
  bool first_step = false;  // the momentum buffer is set, not updated

  friend bool operator==(const SgdSegment&, const SgdSegment&) = default;
};

/// For a step that is captured and replayed: makes the segments of the next replay, at most `most`
/// and within the range of those of the capture.
template <class Segment>
struct NextSegments {
  std::function<std::vector<Segment>()> make;
  std::size_t most = 0;
};

class Optimizer {
 public:
  virtual ~Optimizer() = default;
  /// include/lockstep/optim/adam.hpp has the formulas. Coefficients are computed in float64 and
  /// rounded once to dtype.
  virtual void adam(DType dtype, const ArenaPointers& arena, std::span<const AdamSegment> segments,
                    Queue queue, const NextSegments<AdamSegment>& next = {}) = 0;
  virtual void sgd(DType dtype, const ArenaPointers& arena, std::span<const SgdSegment> segments,
                   Queue queue, const NextSegments<SgdSegment>& next = {}) = 0;
};

}  // namespace lockstep::inline v0::backend
