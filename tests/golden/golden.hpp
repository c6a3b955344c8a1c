// Reads the golden values that make_golden.py wrote (operations.inc, optimizers.inc) and compares
// tensors with them.
#pragma once

#include <cmath>
#include <cstdlib>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include <lockstep/core/create.hpp>

namespace golden {

namespace ls = lockstep;

struct Values {
  ls::Shape shape;
  std::vector<double> elements;

  ls::Tensor tensor(ls::DType dtype) const { return ls::tensor(elements, shape).to(dtype); }
  /// For labels.
  ls::Tensor integers() const {
    return ls::tensor(std::vector<std::int64_t>(elements.begin(), elements.end()), shape);
  }
};

/// What PyTorch gave in one dtype.
struct Results {
  std::vector<Values> outputs;
  std::vector<Values> gradients;
};

struct Case {
  std::string name;
  std::vector<Values> inputs;
  std::vector<Values> labels;
  std::vector<Values> upstream;  // no elements and shape (0) where there is none
  std::map<std::string, std::string> options;
  Results float32;
  Results float64;

  const Results& results(ls::DType dtype) const {
    return dtype == ls::DType::float64 ? float64 : float32;
  }
};

/// The allowed |found - expected| / (1 + |expected|). float32: PyTorch sums in another order, so a
/// few units in the last place of sums over up to 105 terms. float64: the same, and nothing else.
inline double tolerance(ls::DType dtype) { return dtype == ls::DType::float64 ? 1e-14 : 4e-6; }

namespace detail {

inline ls::Shape read_shape(const std::string& text) {
  if (text == "scalar") return {};
  if (text == "none") return {0};
  std::vector<std::int64_t> sizes;
  std::istringstream parts(text);
  for (std::string size; std::getline(parts, size, 'x');) sizes.push_back(std::stoll(size));
  return ls::Shape(std::span<const std::int64_t>(sizes));
}

inline Values read_values(std::istream& words) {
  std::string word;
  words >> word;
  Values values{read_shape(word), {}};
  while (words >> word) values.elements.push_back(std::strtod(word.c_str(), nullptr));
  return values;
}

/// Inputs are float32 numbers, written with the digits that float32 needs.
inline Values read_float32(std::istream& words) {
  Values values = read_values(words);
  for (double& value : values.elements) value = static_cast<float>(value);
  return values;
}

inline void read_line(const std::string& line, std::vector<Case>& cases) {
  std::istringstream words(line);
  std::string kind;
  if (!(words >> kind)) return;
  if (kind == "case") {
    words >> cases.emplace_back().name;
    return;
  }
  Case& current = cases.back();
  if (kind == "input") current.inputs.push_back(read_float32(words));
  if (kind == "upstream") current.upstream.push_back(read_float32(words));
  if (kind == "labels") current.labels.push_back(read_values(words));
  if (kind == "option") {
    std::string key;
    words >> key >> current.options[key];
  }
  if (kind != "output" && kind != "gradient") return;
  std::string dtype;
  words >> dtype;
  Results& results = dtype == "float64" ? current.float64 : current.float32;
  (kind == "output" ? results.outputs : results.gradients).push_back(read_values(words));
}

}  // namespace detail

inline std::vector<Case> read(const char* text) {
  std::vector<Case> cases;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) detail::read_line(line, cases);
  return cases;
}

/// Empty if the tensor has the expected shape and, within the tolerance, the expected elements
/// (a NaN equals a NaN, infinities equal themselves); else what differs.
inline std::string difference(const ls::Tensor& found, const Values& expected, double tolerance) {
  if (!(found.shape() == expected.shape))
    return "shape " + to_string(found.shape()) + ", not " + to_string(expected.shape);
  const std::vector<double> elements = found.to(ls::DType::float64).to_vector<double>();
  for (std::size_t i = 0; i < elements.size(); ++i) {
    const double have = elements[i];
    const double want = expected.elements[i];
    const bool same = have == want || (std::isnan(have) && std::isnan(want)) ||
                      std::abs(have - want) <= tolerance * (1 + std::abs(want));
    if (!same) {
      std::ostringstream text;
      text.precision(17);
      text << "element " << i << " is " << have << ", not " << want;
      return text.str();
    }
  }
  return {};
}

}  // namespace golden
