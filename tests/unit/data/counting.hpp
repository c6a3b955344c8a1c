// A dataset of numbers, and what a loader made of it.
#pragma once

#include <catch2/catch.hpp>

#include <atomic>
#include <functional>
#include <span>
#include <utility>
#include <vector>

#include <lockstep/core/create.hpp>
#include <lockstep/data/loader.hpp>

namespace counting {

using Indices = std::vector<std::int64_t>;

// Sample i is the number i. Calls `at_read` in each read, with the number of reads begun.
class Counting : public lockstep::data::Dataset {
 public:
  explicit Counting(
      std::int64_t size, std::function<void(int)> at_read = [](int) {})
      : size_(size), at_read_(std::move(at_read)) {}
  std::int64_t size() const override { return size_; }
  lockstep::data::Batch read(std::span<const std::int64_t> indices) const override {
    at_read_(++reads);
    const auto count = static_cast<std::int64_t>(indices.size());
    return {.inputs = lockstep::tensor(indices, {count}), .targets = {}, .size = count};
  }
  mutable std::atomic<int> reads = 0;

 private:
  std::int64_t size_;
  std::function<void(int)> at_read_;
};

inline Indices samples(const lockstep::data::Batch& batch) {
  return batch.inputs.to_vector<std::int64_t>();
}

inline std::vector<Indices> batches(lockstep::data::Epoch epoch) {
  std::vector<Indices> all;
  for (const auto& batch : epoch) all.push_back(samples(batch));
  CHECK(static_cast<std::int64_t>(all.size()) == epoch.size());
  return all;
}

inline Indices joined(const std::vector<Indices>& parts) {
  Indices all;
  for (const auto& part : parts) all.insert(all.end(), part.begin(), part.end());
  return all;
}

}  // namespace counting
