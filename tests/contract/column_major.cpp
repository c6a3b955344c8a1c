// Memory that the program already has: a Fortran simulation's column-major fields are read, row-
// major ones are used where they lie, and read-only memory stays read-only.
#include <array>
#include <cstdio>
#include <memory>
#include <vector>

#include <lockstep/core/create.hpp>
#include <lockstep/core/error.hpp>
#include <lockstep/core/operations.hpp>
#include <lockstep/core/parameter.hpp>

namespace ls = lockstep;

namespace {

int failures = 0;

void check(bool condition, const char* what) {
  if (condition) return;
  std::fprintf(stderr, "wrong: %s\n", what);
  ++failures;
}

}  // namespace

int main() {
  constexpr std::int64_t kCells = 4;
  constexpr std::int64_t kFields = 3;
  // field(cell, quantity) of the simulation, first index fastest: element (i, j) at i + j * 4.
  std::vector<double> field(kCells * kFields);
  for (std::int64_t j = 0; j < kFields; ++j)
    for (std::int64_t i = 0; i < kCells; ++i)
      field[static_cast<std::size_t>(i + j * kCells)] = static_cast<double>(10 * i + j);

  const std::array<std::int64_t, 2> strides{1, kCells};
  const ls::Tensor x =
      ls::borrow(field.data(), {kCells, kFields}, strides, ls::DType::float64, ls::Device::cpu());
  check(x.shape() == ls::Shape{kCells, kFields}, "shape of the column-major matrix");
  const auto elements = x.to_vector<double>();
  for (std::int64_t i = 0; i < kCells; ++i)
    for (std::int64_t j = 0; j < kFields; ++j)
      check(elements[static_cast<std::size_t>(i * kFields + j)] == 10.0 * i + j,
            "element of the column-major matrix");

  // The gradient of sum(x w^T) with respect to w is the sum over the cells.
  ls::Parameter weight{ls::tensor({1.0, -1.0, 2.0}, {1, kFields})};
  ls::sum(ls::linear(x, weight)).backward();
  const auto gradient = weight.gradient().to_vector<double>();
  for (std::size_t j = 0; j < kFields; ++j)
    check(gradient[j] == 60.0 + 4.0 * static_cast<double>(j), "gradient of the weight");

  // Row-major memory is used in place, in both directions.
  std::vector<float> row_major{1, 2, 3, 4, 5, 6};
  ls::Tensor view = ls::borrow(row_major.data(), {2, 3});
  check(view.data<float>() == row_major.data(), "row-major memory is not copied");
  row_major[4] = 50;
  check(ls::sum(view).item() == 66, "a change of the memory is seen");
  view.fill(-1);
  check(row_major[5] == -1, "a write goes to the memory");

  // Read-only memory, kept alive by its owner.
  auto owner = std::make_shared<const std::vector<float>>(std::vector<float>{4, 5});
  ls::Tensor kept = ls::borrow(owner->data(), {2}, ls::Device::cpu(), owner);
  owner.reset();
  check(ls::sum(kept).item() == 9, "the owner keeps the memory alive");
  bool refused = false;
  try {
    kept.mutable_data<float>();
  } catch (const ls::InvalidUsage&) {
    refused = true;
  }
  check(refused, "writing to const memory is refused");
  return failures == 0 ? 0 : 1;
}
