#include "data/rows.hpp"

#include <cstring>
#include <string>

#include <lockstep/core/create.hpp>
#include <lockstep/core/error.hpp>

namespace lockstep::inline v0::data::detail {

void check_host_rows(const Tensor& tensor, std::string_view name) {
  const std::string what = "[data] the dataset's " + std::string(name);
  if (!tensor.defined()) throw InvalidUsage(what + ": expected a tensor, found an undefined one");
  if (tensor.device().kind != DeviceKind::cpu)
    throw InvalidUsage(what + ": expected host memory, found " + to_string(tensor.device()) +
                       "; the loader copies batches to the device");
  if (tensor.shape().axes() == 0)
    throw ShapeError(what + ": expected samples along the first axis, found a scalar");
}

std::int64_t row_size(const Shape& shape) {
  std::int64_t size = 1;
  for (const auto extent : shape.sizes().subspan(1)) size *= extent;
  return size;
}

void check_indices(std::span<const std::int64_t> indices, std::int64_t size) {
  for (const auto index : indices)
    if (index < 0 || index >= size)
      throw InvalidUsage("[data] sample index " + std::to_string(index) +
                         " is out of range: the dataset has " + std::to_string(size) + " samples");
}

Tensor gather_rows(const Tensor& source, std::span<const std::int64_t> indices) {
  const auto& shape = source.shape();
  check_indices(indices, shape[0]);
  std::vector<std::int64_t> sizes(shape.sizes().begin(), shape.sizes().end());
  sizes[0] = static_cast<std::int64_t>(indices.size());
  Tensor rows = empty(Shape(std::span<const std::int64_t>(sizes)), source.dtype());
  const auto row_bytes = row_size(shape) * byte_size(source.dtype());
  if (row_bytes == 0 || indices.empty()) return rows;
  const auto* from = static_cast<const char*>(source.raw_data());
  auto* to = static_cast<char*>(rows.mutable_raw_data());
  for (const auto index : indices) {
    std::memcpy(to, from + index * row_bytes, static_cast<std::size_t>(row_bytes));
    to += row_bytes;
  }
  return rows;
}

}  // namespace lockstep::inline v0::data::detail
