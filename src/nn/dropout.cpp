#include <lockstep/nn/dropout.hpp>

#include <string>

#include <lockstep/core/error.hpp>

namespace lockstep::inline v0::nn {

Dropout::Dropout(double probability) : probability_(probability) {
  if (!(probability >= 0 && probability <= 1))
    throw InvalidUsage("Dropout: " + std::to_string(probability) + " is no probability");
}

Tensor Dropout::operator()(const Tensor& x) const {
  return training_ ? dropout(x, probability_) : x;
}

}  // namespace lockstep::inline v0::nn
