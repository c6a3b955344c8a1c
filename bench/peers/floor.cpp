// How fast can the loop of examples/multi_gpu_loop be made by hand? Flat arrays, OpenBLAS, one
// MPI_Allreduce of all gradients, one pass for Adam. Nothing can be changed in it without writing
// it again.
#include <mpi.h>

#include <cmath>
#include <cstring>
#include <numeric>
#include <random>

#include "loop.hpp"

extern "C" {
void cblas_sgemm(int order, int transpose_a, int transpose_b, int m, int n, int k, float alpha,
                 const float* a, int lda, const float* b, int ldb, float beta, float* c, int ldc);
void openblas_set_num_threads(int count);
}

namespace {

using namespace peers;
using Floats = std::vector<float>;

constexpr int kPlain = 111;
constexpr int kTransposed = 112;

constexpr std::size_t kFirstWeight = 0;
constexpr std::size_t kFirstBias = kFirstWeight + std::size_t{kHidden} * kInputs;
constexpr std::size_t kSecondWeight = kFirstBias + kHidden;
constexpr std::size_t kSecondBias = kSecondWeight + std::size_t{kOutputs} * kHidden;
constexpr std::size_t kParameters = kSecondBias + kOutputs;

void multiply(int transpose_a, int transpose_b, int m, int n, int k, const float* a, const float* b,
              float beta, float* c) {
  cblas_sgemm(101, transpose_a, transpose_b, m, n, k, 1, a, transpose_a == kPlain ? k : m, b,
              transpose_b == kPlain ? n : k, beta, c, n);
}

class Loop {
 public:
  Loop(int rank, int ranks) : rank_(rank), ranks_(ranks), random_(0) {
    std::normal_distribution<float> normal;
    for (float& value : data_) value = normal(random_);
    for (std::size_t i = 0; i < kParameters; ++i) {
      const float bound = 1 / std::sqrt(static_cast<float>(i < kSecondWeight ? kInputs : kHidden));
      values_[i] = std::uniform_real_distribution<float>(-bound, bound)(random_);
    }
    std::iota(order_.begin(), order_.end(), 0);
  }

  /// Returns the loss of the last step.
  float epoch() {
    std::shuffle(order_.begin(), order_.end(), random_);  // alike on all ranks
    const int own = (kSamples + ranks_ - 1) / ranks_;
    float loss = 0;
    for (int first = 0; first < own; first += kBatch) {
      const int rows = std::min(kBatch, own - first);
      gather(first, rows);
      loss = forward(rows);
      backward(rows);
      if (ranks_ > 1)
        MPI_Allreduce(MPI_IN_PLACE, gradients_.data(), static_cast<int>(kParameters), MPI_FLOAT,
                      MPI_SUM, MPI_COMM_WORLD);
      adam();
    }
    return loss;
  }

 private:
  void gather(int first, int rows) {
    for (int row = 0; row < rows; ++row) {
      const auto place = static_cast<std::size_t>((first + row) * ranks_ + rank_) % kSamples;
      std::memcpy(&x_[static_cast<std::size_t>(row) * kInputs],
                  &data_[static_cast<std::size_t>(order_[place]) * kInputs],
                  kInputs * sizeof(float));
    }
  }

  float forward(int rows) {
    for (int row = 0; row < rows; ++row) {
      std::memcpy(&hidden_[static_cast<std::size_t>(row) * kHidden], &values_[kFirstBias],
                  kHidden * sizeof(float));
      std::memcpy(&y_[static_cast<std::size_t>(row) * kOutputs], &values_[kSecondBias],
                  kOutputs * sizeof(float));
    }
    multiply(kPlain, kTransposed, rows, kHidden, kInputs, x_.data(), &values_[kFirstWeight], 1,
             hidden_.data());
    for (int i = 0; i < rows * kHidden; ++i) hidden_[i] = hidden_[i] > 0 ? hidden_[i] : 0;
    multiply(kPlain, kTransposed, rows, kOutputs, kHidden, hidden_.data(), &values_[kSecondWeight],
             1, y_.data());
    return std::accumulate(y_.begin(), y_.begin() + rows * kOutputs, 0.0F) /
           static_cast<float>(rows * kOutputs);
  }

  /// Of the mean of all outputs.
  void backward(int rows) {
    const float each = 1 / static_cast<float>(rows * kOutputs);
    std::fill_n(dy_.begin(), rows * kOutputs, each);
    std::fill_n(gradients_.begin() + kSecondBias, kOutputs, each * static_cast<float>(rows));
    multiply(kTransposed, kPlain, kOutputs, kHidden, rows, dy_.data(), hidden_.data(), 0,
             &gradients_[kSecondWeight]);
    multiply(kPlain, kPlain, rows, kHidden, kOutputs, dy_.data(), &values_[kSecondWeight], 0,
             dhidden_.data());
    for (int i = 0; i < rows * kHidden; ++i) dhidden_[i] = hidden_[i] > 0 ? dhidden_[i] : 0;
    multiply(kTransposed, kPlain, kHidden, kInputs, rows, dhidden_.data(), x_.data(), 0,
             &gradients_[kFirstWeight]);
    float* bias = &gradients_[kFirstBias];
    std::fill_n(bias, kHidden, 0.0F);
    for (int row = 0; row < rows; ++row)
      for (int i = 0; i < kHidden; ++i) bias[i] += dhidden_[row * kHidden + i];
  }

  void adam() {
    constexpr float kBeta1 = 0.9F, kBeta2 = 0.999F, kEpsilon = 1e-8F;
    ++step_;
    const float rate = static_cast<float>(kLearningRate / (1 - std::pow(kBeta1, step_)));
    const float root_scale = 1 / std::sqrt(1 - std::pow(kBeta2, static_cast<float>(step_)));
    const float mean = 1 / static_cast<float>(ranks_);
    float *value = values_.data(), *m = first_moment_.data(), *v = second_moment_.data();
    const float* gradient = gradients_.data();
    for (std::size_t i = 0; i < kParameters; ++i) {
      const float g = gradient[i] * mean;
      m[i] = kBeta1 * m[i] + (1 - kBeta1) * g;
      v[i] = kBeta2 * v[i] + (1 - kBeta2) * g * g;
      value[i] -= rate * m[i] / (std::sqrt(v[i]) * root_scale + kEpsilon);
    }
  }

  int rank_, ranks_, step_ = 0;
  std::mt19937 random_;
  std::vector<int> order_ = std::vector<int>(kSamples);
  Floats data_ = Floats(std::size_t{kSamples} * kInputs);
  Floats values_ = Floats(kParameters), gradients_ = values_;
  Floats first_moment_ = values_, second_moment_ = values_;
  Floats x_ = Floats(std::size_t{kBatch} * kInputs);
  Floats hidden_ = Floats(std::size_t{kBatch} * kHidden), dhidden_ = hidden_;
  Floats y_ = Floats(std::size_t{kBatch} * kOutputs), dy_ = y_;
};

}  // namespace

int main(int argc, char** argv) {
  const int epochs = epochs_of(argc, argv);
  int thread_level = 0, rank = 0, ranks = 1;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &thread_level);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  openblas_set_num_threads(1);
  Loop loop(rank, ranks);
  measure(epochs, rank, ranks, [&](int) { return loop.epoch(); });
  MPI_Finalize();
}
