#include <lockstep/core/device.hpp>
#include <lockstep/core/dtype.hpp>

namespace lockstep::inline v0 {

const char* name(DType dtype) noexcept {
  switch (dtype) {
    case DType::float32:
      return "float32";
    case DType::float64:
      return "float64";
    case DType::bfloat16:
      return "bfloat16";
    case DType::float16:
      return "float16";
    case DType::int64:
      return "int64";
    case DType::int32:
      return "int32";
    case DType::uint8:
      return "uint8";
  }
  return "?";
}

std::string to_string(Device device) {
  return device.kind == DeviceKind::cpu ? "cpu" : "cuda:" + std::to_string(device.index);
}

}  // namespace lockstep::inline v0
