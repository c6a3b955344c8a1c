// Modules are values: a struct with members and one list of them,
//
//   struct Net {
//     ls::nn::Linear in{784, 512}, out{512, 10};
//     template <class Visitor>
//     void visit(Visitor&& visitor) { visitor("in", in); visitor("out", out); }
//     ls::Tensor operator()(const ls::Tensor& x) const { return out(ls::relu(in(x))); }
//   };
//
// A member may be a Parameter, a Buffer, another module, or a std::vector of these. visit must not
// change anything.
#pragma once

#include <concepts>
#include <string>
#include <type_traits>
#include <vector>

#include <lockstep/core/parameter.hpp>

namespace lockstep::inline v0 {

namespace detail {

struct AnyVisitor {
  template <class Member>
  void operator()(const char*, Member&&) const {}
  template <class Member>
  void operator()(const std::string&, Member&&) const {}
};

template <class T>
struct IsVector : std::false_type {};
template <class T>
struct IsVector<std::vector<T>> : std::true_type {};

}  // namespace detail

/// A type with a member template `visit(visitor)`.
template <class T>
concept Module = requires(std::remove_cvref_t<T>& value) {
  value.visit(detail::AnyVisitor{});
};

namespace detail {

/// Calls function(name, leaf) for each Parameter and Buffer below `member`, names joined by dots as
/// PyTorch does.
template <class Member, class Function>
void visit_leaves(const std::string& name, Member& member, Function& function) {
  using Value = std::remove_cv_t<Member>;
  if constexpr (std::is_same_v<Value, Parameter> || std::is_same_v<Value, Buffer>) {
    function(name, member);
  } else if constexpr (IsVector<Value>::value) {
    for (std::size_t i = 0; i < member.size(); ++i)
      visit_leaves(name + (name.empty() ? "" : ".") + std::to_string(i), member[i], function);
  } else {
    static_assert(
        Module<Value>,
        "a member of a module is a Parameter, a Buffer, a module or a std::vector of these");
    member.visit([&](const auto& child_name, auto& child) {
      visit_leaves(name + (name.empty() ? "" : ".") + child_name, child, function);
    });
  }
}

/// Calls set_training(training) of the module and of all modules below it that have it.
template <class Member>
void set_training(Member& member, bool training) {
  if constexpr (requires { member.set_training(training); }) member.set_training(training);
  if constexpr (IsVector<Member>::value) {
    for (auto& element : member) set_training(element, training);
  } else if constexpr (Module<Member>) {
    member.visit([&](const auto&, auto& child) { set_training(child, training); });
  }
}

struct NamedBuffer {
  std::string name;
  Buffer* buffer;
};

LOCKSTEP_API void append_once(ParameterList& list, const std::string& name,
                              const Parameter& parameter);

}  // namespace detail

/// Calls function(name, Parameter&) and function(name, Buffer&) for all below the module, in order
/// of registration.
template <Module M, class Function>
void visit_state(M& module, Function&& function) {
  detail::visit_leaves(std::string(), module, function);
}

/// The parameters of a module in order of registration, each once.
template <Module M>
ParameterList parameters(M& module) {
  ParameterList list;
  visit_state(module, [&](const std::string& name, auto& leaf) {
    if constexpr (std::is_same_v<std::remove_cvref_t<decltype(leaf)>, Parameter>)
      detail::append_once(list, name, leaf);
  });
  return list;
}

/// The buffers of a module. The pointers are valid while the module stays where it is.
template <Module M>
std::vector<detail::NamedBuffer> buffers(M& module) {
  std::vector<detail::NamedBuffer> list;
  visit_state(module, [&](const std::string& name, auto& leaf) {
    if constexpr (std::is_same_v<std::remove_cvref_t<decltype(leaf)>, Buffer>)
      list.push_back({name, &leaf});
  });
  return list;
}

/// Training mode, in which modules start, and evaluation mode, for those below the module that know
/// the difference (nn::Dropout): those that have a set_training(bool).
template <Module M>
void train(M& module) {
  detail::set_training(module, true);
}
template <Module M>
void eval(M& module) {
  detail::set_training(module, false);
}

}  // namespace lockstep::inline v0
