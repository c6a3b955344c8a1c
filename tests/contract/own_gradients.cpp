// Only the gradient exchange, under gradients that the program already has: some next to each
// other in one buffer, one elsewhere, made ready in an order of the program's own.
#include <array>
#include <cstdio>
#include <vector>

#include <lockstep/comm/run.hpp>
#include <lockstep/core/create.hpp>
#include <lockstep/parallel/gradient_synchronizer.hpp>

namespace ls = lockstep;

namespace {

/// Gradient i on a rank in a step; its mean over the ranks is that of the middle rank.
float gradient_value(int gradient, double rank, int step) {
  return static_cast<float>(10 * gradient + rank + 100 * step);
}

}  // namespace

int main(int argc, char** argv) {
  return ls::run(argc, argv, [](ls::Environment& env) -> int {
    std::vector<float> buffer(12 + 30);
    std::vector<float> elsewhere(7);
    ls::GradientSynchronizer synchronizer{env.ranks(), {.bucket_bytes = 25 * ls::MiB}};
    const std::array<std::span<float>, 3> gradients{
        std::span(buffer).first(12), std::span(buffer).subspan(12, 30), std::span(elsewhere)};
    const std::array<std::int64_t, 3> ids{
        synchronizer.add("weight", ls::borrow(gradients[0].data(), {3, 4})),
        synchronizer.add("kernel", ls::borrow(gradients[1].data(), {30})),
        synchronizer.add("bias", ls::borrow(gradients[2].data(), {7}))};
    synchronizer.commit();

    const double middle = (env.size() - 1) / 2.0;
    for (int step = 0; step < 3; ++step) {
      for (int i = 0; i < 3; ++i)
        for (float& value : gradients[i]) value = gradient_value(i, env.rank(), step);
      // Each rank has its own order.
      for (int i = 0; i < 3; ++i) synchronizer.ready(ids[(i + env.rank() + step) % 3]);
      synchronizer.finish();
      for (int i = 0; i < 3; ++i)
        for (const float value : gradients[i])
          if (value != gradient_value(i, middle, step)) {
            std::fprintf(stderr, "rank %d, step %d, gradient %d: %g, not %g\n", env.rank(), step, i,
                         value, gradient_value(i, middle, step));
            return 1;
          }
    }
    return synchronizer.counters().steps == 3 ? 0 : 1;
  });
}
