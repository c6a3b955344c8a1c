// Modules called one after the other.
#pragma once

#include <string>
#include <tuple>
#include <type_traits>
#include <utility>

#include <lockstep/core/module.hpp>

namespace lockstep::inline v0::nn {

/// Owns its layers; layer i is named "i". A Sequential may be a layer of another.
template <class... Layers>
class Sequential {
 public:
  /// Moves the layers in; pass clone() of one that is to be kept.
  explicit(sizeof...(Layers) == 1) Sequential(Layers... layers) : layers_(std::move(layers)...) {}

  Tensor operator()(const Tensor& x) const { return call<0>(x); }

  template <std::size_t I>
  auto& layer() noexcept {
    return std::get<I>(layers_);
  }
  template <std::size_t I>
  const auto& layer() const noexcept {
    return std::get<I>(layers_);
  }

  Sequential clone() const {
    return std::apply([](const auto&... layer) { return Sequential(layer.clone()...); }, layers_);
  }
  template <class Visitor>
  void visit(Visitor&& visitor) {
    visit_each(visitor, std::index_sequence_for<Layers...>{});
  }

 private:
  template <std::size_t I>
  Tensor call(const Tensor& x) const {
    if constexpr (I == sizeof...(Layers)) {
      return x;
    } else {
      return call<I + 1>(std::get<I>(layers_)(x));
    }
  }
  template <class Visitor, std::size_t... I>
  void visit_each(Visitor& visitor, std::index_sequence<I...>) {
    (visitor(std::to_string(I), std::get<I>(layers_)), ...);
  }

  std::tuple<Layers...> layers_;
};

template <class... Layers>
Sequential(Layers...) -> Sequential<Layers...>;

}  // namespace lockstep::inline v0::nn
