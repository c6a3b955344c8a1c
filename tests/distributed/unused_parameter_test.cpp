// A parameter that one rank leaves out of its graph ends the job with a message about it, and does
// not leave the other ranks waiting (pytorch/pytorch#43259). A program of its own, because it
// fails.
#include <lockstep/comm/run.hpp>
#include <lockstep/core/create.hpp>
#include <lockstep/core/module.hpp>
#include <lockstep/core/operations.hpp>
#include <lockstep/optim/sgd.hpp>
#include <lockstep/parallel/data_parallel.hpp>

namespace ls = lockstep;

namespace {

struct TwoWeights {
  ls::Parameter a{ls::full({}, 1)};
  ls::Parameter b{ls::full({}, 1)};

  template <class Visitor>
  void visit(Visitor&& visitor) {
    visitor("a", a);
    visitor("b", b);
  }
};

}  // namespace

int main(int argc, char** argv) {
  return ls::run(argc, argv, [](ls::Environment& env) {
    TwoWeights model;
    ls::DataParallel replica{model, env, {.bucket_bytes = 1, .first_bucket_bytes = 1}};
    ls::optim::Sgd sgd{replica.parameters()};
    (env.rank() == 1 ? 3.0 * model.a.value() : model.a.value() + 2.0 * model.b.value()).backward();
    sgd.step();
  });
}
