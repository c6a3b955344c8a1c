// With two devices: operations run on the device of their tensors and on the stream that was
// chosen, and leave the program's choice of both as it was.
#include <cuda_runtime_api.h>

#include <optional>
#include <string>

#include "backend/backend.hpp"
#include "emulation/control.hpp"
#include "parity/training.hpp"

using namespace parity;

namespace {

namespace backend = lockstep::backend;

struct Call {
  const char* name;
  std::function<void(ls::Device)> run;
};

ls::Tensor leaf_on(ls::Device device, const ls::Shape& shape = {6, 6}) {
  return random_tensor(shape, ls::DType::float32, 41).to(device).set_requires_grad(true);
}

void train_on(ls::Device device) {
  Network network = make_network(device, ls::DType::float32);
  ls::optim::Sgd optimizer(ls::parameters(network), {.momentum = 0.9});
  const auto batch = batch_of(0, device, ls::DType::float32);
  const ls::Tensor loss = ls::cross_entropy(network(batch.inputs, true), batch.targets);
  loss.backward();
  ls::optim::clip_gradient_norm(optimizer.parameters(), 0.1);
  optimizer.step();
  static_cast<void>(loss.item());
}

const std::vector<Call> kCalls = {
    {"transfer", [](ls::Device d) { leaf_on(d).to(ls::Device::cpu()); }},
    {"between devices", [](ls::Device d) { leaf_on(ls::Device::cuda(1 - d.index)).to(d); }},
    {"arithmetic",
     [](ls::Device d) { ls::sum(leaf_on(d) * leaf_on(d) - leaf_on(d) * 2.0).backward(); }},
    {"activations", [](ls::Device d) { ls::mean(ls::relu(ls::gelu_tanh(leaf_on(d)))).backward(); }},
    {"products",
     [](ls::Device d) {
       const ls::Tensor x = leaf_on(d);
       ls::sum(ls::linear(ls::matmul(x, x), leaf_on(d), leaf_on(d, {6}))).backward();
     }},
    {"mse_loss", [](ls::Device d) { ls::mse_loss(leaf_on(d), leaf_on(d)).backward(); }},
    {"argmax", [](ls::Device d) { ls::argmax(leaf_on(d)).to_vector<std::int64_t>(); }},
    {"axes",
     [](ls::Device d) {
       const ls::Tensor x = ls::stack({leaf_on(d), ls::transpose(leaf_on(d), 0, 1)});
       ls::mean(ls::max(ls::matmul(x, ls::slice(x, 0, 1, 2)), 1), {0}).backward(leaf_on(d, {6}));
     }},
    {"random",
     [](ls::Device d) {
       ls::dropout(ls::randn({50}, ls::DType::float32, d), 0.3);
       ls::Generator generator{1};
       ls::bernoulli({50}, 0.3, ls::DType::float64, generator, d);
       ls::uniform({50}, 0, 1, ls::DType::float64, generator, d);
     }},
    {"casts", [](ls::Device d) { ls::sum(leaf_on(d).to(ls::DType::float64)).backward(); }},
    {"training", train_on},
    {"a wrong label",
     [](ls::Device d) {
       const ls::Tensor labels = ls::full({6}, 9, ls::DType::int64, d);
       CHECK_THROWS_AS(ls::cross_entropy(leaf_on(d), labels).item(), ls::InvalidUsage);
     }},
    {"trim", [](ls::Device d) { backend::cuda_backend(d.index).memory.trim(); }},
    {"a failed allocation",
     [](ls::Device d) {
       CHECK_THROWS_AS(ls::empty({std::int64_t{1} << 42}, ls::DType::float32, d), ls::DeviceError);
     }},
};

int current_device() {
  int device = -1;
  CHECK(cudaGetDevice(&device) == cudaSuccess);
  return device;
}

class Stream {
 public:
  explicit Stream(int device) {
    CHECK(cudaSetDevice(device) == cudaSuccess);
    CHECK(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking) == cudaSuccess);
  }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  ~Stream() { static_cast<void>(cudaStreamDestroy(stream_)); }
  cudaStream_t get() const { return stream_; }

 private:
  cudaStream_t stream_ = nullptr;
};

}  // namespace

TEST_CASE("the program's current device is what it was after every call") {
  REQUIRE(ls::cuda_device_count() == 2);
  for (const int own : {0, 1})
    for (const int index : {0, 1})
      for (const Call& call : kCalls) {
        REQUIRE(cudaSetDevice(own) == cudaSuccess);
        call.run(ls::Device::cuda(index));
        INFO(call.name << " on cuda:" << index);
        CHECK(current_device() == own);
      }
  REQUIRE(cudaSetDevice(0) == cudaSuccess);
}

TEST_CASE("operations run on the stream that was chosen, and the choice stays") {
  for (const int index : {0, 1}) {
    const Stream stream(index);
    REQUIRE(cudaSetDevice(1 - index) == cudaSuccess);
    const auto own = static_cast<cudaStream_t>(backend::cuda_current_queue(index).stream);
    const auto before = backend::set_cuda_queue(index, {true, {stream.get()}});
    for (const Call& call : kCalls) {
      REQUIRE(cudaStreamSynchronize(own) == cudaSuccess);
      call.run(ls::Device::cuda(index));
      INFO(call.name << " on cuda:" << index);
      CHECK(backend::cuda_current_queue(index).stream == stream.get());
      CHECK(cudaStreamQuery(own) == cudaSuccess);  // nothing was queued there
    }
    REQUIRE(cudaStreamSynchronize(stream.get()) == cudaSuccess);
    backend::cuda_backend(index).memory.trim();
    CHECK(backend::set_cuda_queue(index, before).queue.stream == stream.get());
    CHECK(backend::cuda_current_queue(index).stream == own);
  }
  REQUIRE(cudaSetDevice(0) == cudaSuccess);
}

TEST_CASE("memory that a chosen stream still reads is handed out again after it, in any order") {
  const Stream stream(0);
  for (const std::uint64_t seed : {1, 2, 3, 4, 5, 6, 7, 8}) {
    emulation::set_seed(seed);
    auto x = std::optional(ls::full({4099}, 3, ls::DType::float32, kCuda));
    static_cast<void>(x->to_vector());  // the chosen stream comes after this
    const void* block = x->raw_data();
    const auto before = backend::set_cuda_queue(0, {true, {stream.get()}});
    const ls::Tensor doubled = *x * 2.0;
    x.reset();
    backend::set_cuda_queue(0, before);
    const ls::Tensor next = ls::full({4099}, -1, ls::DType::float32, kCuda);
    CHECK(next.raw_data() == block);
    CHECK(next.to_vector() == std::vector<float>(4099, -1));
    CHECK(cudaStreamSynchronize(stream.get()) == cudaSuccess);
    CHECK(doubled.to_vector() == std::vector<float>(4099, 6));
  }
}

TEST_CASE("the second device computes the same bits as the first") {
  const auto numbers = [](ls::Device device) {
    return value_and_gradients<float>(
        [](const Tensors& x) { return ls::gelu_tanh(ls::linear(x[0], x[1], x[2])); },
        {random_tensor({7, 9}, ls::DType::float32, 1), random_tensor({5, 9}, ls::DType::float32, 2),
         random_tensor({5}, ls::DType::float32, 3)},
        device, false);
  };
  CHECK(same(numbers(ls::Device::cuda(0)), numbers(ls::Device::cuda(1))));
}

TEST_CASE("tensors of two devices in one operation are refused, and cross only by to()") {
  const ls::Tensor first = ls::full({3}, 2, ls::DType::float32, ls::Device::cuda(0));
  const ls::Tensor second = ls::full({3}, 5, ls::DType::float32, ls::Device::cuda(1));
  CHECK_THROWS_WITH(first + second, Catch::Contains("cuda:0") && Catch::Contains("cuda:1"));
  const ls::Tensor sum = first.to(second.device()) + second;
  CHECK(sum.device() == ls::Device::cuda(1));
  CHECK(sum.to_vector() == std::vector<float>(3, 7));
}
