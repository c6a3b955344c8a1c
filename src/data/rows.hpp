// Rows of a host tensor, what the datasets in memory share.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include <lockstep/core/tensor.hpp>

namespace lockstep::inline v0::data::detail {

/// @throws ShapeError for a scalar, InvalidUsage for an undefined tensor or one on a device.
void check_host_rows(const Tensor& tensor, std::string_view name);
/// Elements of one row: the product of all sizes but the first.
std::int64_t row_size(const Shape& shape);
/// @throws InvalidUsage naming the first index outside [0, size).
void check_indices(std::span<const std::int64_t> indices, std::int64_t size);
/// A new tensor with these rows; the indices are checked.
Tensor gather_rows(const Tensor& source, std::span<const std::int64_t> indices);

}  // namespace lockstep::inline v0::data::detail
