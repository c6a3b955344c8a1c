#include <lockstep/core/error.hpp>
#include <lockstep/data/dataset.hpp>

#include "data/rows.hpp"

namespace lockstep::inline v0::data {

TensorDataset::TensorDataset(Tensor inputs, Tensor targets)
    : inputs_(std::move(inputs)), targets_(std::move(targets)) {
  detail::check_host_rows(inputs_, "inputs");
  if (!targets_.defined()) return;
  detail::check_host_rows(targets_, "targets");
  if (inputs_.shape()[0] != targets_.shape()[0])
    throw ShapeError("[data] TensorDataset: inputs " + to_string(inputs_.shape()) +
                     " and targets " + to_string(targets_.shape()) +
                     " differ in their first axis, the number of samples");
}

std::int64_t TensorDataset::size() const { return inputs_.shape()[0]; }

Batch TensorDataset::read(std::span<const std::int64_t> indices) const {
  return {.inputs = detail::gather_rows(inputs_, indices),
          .targets = targets_.defined() ? detail::gather_rows(targets_, indices) : Tensor(),
          .size = static_cast<std::int64_t>(indices.size())};
}

}  // namespace lockstep::inline v0::data
