// Cross-entropy agrees with the CPU but for the order of float64 sums.
#include "sides.hpp"

using namespace parity;

namespace {

struct Batch {
  CrossEntropyShape shape;
  std::vector<std::int64_t> labels;
};

/// One in `ignored` labels is left out; 0: none.
Batch batch(std::int64_t rows, std::int64_t classes, bool mean, unsigned ignored) {
  std::mt19937 engine(11);
  Batch result{{rows, classes, -100, mean}, {}};
  for (std::int64_t row = 0; row < rows; ++row) {
    const bool left_out = ignored != 0 && engine() % ignored == 0;
    result.labels.push_back(left_out ? -100 : engine() % static_cast<unsigned>(classes));
  }
  return result;
}

/// Loss, divisor, softmax and the gradient of the logits, one after the other.
Bytes forward_and_backward(const Side& side, DType dtype, const Batch& batch) {
  const std::int64_t count = batch.shape.rows * batch.shape.classes;
  const Array logits(side, elements(dtype, count, 3, -20, 20));
  const Array labels(side, bytes_of(batch.labels));
  const Array loss(side, byte_size(dtype));
  const Array divisor(side, byte_size(dtype));
  const Array softmax(side, count * byte_size(dtype));
  const Array gradient(side, converted({1.3}, dtype));
  const Array result(side, count * byte_size(dtype));
  side.backend.loss.cross_entropy(dtype, batch.shape, logits.data(), labels.as<std::int64_t>(),
                                  loss.data(), softmax.data(), divisor.data(), side.queue);
  side.backend.loss.cross_entropy_backward(dtype, batch.shape, softmax.data(),
                                           labels.as<std::int64_t>(), gradient.data(),
                                           divisor.data(), result.data(), side.queue);
  Bytes all = loss.bytes();
  for (const Array* array : {&divisor, &softmax, &result}) {
    const Bytes more = array->bytes();
    all.insert(all.end(), more.begin(), more.end());
  }
  return all;
}

}  // namespace

TEST_CASE("cross-entropy and its gradient agree with the CPU, with labels left out") {
  if (!has_device()) return;
  for (const auto& [rows, classes] : std::vector<std::array<std::int64_t, 2>>{
           {1, 1}, {40, 3}, {33, 10}, {7, 100}, {1100, 130}, {3, 5000}, {0, 4}, {5000, 2}})
    for (const bool mean : {true, false})
      for (const unsigned ignored : {0U, 3U, 1U})
        for (const DType dtype : kFloats) {
          const bool large = rows * classes > 2000;
          if (large && (!mean || ignored != 3)) continue;  // to be quick where there is no GPU
          INFO(rows << " x " << classes << (mean ? " mean " : " sum ") << ignored);
          const Batch given = batch(rows, classes, mean, ignored);
          CHECK(close(dtype,
                      [&](const Side& side) { return forward_and_backward(side, dtype, given); }));
        }
}
