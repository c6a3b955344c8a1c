// Elementwise families: the same bits, whatever the size and alignment.
#include "core/unary_functions.hpp"
#include "parity/on_both.hpp"

using namespace parity;

namespace {

/// apply(elementwise, queue, a, b, result) with two operands of random and awkward values.
template <class T, class Apply>
bool same_everywhere(const Apply& apply) {
  for (const std::int64_t count : kCounts)
    for (const bool odd : {false, true}) {
      const auto both = on_both([&](const Side& side) {
        const auto a = side.array(awkward_values<T>(count, 1), odd);
        const auto b = side.array(awkward_values<T>(count, 2));
        const auto result = side.array(awkward_values<T>(count, 3), odd);
        apply(side.backend.elementwise, side.queue, a.data(), b.data(), result.data(), count);
        return result.values();
      });
      INFO("count " << count << ", odd " << odd);
      CHECK(same(both));
      if (!same(both)) return false;
    }
  return true;
}

Broadcast broadcast(std::vector<std::int64_t> sizes, std::vector<std::int64_t> a,
                    std::vector<std::int64_t> b) {
  Broadcast result;
  result.axes = static_cast<int>(sizes.size());
  std::copy(sizes.begin(), sizes.end(), result.sizes.begin());
  std::copy(a.begin(), a.end(), result.a_strides.begin());
  std::copy(b.begin(), b.end(), result.b_strides.begin());
  return result;
}

std::int64_t count_of(const Broadcast& shape) {
  std::int64_t count = 1;
  for (int axis = 0; axis < shape.axes; ++axis)
    count *= shape.sizes[static_cast<std::size_t>(axis)];
  return count;
}

const std::vector<Broadcast> kBroadcasts = {
    broadcast({}, {}, {}),
    broadcast({0}, {1}, {1}),
    broadcast({1}, {0}, {0}),
    broadcast({1025}, {1}, {0}),
    broadcast({1024}, {0}, {1}),
    broadcast({7, 12}, {12, 1}, {0, 1}),
    broadcast({7, 13}, {13, 1}, {0, 1}),
    broadcast({33, 8}, {8, 1}, {1, 0}),
    broadcast({33, 8}, {0, 1}, {1, 0}),
    broadcast({5, 0, 3}, {0, 3, 1}, {0, 3, 1}),
    broadcast({3, 4, 5}, {20, 5, 1}, {5, 0, 1}),
    broadcast({2, 3, 4, 8}, {0, 8, 0, 1}, {32, 0, 8, 1}),
    broadcast({2, 2, 2, 2, 2, 2, 2, 4}, {0, 32, 0, 16, 0, 8, 4, 1}, {64, 0, 32, 0, 16, 0, 4, 1}),
};

}  // namespace

TEMPLATE_TEST_CASE("arithmetic with numbers has the same bits on CUDA", "", float, double) {
  if (no_device()) return;
  const DType dtype = kDType<TestType>;
  CHECK(same_everywhere<TestType>([&](Elementwise& e, Queue q, auto* a, auto*, auto* r,
                                      std::int64_t n) { e.affine(dtype, a, 0.3, -1.7, r, n, q); }));
  CHECK(same_everywhere<TestType>([&](Elementwise& e, Queue q, auto* a, auto*, auto* r,
                                      std::int64_t n) { e.add_scaled(dtype, 0.1, a, r, n, q); }));
  CHECK(same_everywhere<TestType>([&](Elementwise& e, Queue q, auto*, auto*, auto* r,
                                      std::int64_t n) { e.scale(dtype, 1.0 / 3, r, n, q); }));
  CHECK(same_everywhere<TestType>(
      [&](Elementwise& e, Queue q, auto* a, auto* b, auto* r, std::int64_t n) {
        e.scaled_difference(dtype, a, b, 0.7, r, n, q);
      }));
}

TEMPLATE_TEST_CASE("unary operations have the same bits on CUDA, NaN and infinities too", "", float,
                   double) {
  if (no_device()) return;
  const DType dtype = kDType<TestType>;
  for (int index = 0; index < portable::kUnaryOperations; ++index) {
    const auto operation = static_cast<UnaryOperation>(index);
    INFO(portable::name_of(operation));
    const UnaryNumbers<double> numbers{0.7, 1.1};
    CHECK(same_everywhere<TestType>(
        [&](Elementwise& e, Queue q, auto* a, auto*, auto* r, std::int64_t n) {
          e.unary(operation, dtype, a, numbers, r, n, q);
        }));
    CHECK(same_everywhere<TestType>(
        [&](Elementwise& e, Queue q, auto* a, auto* b, auto* r, std::int64_t n) {
          e.unary_backward(operation, dtype, a, b, numbers, r, n, q);
        }));
  }
}

TEMPLATE_TEST_CASE("binary operations have the same bits on CUDA in every form of a broadcast", "",
                   float, double) {
  if (no_device()) return;
  for (const Broadcast& shape : kBroadcasts)
    for (const auto operation :
         {BinaryOperation::add, BinaryOperation::sub, BinaryOperation::mul, BinaryOperation::div})
      for (const bool odd : {false, true}) {
        const std::int64_t count = count_of(shape);
        INFO("axes " << shape.axes << ", count " << count << ", odd " << odd);
        CHECK(same(on_both([&](const Side& side) {
          const auto a = side.array(awkward_values<TestType>(count + 1, 4), odd);
          const auto b = side.array(awkward_values<TestType>(count + 1, 5));
          const auto result = side.array(std::vector<TestType>(static_cast<std::size_t>(count)));
          side.backend.elementwise.binary(operation, kDType<TestType>, shape, a.data(), b.data(),
                                          result.data(), side.queue);
          return result.values();
        })));
      }
}

TEST_CASE("fill writes the same bits of every dtype on CUDA") {
  if (no_device()) return;
  for (const DType dtype : kAllDTypes)
    for (const double value : {0.0, -0.0, 1.0, 2.7, -3.5, 1e300, std::nan("")})
      for (const std::int64_t count : {0, 1, 15, 17, 1025})
        with_storage(dtype, [&]<class T>(T) {
          INFO(name(dtype) << ", value " << value << ", count " << count);
          CHECK(same(on_both([&](const Side& side) {
            const auto result = side.array(std::vector<T>(static_cast<std::size_t>(count)), true);
            side.backend.elementwise.fill(dtype, value, result.data(), count, side.queue);
            return result.values();
          })));
        });
}
