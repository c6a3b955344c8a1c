#include <lockstep/core/parameter.hpp>

#include <lockstep/core/error.hpp>
#include <lockstep/core/module.hpp>

namespace lockstep::inline v0 {

Parameter::Parameter(Tensor value) : value_(std::move(value)) {
  if (!value_.defined()) throw InvalidUsage("Parameter: the value is undefined");
  value_.set_requires_grad(true);
}

Parameter Parameter::share() const {
  Parameter other;
  other.value_ = value_;
  return other;
}

Parameter Parameter::clone() const {
  if (!defined()) return {};
  Parameter other(value_.detach().clone());
  if (frozen()) other.freeze();
  return other;
}

ParameterList share(const ParameterList& parameters) {
  ParameterList list;
  list.reserve(parameters.size());
  for (const auto& [name, parameter] : parameters) list.push_back({name, parameter.share()});
  return list;
}

namespace detail {

void append_once(ParameterList& list, const std::string& name, const Parameter& parameter) {
  if (!parameter.defined())
    throw InvalidUsage("parameter " + name + " is undefined; leave it out of visit()");
  for (const auto& known : list)
    if (known.parameter.same(parameter)) return;
  list.push_back({name, parameter.share()});
}

}  // namespace detail

}  // namespace lockstep::inline v0
