// Uses an installed lockstep: a collective, and an exception that is thrown in the library and
// caught here by its type. The argument is the number of ranks to expect.
#include <cstdlib>
#include <lockstep/lockstep.hpp>
#include <stdexcept>

namespace ls = lockstep;

int main(int argc, char** argv) {
  return ls::run(argc, argv, [&](ls::Environment& env) {
    if (argc != 2 || env.size() != std::atoi(argv[1])) throw std::runtime_error("wrong size");

    ls::Tensor values = ls::full({3}, env.rank() + 1.0);
    env.ranks().all_reduce(values).wait();
    if (values.to_vector()[2] != static_cast<float>(env.size() * (env.size() + 1) / 2))
      throw std::runtime_error("wrong sum");

    try {
      ls::add(ls::zeros({2}), ls::zeros({3}));
    } catch (const ls::ShapeError&) {
      env.print("fine");
      return;
    }
    throw std::runtime_error("no ShapeError");
  });
}
