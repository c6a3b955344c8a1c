// Random numbers: the same bits on every device.
#include "parity/functions.hpp"

using namespace parity;

namespace {

/// Two draws, one after the other: the second begins where the first ended.
template <class T, class Draw>
auto draws(const Draw& draw) {
  const auto on = [&](ls::Device device) {
    ls::Generator generator{0x123456789abcdefULL, 77};
    generator.set_offset(0xfffffffffffffff0ULL);  // the counter wraps
    std::vector<std::vector<T>> values;
    for (const std::int64_t count : {0, 1, 3, 7, 257, 1025, 4099})
      values.push_back(draw(ls::Shape{count}, generator, device).template to_vector<T>());
    values.push_back({static_cast<T>(generator.offset())});
    return values;
  };
  return std::pair(on(ls::Device::cpu()), on(kCuda));
}

}  // namespace

TEMPLATE_TEST_CASE("uniform, normal and bernoulli draw the same bits on CUDA", "", float, double) {
  if (no_device()) return;
  const ls::DType dtype = ls::dtype_of<TestType>;
  CHECK(same(draws<TestType>([&](const ls::Shape& shape, ls::Generator& g, ls::Device device) {
    return ls::uniform(shape, -0.3, 1.7, dtype, g, device);
  })));
  CHECK(same(draws<TestType>([&](const ls::Shape& shape, ls::Generator& g, ls::Device device) {
    return ls::normal(shape, dtype, g, device);
  })));
  for (const double probability : {0.0, 1e-9, 0.3, 0.999, 1.0})
    CHECK(same(draws<TestType>([&](const ls::Shape& shape, ls::Generator& g, ls::Device device) {
      return ls::bernoulli(shape, probability, dtype, g, device);
    })));
}

TEMPLATE_TEST_CASE("dropout has the same mask and bits on CUDA, forward and backward", "", float,
                   double) {
  if (no_device()) return;
  for (const double probability : {0.0, 0.3, 0.75, 1.0})
    for (const std::int64_t count : {0, 1, 5, 257, 1025, 4099})
      for (const bool odd : {false, true}) {
        INFO("probability " << probability << ", count " << count << ", odd " << odd);
        const Tensors at = {ls::tensor(awkward_values<TestType>(count, 12), {count})};
        CHECK(same(on_devices<TestType>(
            [&](const Tensors& x) {
              ls::Generator generator{5, 6};
              static_cast<void>(generator.reserve(3));
              return ls::dropout(ls::dropout(x[0], probability, generator), 0.5, generator);
            },
            at, odd)));
      }
}

TEST_CASE("a big draw has the same bits on CUDA") {
  if (no_device()) return;
  constexpr std::int64_t kBeyondGrid = std::int64_t{4096} * 256 * 4 + 1031;
  const auto draw = [](ls::Device device) {
    ls::Generator generator{1};
    return ls::uniform({kBeyondGrid}, 0, 1, ls::DType::float32, generator, device).to_vector();
  };
  CHECK(same(draw(ls::Device::cpu()), draw(kCuda)));
}

TEST_CASE("randn and a default dropout go on from the default generator on CUDA as on the CPU") {
  if (no_device()) return;
  const auto draw = [](ls::Device device) {
    ls::default_generator() = ls::Generator{8};
    const ls::Tensor x = ls::randn({31}, ls::DType::float32, device);
    return std::vector{x.to_vector(), ls::dropout(x).to_vector(), ls::dropout(x, 0.1).to_vector()};
  };
  CHECK(same(draw(ls::Device::cpu()), draw(kCuda)));
}
