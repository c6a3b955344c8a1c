// Random numbers have the bits of the CPU.
#include "sides.hpp"

using namespace parity;

TEST_CASE("fills and dropout draw the bits of the CPU at every size and alignment") {
  if (!has_device()) return;
  RandomPosition position;
  position.seed = 12345678901;
  position.stream = 3;
  position.offset = 0xfffffffe;  // crosses 32 bits
  for (const DType dtype : kFloats)
    for (const std::int64_t count : kSizes)
      for (const std::int64_t shift : {std::int64_t{0}, byte_size(dtype)}) {
        INFO(name(dtype) << ", " << count << " elements, shifted by " << shift);
        const auto drawn = [&](const auto& draw) {
          return same_bits([&](const Side& side) {
            const Array result(side, elements(dtype, count, 1), shift);
            draw(side.backend.random, result.data(), side.queue);
            return result.bytes();
          });
        };
        CHECK(drawn([&](Random& random, void* result, Queue queue) {
          random.uniform(dtype, position, -0.3, 0.9, result, count, queue);
        }));
        CHECK(drawn([&](Random& random, void* result, Queue queue) {
          random.normal(dtype, position, result, count, queue);
        }));
        for (const double probability : {0.0, 0.3, 1.0}) {
          CHECK(drawn([&](Random& random, void* result, Queue queue) {
            random.bernoulli(dtype, position, probability, result, count, queue);
          }));
          CHECK(drawn([&](Random& random, void* result, Queue queue) {
            random.dropout(dtype, position, probability, result, result, count, queue);
          }));
        }
      }
}
