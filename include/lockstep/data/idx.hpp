// IDX files (the format of MNIST and Fashion-MNIST), plain or gzip'ed whatever their name.
#pragma once

#include <string>

#include <lockstep/core/tensor.hpp>

namespace lockstep::inline v0::data {

/// uint8 tensor of the file's shape: images (count, rows, columns), labels (count). Everything is
/// checked before memory for the data is taken. @throws FileError with path, expected and found,
/// and how to get the file.
LOCKSTEP_API Tensor read_idx(const std::string& path);
/// The same, and the magic number must be 2051 (images) or 2049 (labels).
LOCKSTEP_API Tensor read_idx_images(const std::string& path);
LOCKSTEP_API Tensor read_idx_labels(const std::string& path);

}  // namespace lockstep::inline v0::data
