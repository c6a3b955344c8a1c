// The loop of examples/multi_gpu_loop as a user of libtorch writes it: backward, MPI_Allreduce of
// each gradient, the mean, then torch's Adam.
#include <mpi.h>

#include <torch/torch.h>

#include "loop.hpp"

using namespace peers;

namespace {

void average_gradients(torch::nn::Module& model, int ranks) {
  if (ranks == 1) return;
  for (auto& parameter : model.parameters()) {
    torch::Tensor gradient = parameter.grad();
    MPI_Allreduce(MPI_IN_PLACE, gradient.data_ptr<float>(), static_cast<int>(gradient.numel()),
                  MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
    gradient.div_(ranks);
  }
}

}  // namespace

int main(int argc, char** argv) {
  const int epochs = epochs_of(argc, argv);
  int thread_level = 0, rank = 0, ranks = 1;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &thread_level);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  torch::manual_seed(0);
  torch::nn::Sequential model(torch::nn::Linear(kInputs, kHidden), torch::nn::ReLU(),
                              torch::nn::Linear(kHidden, kOutputs));
  torch::optim::Adam adam(model->parameters(), kLearningRate);
  const torch::Tensor data = torch::randn({kSamples, kInputs});

  measure(epochs, rank, ranks, [&](int) {
    // Alike on all ranks; each takes its own part, and the last ones begin again at the front.
    const torch::Tensor order = torch::randperm(kSamples).repeat(2);
    const int own = (kSamples + ranks - 1) / ranks;
    float loss_value = 0;
    for (int first = 0; first < own; first += kBatch) {
      const int begin = rank * own + first;
      const int end = rank * own + std::min(first + kBatch, own);
      const torch::Tensor loss =
          model->forward(data.index_select(0, order.slice(0, begin, end))).mean();
      adam.zero_grad();
      loss.backward();
      average_gradients(*model, ranks);
      adam.step();
      loss_value = loss.item<float>();
    }
    return loss_value;
  });
  MPI_Finalize();
}
