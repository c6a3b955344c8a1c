// Classifies the pictures of Fashion-MNIST: real data from files, a test set that every sample of
// counts once on any number of ranks, and a progress bar.
#include <filesystem>
#include <string>
#include <vector>

#include <lockstep/lockstep.hpp>

#include "common/command_line.hpp"
#include "common/progress.hpp"
#include "common/result.hpp"

namespace ls = lockstep;

namespace {

struct Score {
  double loss = 0;
  double accuracy = 0;
};

// The files may be gzip'ed, as Debian installs them, or unpacked.
std::string file_in(const std::string& folder, const std::string& name) {
  const auto path = folder + "/" + name;
  return std::filesystem::exists(path) ? path : path + ".gz";
}

ls::data::ImageDataset read_images(const std::string& folder, const std::string& part) {
  return {ls::data::read_idx_images(file_in(folder, part + "-images-idx3-ubyte")),
          ls::data::read_idx_labels(file_in(folder, part + "-labels-idx1-ubyte"))};
}

// The ranks may have different numbers of samples, so sums are exchanged, not means.
template <class Model>
Score evaluate(Model& model, ls::data::DataLoader& loader, const ls::Environment& env) {
  const ls::NoGrad no_grad;
  double loss = 0, correct = 0, samples = 0;
  for (const auto& batch : loader.epoch(0)) {
    const auto logits = model(batch.inputs);
    loss += ls::cross_entropy(logits, batch.targets, {.reduction = ls::Reduction::sum}).item();
    const auto guesses = ls::argmax(logits).template to_vector<std::int64_t>();
    const auto labels = batch.targets.to_vector<std::int64_t>();
    for (std::size_t i = 0; i < labels.size(); ++i) correct += guesses[i] == labels[i] ? 1 : 0;
    samples += static_cast<double>(batch.size);
  }
  auto sums = ls::tensor({loss, correct, samples}, {3}, env.device());
  env.ranks().all_reduce(sums).wait();
  const auto all = sums.to_vector<double>();
  return {all[0] / all[2], all[1] / all[2]};
}

}  // namespace

int main(int argc, char** argv) {
  return ls::run(argc, argv, [&](ls::Environment& env) {
    common::TrainingOptions options{.epochs = 5, .batch_size = 32};
    std::string folder = "/usr/share/datasets/fashion-mnist";
    CLI::App app{"Learns to tell the clothes of Fashion-MNIST apart.", "fashion_mnist"};
    common::add_training_options(app, options);
    app.add_option("--data", folder, "folder with the four IDX files");
    if (const auto status = common::parse(app, argc, argv, env)) return *status;
    common::apply(options, env);

    const auto training_set = read_images(folder, "train");
    const auto test_set = read_images(folder, "t10k");
    ls::nn::Sequential model{ls::nn::Linear{784, 512}, ls::nn::ReLU{}, ls::nn::Linear{512, 10}};
    ls::DataParallel replica{model, env};
    ls::optim::Adam adam{replica.parameters(), {.learning_rate = 1e-3}};
    ls::data::DataLoader loader{
        training_set, env, {.batch_size_per_rank = options.batch_size, .shuffle = true}};
    ls::data::DataLoader test_loader{
        test_set, env, {.batch_size_per_rank = 256, .partition = ls::data::Partition::exact}};

    const double samples = static_cast<double>(loader.sample_count() * env.size());
    std::vector<double> rates;
    double training_loss = 0;
    Score test;
    for (std::int64_t epoch = 1; epoch <= options.epochs; ++epoch) {
      const auto label = "epoch " + std::to_string(epoch) + "/" + std::to_string(options.epochs);
      const common::Stopwatch watch;
      common::LossMeter meter;
      {
        common::Progress progress{env, label, loader.batch_count()};
        for (const auto& batch : loader.epoch(epoch)) {
          auto loss = ls::cross_entropy(replica(batch.inputs), batch.targets);
          adam.zero_grad();
          loss.backward();
          adam.step();
          meter.add(loss, batch.size);
          progress.step(meter);
        }
      }
      training_loss = meter.mean(env);
      rates.push_back(samples / watch.seconds());
      test = evaluate(replica, test_loader, env);
      env.print(label + "  loss " + common::fixed(training_loss, 4) + "  test loss " +
                common::fixed(test.loss, 4) + "  test accuracy " + common::fixed(test.accuracy, 4) +
                "  " + common::fixed(rates.back(), 0) + " samples/s");
    }

    env.print(common::ResultLine{}
                  .add("ranks", env.size())
                  .add("device", to_string(env.device()))
                  .add("epochs", options.epochs)
                  .add("samples_per_second", common::median(rates), 0)
                  .add("train_loss", training_loss, 4)
                  .add("test_loss", test.loss, 4)
                  .add("test_accuracy", test.accuracy, 4)
                  .text());
    return 0;
  });
}
