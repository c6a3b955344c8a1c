// How near does the loader of samples in memory, shuffling, come to a plain copy of the same bytes?
//
// The copy goes through the samples in order, a batch at a time into one buffer. With reading ahead
// the loader copies on a thread of its own, so it is the faster the more cores there are.
#include <algorithm>
#include <array>
#include <cstring>
#include <string>
#include <vector>

#include <lockstep/lockstep.hpp>

#include "common/result.hpp"
#include "report.hpp"
#include "timing.hpp"

namespace ls = lockstep;

namespace {

struct Sizes {
  std::int64_t samples = 60'000;
  std::int64_t features = 784;
  std::int64_t batch = 32;
};

/// The first feature of a sample is its number, so that a batch says what it holds.
ls::Tensor numbered_samples(const Sizes& sizes) {
  ls::Tensor values = ls::zeros({sizes.samples, sizes.features});
  auto* elements = values.mutable_data<float>();
  for (std::int64_t i = 0; i < sizes.samples; ++i)
    elements[i * sizes.features] = static_cast<float>(i);
  return values;
}

ls::data::DataLoader make_loader(const ls::data::Dataset& dataset, const Sizes& sizes,
                                 int prefetch) {
  return {dataset,
          0,
          1,
          {.batch_size_per_rank = sizes.batch, .shuffle = true, .seed = 0, .prefetch = prefetch}};
}

/// Samples that an epoch does not bring exactly once.
std::int64_t count_wrong(ls::data::DataLoader& loader, const Sizes& sizes) {
  std::vector<int> seen(static_cast<std::size_t>(sizes.samples), 0);
  for (const auto& batch : loader.epoch(0))
    for (std::int64_t row = 0; row < batch.size; ++row)
      ++seen[static_cast<std::size_t>(batch.inputs.data<float>()[row * sizes.features])];
  return sizes.samples - std::count(seen.begin(), seen.end(), 1);
}

void read_epoch(ls::data::DataLoader& loader) {
  std::int64_t samples = 0;
  for (const auto& batch : loader.epoch()) samples += batch.size;
  if (samples != loader.sample_count()) throw ls::Error("an epoch ended early");
}

void copy_all(const ls::Tensor& from, ls::Tensor to, const Sizes& sizes) {
  const auto* source = from.data<float>();
  auto* target = to.mutable_data<float>();
  for (std::int64_t first = 0; first < sizes.samples; first += sizes.batch) {
    const std::int64_t rows = std::min(sizes.batch, sizes.samples - first);
    std::memcpy(target, source + first * sizes.features,
                static_cast<std::size_t>(rows * sizes.features) * sizeof(float));
  }
}

}  // namespace

int main(int argc, char** argv) {
  return ls::run(argc, argv, {.device = ls::DeviceChoice::cpu}, [&](ls::Environment& env) {
    bench::Options options;
    Sizes sizes;
    CLI::App app{"Measures the loader of samples in memory beside memcpy.", "loader_bench"};
    bench::add_options(app, options);
    app.add_option("--samples", sizes.samples, "of an epoch")->check(common::whole_number_from(1));
    app.add_option("--features", sizes.features, "float32 numbers of a sample")
        ->check(common::whole_number_from(1));
    app.add_option("--batch-size", sizes.batch, "samples of a batch")
        ->check(common::whole_number_from(1));
    if (const auto status = common::parse(app, argc, argv, env)) return *status;

    const ls::Tensor values = numbered_samples(sizes);
    const ls::data::TensorDataset dataset{values};
    auto plain = make_loader(dataset, sizes, 0), ahead = make_loader(dataset, sizes, 2);
    const std::int64_t wrong = count_wrong(plain, sizes) + count_wrong(ahead, sizes);
    const ls::Tensor buffer = ls::empty({sizes.batch, sizes.features});
    std::array<bench::Subject, 3> subjects{{{"loader", [&] { read_epoch(plain); }},
                                            {"reading ahead", [&] { read_epoch(ahead); }},
                                            {"memcpy", [&] { copy_all(values, buffer, sizes); }}}};
    bench::measure_in_turns(subjects, options.repetitions);

    bench::Report report(env, "loader",
                         {{"repetitions", options.repetitions},
                          {"samples", sizes.samples},
                          {"features", sizes.features},
                          {"batch_size", sizes.batch}});
    for (const auto& subject : subjects) {
      const double rate = static_cast<double>(sizes.samples) / bench::median_seconds(subject);
      report.add({{"what", subject.name},
                  {"samples/s", rate},
                  {"GB/s", rate * static_cast<double>(sizes.features) * 4e-9},
                  {"to memcpy", bench::median_ratio(subjects.back(), subject)},
                  {"#wrong", wrong}});
    }
    report.write(options.json);
    env.print(common::ResultLine{}
                  .add("wrong", wrong)
                  .add("samples_per_second",
                       static_cast<double>(sizes.samples) / bench::median_seconds(subjects[1]), 0)
                  .add("loader_over_memcpy", bench::median_ratio(subjects[2], subjects[1]), 3)
                  .text());
    return wrong == 0 ? 0 : 1;
  });
}
