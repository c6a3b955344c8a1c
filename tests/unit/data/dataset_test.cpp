#include <catch2/catch.hpp>

#include <numeric>
#include <vector>

#include <lockstep/core/create.hpp>
#include <lockstep/core/error.hpp>
#include <lockstep/data/dataset.hpp>

namespace ls = lockstep;
using Catch::Matchers::Contains;
using ls::data::ImageDataset;
using ls::data::TensorDataset;
using Indices = std::vector<std::int64_t>;

namespace {

ls::Tensor numbers(const ls::Shape& shape, ls::DType dtype = ls::DType::float32) {
  std::vector<double> values(static_cast<std::size_t>(shape.element_count()));
  std::iota(values.begin(), values.end(), 0.0);
  return ls::tensor(values, shape).to(dtype);
}

ls::Tensor bytes(const ls::Shape& shape) {
  std::vector<std::uint8_t> values(static_cast<std::size_t>(shape.element_count()));
  std::iota(values.begin(), values.end(), std::uint8_t{0});
  return ls::tensor(values, shape);
}

}  // namespace

TEST_CASE("A batch of a tensor dataset holds the rows that were asked for, in that order") {
  const TensorDataset dataset(numbers({4, 2, 3}), ls::tensor<std::int64_t>({7, 8, 9, 10}, {4}));
  CHECK(dataset.size() == 4);
  const auto batch = dataset.read(Indices{3, 0, 3});
  CHECK(batch.size == 3);
  CHECK(batch.inputs.shape() == ls::Shape{3, 2, 3});
  CHECK(batch.inputs.to_vector() ==
        std::vector<float>{18, 19, 20, 21, 22, 23, 0, 1, 2, 3, 4, 5, 18, 19, 20, 21, 22, 23});
  CHECK(batch.targets.to_vector<std::int64_t>() == Indices{10, 7, 10});
}

TEST_CASE("A tensor dataset keeps the dtype of its rows") {
  const TensorDataset dataset(numbers({3, 2}, ls::DType::float64));
  const auto batch = dataset.read(Indices{2});
  CHECK(batch.inputs.dtype() == ls::DType::float64);
  CHECK(batch.inputs.to_vector<double>() == std::vector<double>{4, 5});
  CHECK_FALSE(batch.targets.defined());
}

TEST_CASE("A batch is a copy: writing to it leaves the dataset alone") {
  const TensorDataset dataset(numbers({3, 1}));
  auto batch = dataset.read(Indices{1});
  batch.inputs.fill(-5);
  CHECK(dataset.read(Indices{1}).inputs.item() == 1);
}

TEST_CASE("Batches of no samples and samples of no elements keep their shapes") {
  const TensorDataset dataset(numbers({3, 2}));
  CHECK(dataset.read(Indices{}).inputs.shape() == ls::Shape{0, 2});
  const TensorDataset hollow(numbers({3, 0}));
  CHECK(hollow.read(Indices{2, 1}).inputs.shape() == ls::Shape{2, 0});
  CHECK(TensorDataset(numbers({0, 2})).size() == 0);
}

TEST_CASE("A sample index out of range is refused with the index and the size") {
  const TensorDataset dataset(numbers({3, 1}));
  const ImageDataset images(bytes({3, 1}), bytes({3}));
  for (const std::int64_t index : {std::int64_t{3}, std::int64_t{-1}, INT64_MAX, INT64_MIN}) {
    const auto what = "index " + std::to_string(index) + " is out of range: the dataset has 3";
    CHECK_THROWS_AS(dataset.read(Indices{0, index}), ls::InvalidUsage);
    CHECK_THROWS_WITH(dataset.read(Indices{0, index}), Contains(what));
    CHECK_THROWS_WITH(images.read(Indices{0, index}), Contains(what));
  }
}

TEST_CASE("Tensors that cannot be a dataset are refused") {
  CHECK_THROWS_AS(TensorDataset(ls::Tensor()), ls::InvalidUsage);
  CHECK_THROWS_AS(TensorDataset(numbers({})), ls::ShapeError);
  CHECK_THROWS_AS(TensorDataset(numbers({3, 2}), numbers({2})), ls::ShapeError);
  CHECK_THROWS_WITH(TensorDataset(numbers({3, 2}), numbers({2})),
                    Contains("(3, 2)") && Contains("(2)"));
  CHECK_THROWS_AS(ImageDataset(numbers({3, 2}), bytes({3})), ls::InvalidUsage);
  CHECK_THROWS_AS(ImageDataset(bytes({3, 2}), numbers({3})), ls::InvalidUsage);
  CHECK_THROWS_AS(ImageDataset(bytes({3, 2}), bytes({2})), ls::ShapeError);
  CHECK_THROWS_AS(ImageDataset(bytes({3, 2}), bytes({3, 1})), ls::ShapeError);
  CHECK_THROWS_AS(ImageDataset(bytes({3, 2}), ls::Tensor()), ls::InvalidUsage);
}

TEST_CASE("Images come as rows of pixels divided by 255, labels as int64") {
  const ImageDataset dataset(bytes({3, 2, 2}), ls::tensor<std::uint8_t>({7, 0, 9}, {3}));
  const auto batch = dataset.read(Indices{2, 1});
  CHECK(batch.inputs.shape() == ls::Shape{2, 4});
  CHECK(batch.inputs.to_vector()[3] == Approx(0.0431373));
  CHECK(batch.inputs.to_vector()[4] == 4.0f / 255.0f);
  CHECK(batch.targets.to_vector<std::int64_t>() == Indices{9, 0});
}

TEST_CASE("Every pixel value gives the correctly rounded quotient") {
  const ImageDataset dataset(bytes({1, 256}), bytes({1}));
  const auto pixels = dataset.read(Indices{0}).inputs.to_vector();
  for (int value = 0; value < 256; ++value)
    CHECK(pixels[static_cast<std::size_t>(value)] == static_cast<float>(value / 255.0));
}
