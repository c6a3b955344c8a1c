// Tensors of any dtype from numbers, and back, for the tests of communication.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include <lockstep/comm/communicator.hpp>
#include <lockstep/core/create.hpp>

#include "comm/mpi/tuning.hpp"

namespace test {

namespace ls = lockstep;

inline const std::vector<ls::DType> kAllDTypes = {
    ls::DType::float32, ls::DType::float64, ls::DType::bfloat16, ls::DType::float16,
    ls::DType::int64,   ls::DType::int32,   ls::DType::uint8};

/// Element i is value(i), which the dtype must hold exactly.
inline ls::Tensor make(ls::DType dtype, std::int64_t count,
                       const std::function<double(std::int64_t)>& value) {
  const auto filled = [&]<class T>(T) {
    std::vector<T> values(static_cast<std::size_t>(count));
    for (std::int64_t i = 0; i < count; ++i)
      values[static_cast<std::size_t>(i)] = static_cast<T>(value(i));
    return ls::tensor(values, {count});
  };
  switch (dtype) {
    case ls::DType::float64:
      return filled(double{});
    case ls::DType::int64:
      return filled(std::int64_t{});
    case ls::DType::int32:
      return filled(std::int32_t{});
    case ls::DType::uint8:
      return filled(std::uint8_t{});
    default:
      return filled(float{}).to(dtype);
  }
}

inline std::vector<double> numbers(const ls::Tensor& tensor) {
  const auto read = [&]<class T>(T, const ls::Tensor& from) {
    const auto values = from.to_vector<T>();
    return std::vector<double>(values.begin(), values.end());
  };
  switch (tensor.dtype()) {
    case ls::DType::float64:
      return read(double{}, tensor);
    case ls::DType::int64:
      return read(std::int64_t{}, tensor);
    case ls::DType::int32:
      return read(std::int32_t{}, tensor);
    case ls::DType::uint8:
      return read(std::uint8_t{}, tensor);
    default:
      return read(float{}, tensor.to(ls::DType::float32));
  }
}

inline std::vector<double> numbers(std::int64_t count,
                                   const std::function<double(std::int64_t)>& value) {
  std::vector<double> all(static_cast<std::size_t>(count));
  for (std::int64_t i = 0; i < count; ++i) all[static_cast<std::size_t>(i)] = value(i);
  return all;
}

inline std::string bytes(const ls::Tensor& tensor) {
  return {static_cast<const char*>(tensor.raw_data()),
          static_cast<std::size_t>(tensor.byte_count())};
}

/// Whether all ranks hold the same bytes.
inline bool same_on_all_ranks(const ls::Communicator& ranks, const ls::Tensor& tensor) {
  for (const std::string& other : ranks.gather_bytes(bytes(tensor)))
    if (other != bytes(tensor)) return false;
  return true;
}

/// Small sizes of the exchanges while it lives, so that short buffers take the long ways.
class SmallExchanges {
 public:
  explicit SmallExchanges(std::int64_t elements_per_call = 7) {
    auto& tuning = ls::detail::mpi::tuning();
    tuning.elements_per_call = elements_per_call;
    tuning.slice_bytes = 64;
    tuning.broadcast_bytes = 64;
    tuning.pieces_in_flight = 3;
  }
  ~SmallExchanges() { ls::detail::mpi::tuning() = before_; }
  SmallExchanges(const SmallExchanges&) = delete;
  SmallExchanges& operator=(const SmallExchanges&) = delete;

 private:
  ls::detail::mpi::Tuning before_ = ls::detail::mpi::tuning();
};

}  // namespace test
