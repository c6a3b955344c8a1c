#include <lockstep/nn/embedding.hpp>

#include <cstring>
#include <string>

#include <lockstep/core/error.hpp>
#include <lockstep/core/rows.hpp>

namespace lockstep::inline v0::nn {

Embedding::Embedding(std::int64_t rows, std::int64_t columns, EmbeddingOptions options)
    : Embedding(rows, columns, default_generator(), options) {}

Embedding::Embedding(std::int64_t rows, std::int64_t columns, Generator& generator,
                     EmbeddingOptions options)
    : Embedding(Parameter(normal(Shape{rows, columns}, options.dtype, generator)),
                options.padding_index) {
  if (!padding_index_) return;
  const std::int64_t row_bytes = columns * byte_size(options.dtype);
  auto* bytes = static_cast<std::byte*>(weight_.value().mutable_raw_data());
  std::memset(bytes + *padding_index_ * row_bytes, 0, static_cast<std::size_t>(row_bytes));
}

Embedding::Embedding(Parameter weight, std::optional<std::int64_t> padding_index)
    : weight_(std::move(weight)), padding_index_(padding_index) {
  if (!weight_.defined() || weight_.shape().axes() != 2)
    throw ShapeError("Embedding: the weight has shape (rows, columns)");
  if (padding_index_ && (*padding_index_ < 0 || *padding_index_ >= rows()))
    throw InvalidUsage("Embedding: padding index " + std::to_string(*padding_index_) +
                       " is no row of the weight " + to_string(weight_.shape()));
}

Tensor Embedding::operator()(const Tensor& indices) const {
  return embedding(indices, weight_, {.padding_index = padding_index_});
}

Embedding Embedding::clone() const { return Embedding(weight_.clone(), padding_index_); }

}  // namespace lockstep::inline v0::nn
