// Datasets: samples by index.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include <lockstep/core/tensor.hpp>

namespace lockstep::inline v0::data {

/// One mini-batch: inputs (size, ...), and targets (size, ...) or undefined.
struct Batch {
  Tensor inputs;
  Tensor targets;
  std::int64_t size = 0;
};

/// Samples by index; read() is called from loader threads, several at once.
class LOCKSTEP_API Dataset {
 public:
  virtual ~Dataset();
  virtual std::int64_t size() const = 0;
  /// The samples with these indices as one batch of host tensors. @throws InvalidUsage for an index
  /// out of range.
  virtual Batch read(std::span<const std::int64_t> indices) const = 0;
};

/// Rows of tensors in memory (host). `inputs` and `targets` share the first axis; targets may be
/// undefined.
class LOCKSTEP_API TensorDataset : public Dataset {
 public:
  explicit TensorDataset(Tensor inputs, Tensor targets = {});
  std::int64_t size() const override;
  Batch read(std::span<const std::int64_t> indices) const override;
  const Tensor& inputs() const noexcept { return inputs_; }
  const Tensor& targets() const noexcept { return targets_; }

 private:
  Tensor inputs_;
  Tensor targets_;
};

/// uint8 images (count, ...) and uint8 labels (count), read as float32 (batch, pixels) in [0, 1]
/// and int64 (batch).
class LOCKSTEP_API ImageDataset : public Dataset {
 public:
  /// @throws ShapeError if the counts differ, InvalidUsage for other dtypes.
  ImageDataset(Tensor images, Tensor labels);
  std::int64_t size() const override;
  Batch read(std::span<const std::int64_t> indices) const override;

 private:
  Tensor images_;
  Tensor labels_;
};

}  // namespace lockstep::inline v0::data
