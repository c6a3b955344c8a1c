#include <string>

#include <lockstep/core/create.hpp>
#include <lockstep/core/error.hpp>
#include <lockstep/data/dataset.hpp>

#include "data/rows.hpp"

namespace lockstep::inline v0::data {

namespace {

void check_uint8(const Tensor& tensor, const char* name) {
  if (tensor.dtype() != DType::uint8)
    throw InvalidUsage(std::string("[data] ImageDataset: expected uint8 ") + name + ", found " +
                       lockstep::name(tensor.dtype()));
}

// Divided, not multiplied by 1/255: the correctly rounded quotient is what other libraries give.
void scale_to_unit(const std::uint8_t* from, float* to, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) to[i] = static_cast<float>(from[i]) / 255.0f;
}

}  // namespace

ImageDataset::ImageDataset(Tensor images, Tensor labels)
    : images_(std::move(images)), labels_(std::move(labels)) {
  detail::check_host_rows(images_, "images");
  detail::check_host_rows(labels_, "labels");
  check_uint8(images_, "images");
  check_uint8(labels_, "labels");
  if (labels_.shape().axes() != 1 || images_.shape()[0] != labels_.shape()[0])
    throw ShapeError("[data] ImageDataset: images " + to_string(images_.shape()) +
                     " need one label each, found labels " + to_string(labels_.shape()));
}

std::int64_t ImageDataset::size() const { return labels_.shape()[0]; }

Batch ImageDataset::read(std::span<const std::int64_t> indices) const {
  detail::check_indices(indices, size());
  const auto count = static_cast<std::int64_t>(indices.size());
  const auto pixels = detail::row_size(images_.shape());
  Batch batch{.inputs = empty({count, pixels}, DType::float32),
              .targets = empty({count}, DType::int64),
              .size = count};
  if (count == 0) return batch;
  const auto* images = images_.data<std::uint8_t>();
  const auto* labels = labels_.data<std::uint8_t>();
  auto* inputs = batch.inputs.mutable_data<float>();
  auto* targets = batch.targets.mutable_data<std::int64_t>();
  for (const auto index : indices) {
    scale_to_unit(images + index * pixels, inputs, pixels);
    inputs += pixels;
    *targets++ = labels[index];
  }
  return batch;
}

}  // namespace lockstep::inline v0::data
