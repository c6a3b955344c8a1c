// Asks for a device ("auto", "cpu" or "cuda"), sums a number over the ranks on it, and says where.
#include <string>

#include <lockstep/lockstep.hpp>

int main(int argc, char** argv) {
  const char* wanted = argc > 1 ? argv[1] : "auto";
  return lockstep::run(argc, argv, {.device = lockstep::device_choice(wanted)},
                       [](lockstep::Environment& environment) {
                         const lockstep::Tensor one =
                             lockstep::full({1}, 1, lockstep::DType::float32, environment.device());
                         environment.ranks().all_reduce(one).wait();
                         environment.print("sum " + std::to_string(one.item<float>()) + " on " +
                                           lockstep::to_string(environment.device()));
                       });
}
