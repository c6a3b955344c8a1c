// Copies, casts and borrowed memory between host and device.
#include <string>

#include "parity/functions.hpp"

using namespace parity;

namespace {

const std::vector<ls::DType> kAll = {ls::DType::float32, ls::DType::float64, ls::DType::bfloat16,
                                     ls::DType::float16, ls::DType::int64,   ls::DType::int32,
                                     ls::DType::uint8};

/// What an operation with operands on two devices says.
template <class Operation>
std::string refusal(const Operation& operation) {
  try {
    operation();
  } catch (const ls::InvalidUsage& error) {
    return error.what();
  }
  return {};
}

}  // namespace

TEST_CASE("casts between any two dtypes read the same on CUDA") {
  if (no_device()) return;
  for (const ls::DType from : kAll)
    for (const ls::DType to : kAll)
      for (const std::int64_t count : {0, 1, 7, 257, 1025}) {
        INFO(ls::name(from) << " to " << ls::name(to) << ", count " << count);
        const ls::Tensor x = random_tensor({count}, ls::DType::float64, 13) * 70.0;
        const ls::Tensor start = x.to(from);
        const ls::Tensor there = placed(start, kCuda, count % 2 == 1);
        CHECK(same(start.to(to).to_vector<double>(), there.to(to).to_vector<double>()));
      }
}

TEST_CASE("gradients come back through casts, copies and transfers the same on CUDA") {
  if (no_device()) return;
  const auto roundabout = [](const Tensors& x) {
    const ls::Tensor half = x[0].to(ls::DType::bfloat16).to(ls::DType::float32);
    const ls::Tensor wide = (half * x[0]).to(ls::DType::float64).clone().to(ls::DType::float32);
    return wide.to(ls::Device::cpu()).to(x[0].device()) -
           x[1].to(ls::DType::float16).to(ls::DType::float32);
  };
  for (const std::int64_t count : {0, 1, 257})
    CHECK(same(on_devices<float>(roundabout, std::vector<ls::Shape>{{count}, {count}}, true)));
}

TEST_CASE("what was copied to CUDA and back is what it was, in every dtype and size") {
  if (no_device()) return;
  for (const ls::DType dtype : kAll)
    for (const std::int64_t count : {0, 1, 3, 1025}) {
      INFO(ls::name(dtype) << ", count " << count);
      const ls::Tensor x = (random_tensor({count}, ls::DType::float64, 14) * 60.0).to(dtype);
      const ls::Tensor there = x.to(kCuda);
      CHECK(there.device() == kCuda);
      ls::Tensor copy = ls::zeros({count}, dtype, kCuda);
      copy.copy_from(x);
      ls::Tensor back = ls::zeros({count}, dtype);
      back.copy_from(there.clone());
      CHECK(same(x.to_vector<double>(), there.to(ls::Device::cpu()).to_vector<double>()));
      CHECK(same(x.to_vector<double>(), copy.to_vector<double>()));
      CHECK(same(x.to_vector<double>(), back.to_vector<double>()));
    }
}

TEST_CASE("transfers in several pinned pieces arrive whole") {
  if (no_device()) return;
  const std::int64_t count = 5 * 1024 * 1024 + 3;  // 20 MiB, and 80 MiB in float64 twice
  const ls::Tensor x = random_tensor({count}, ls::DType::float32, 15);
  CHECK(same(x.to_vector(), x.to(kCuda).to_vector()));
  const ls::Tensor wide = random_tensor({2 * count}, ls::DType::float64, 16);
  CHECK(same(wide.to_vector<double>(), wide.to(kCuda).to_vector<double>()));
}

TEST_CASE("the host may write over what it gave as soon as a copy to CUDA returns") {
  if (no_device()) return;
  std::vector<float> values(1000, 3);
  const ls::Tensor there = ls::tensor(values, {1000}, kCuda);
  values.assign(1000, 4);
  const ls::Tensor next = ls::tensor(values, {1000}, kCuda);  // nor by the next copy
  CHECK(there.to_vector() == std::vector<float>(1000, 3));
  CHECK(next.to_vector() == std::vector<float>(1000, 4));
}

TEST_CASE("borrowed device memory is read and written in place") {
  if (no_device()) return;
  ls::Tensor owner = ls::full({9}, 2.0, ls::DType::float32, kCuda);
  ls::Tensor part = ls::borrow(owner.mutable_data<float>() + 1, {7}, kCuda);
  part.fill(5);
  part.copy_from(part * 2.0);
  CHECK(owner.to_vector() == std::vector<float>{2, 10, 10, 10, 10, 10, 10, 10, 2});
  const ls::Tensor fixed = ls::borrow(owner.data<float>(), {9}, kCuda);
  CHECK(fixed.to_vector() == owner.to_vector());
  CHECK_THROWS_AS(ls::Tensor(fixed).mutable_data<float>(), ls::InvalidUsage);
  const std::int64_t columns_first[] = {1, 3};
  CHECK_THROWS_AS(ls::borrow(owner.data<float>(), {3, 3}, columns_first, ls::DType::float32, kCuda),
                  ls::InvalidUsage);
}

TEST_CASE("a tensor on CUDA and one on the CPU in one operation are refused by name") {
  if (no_device()) return;
  const ls::Tensor here = ls::full({3, 3}, 1.0);
  const ls::Tensor there = here.to(kCuda);
  const ls::Tensor labels = ls::tensor<std::int64_t>({0, 1, 2}, {3});
  const ls::Tensor bias = ls::full({3}, 1.0);
  ls::Tensor leaf = there.clone().set_requires_grad(true);
  const std::vector<std::function<void()>> operations = {
      [&] { ls::add(here, there); },
      [&] { ls::sub(there, here); },
      [&] { ls::mul(here, there); },
      [&] { ls::matmul(there, here); },
      [&] { ls::linear(there, here); },
      [&] { ls::linear(there, there, bias); },
      [&] { ls::mse_loss(here, there); },
      [&] { ls::cross_entropy(there, labels); },
      [&] { ls::cross_entropy(here, labels.to(kCuda)); },
      [&] { (leaf * 2.0).backward(here); },
  };
  for (std::size_t i = 0; i < operations.size(); ++i) {
    const std::string text = refusal(operations[i]);
    INFO("operation " << i << ": " << text);
    CHECK(text.find("cuda:0") != std::string::npos);
    CHECK(text.find("cpu") != std::string::npos);
  }
}
