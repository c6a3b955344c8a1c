#include "backend/backend.hpp"

namespace lockstep::inline v0::backend {

const Backend& backend_for(Device device) {
  return device.kind == DeviceKind::cuda ? cuda_backend(device.index) : cpu_backend();
}

const char* text_of(Problem problem) {
  switch (problem) {
    case Problem::label_out_of_range:
      return "cross_entropy: a label was out of range; labels are class numbers from 0, or "
             "ignore_index";
    case Problem::frozen_differently:
      return "some ranks froze parameters since the replica was made, the others did not do the "
             "same; freeze on all ranks in the same step";
    case Problem::other_step:
      return "the ranks are at different steps: one of them left out an exchange of gradients; all "
             "ranks must take the same number of steps";
    case Problem::index_out_of_range:
      return "embedding: an index was out of range; indices are row numbers of the weight from 0";
  }
  return "unknown problem";
}

Queue current_queue(Device device) {
  return device.kind == DeviceKind::cuda ? cuda_current_queue(device.index) : Queue{};
}

}  // namespace lockstep::inline v0::backend
