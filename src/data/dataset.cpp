#include <lockstep/data/dataset.hpp>

namespace lockstep::inline v0::data {

Dataset::~Dataset() = default;

}  // namespace lockstep::inline v0::data
