// TF32 keeps 10 bits of mantissa of each operand.
#include <catch2/catch.hpp>

#include <cstdlib>
#include <string_view>

#include <lockstep/interop/cuda.hpp>
#include <lockstep/lockstep.hpp>

namespace ls = lockstep;

namespace {

constexpr float kFine = 1 + 0x1p-12f;

/// kFine times one, on the device.
float product() {
  const ls::Device device = ls::Device::cuda();
  const ls::Tensor a = ls::full({16, 16}, kFine, ls::DType::float32, device);
  std::vector<float> identity(256, 0);
  for (std::size_t i = 0; i < 16; ++i) identity[17 * i] = 1;
  return ls::matmul(a, ls::tensor(identity, {16, 16}).to(device)).to_vector()[37];
}

}  // namespace

TEST_CASE("TF32 is as the environment variable says, and then as the program says") {
  const char* text = std::getenv("LOCKSTEP_TF32");
  const bool at_start = text != nullptr && std::string_view(text) == "1";
  CHECK(ls::cuda::tf32_allowed() == at_start);
  CHECK(product() == (at_start ? 1 : kFine));
  for (const bool allowed : {true, false, true}) {
    ls::cuda::allow_tf32(allowed);
    CHECK(ls::cuda::tf32_allowed() == allowed);
    CHECK(product() == (allowed ? 1 : kFine));
  }
  ls::cuda::allow_tf32(false);
}
