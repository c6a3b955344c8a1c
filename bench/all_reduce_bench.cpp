// How fast is the all-reduce of host memory, in both orders of summing, beside plain MPI_Allreduce?
//
// In each repetition all three run one after the other, so that a change of the machine's speed
// meets all of them. Sums of small integers are exact in float32, so every result is checked.
// algbw = bytes / time; busbw = algbw * 2 (n - 1) / n, as in nccl-tests.
#include <mpi.h>

#include <algorithm>
#include <array>
#include <functional>
#include <string>
#include <vector>

#include <lockstep/lockstep.hpp>

#include "common/result.hpp"
#include "report.hpp"

namespace ls = lockstep;

namespace {

constexpr std::int64_t kBytesPerMeasurement = 1 * ls::MiB;  // small messages are sent several times
constexpr std::int64_t kMostCalls = 200;

std::string mpi_version() {
  char text[MPI_MAX_LIBRARY_VERSION_STRING];
  int length = 0;
  MPI_Get_library_version(text, &length);
  const std::string whole(text, static_cast<std::size_t>(length));
  return whole.substr(0, whole.find(','));
}

float input(std::int64_t element, int rank) { return static_cast<float>(element % 17 + rank % 5); }

float expected(std::int64_t element, int ranks) {
  float sum = 0;
  for (int rank = 0; rank < ranks; ++rank) sum += input(element, rank);
  return sum;
}

// Seconds of one call, the slowest rank's.
double measure(const std::function<void()>& call, std::int64_t calls) {
  MPI_Barrier(MPI_COMM_WORLD);
  const common::Stopwatch watch;
  for (std::int64_t i = 0; i < calls; ++i) call();
  double seconds = watch.seconds() / static_cast<double>(calls);
  MPI_Allreduce(MPI_IN_PLACE, &seconds, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return seconds;
}

std::int64_t count_wrong(const std::function<void()>& call, ls::Tensor values, int rank,
                         int ranks) {
  auto* elements = values.mutable_data<float>();
  for (std::int64_t i = 0; i < values.element_count(); ++i) elements[i] = input(i, rank);
  call();
  std::int64_t wrong = 0;
  for (std::int64_t i = 0; i < values.element_count(); ++i)
    wrong += elements[i] == expected(i, ranks) ? 0 : 1;
  MPI_Allreduce(MPI_IN_PLACE, &wrong, 1, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
  values.fill(0);  // sums of zeros stay what they are, however often
  return wrong;
}

struct Subject {
  std::string name;
  std::function<void()> call;
  std::int64_t wrong = 0;
  std::vector<double> seconds = {};
};

// The two orders, and plain MPI last. All work in place on `values`.
std::array<Subject, 3> subjects(const ls::Environment& env, ls::Tensor values) {
  const auto reduce = [&](ls::SumOrder order) {
    return
        [&env, values, order] { env.ranks().all_reduce(values, ls::ReduceOp::sum, order).wait(); };
  };
  const auto plain = [memory = values.mutable_raw_data(),
                      count = static_cast<int>(values.element_count())] {
    MPI_Allreduce(MPI_IN_PLACE, memory, count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
  };
  return {{{"fastest", reduce(ls::SumOrder::fastest)},
           {"ranks", reduce(ls::SumOrder::ranks)},
           {"plain MPI", plain}}};
}

std::array<Subject, 3> measure_size(const ls::Environment& env, std::int64_t bytes,
                                    int repetitions) {
  const auto values = ls::zeros({bytes / 4});
  auto all = subjects(env, values);
  for (auto& subject : all)
    subject.wrong = count_wrong(subject.call, values, env.rank(), env.size());
  const auto calls = std::clamp(kBytesPerMeasurement / bytes, std::int64_t{1}, kMostCalls);
  for (int repetition = 0; repetition < repetitions; ++repetition)
    for (auto& subject : all) subject.seconds.push_back(measure(subject.call, calls));
  return all;
}

// Accumulates what the result line says.
struct Totals {
  std::int64_t wrong = 0;
  std::array<std::vector<double>, 3> ratios;
};

void add_rows(bench::Report& report, const std::array<Subject, 3>& all, std::int64_t bytes,
              int ranks, Totals& totals) {
  const double plain = common::median(all.back().seconds);
  for (std::size_t i = 0; i < all.size(); ++i) {
    const double seconds = common::median(all[i].seconds);
    const double bandwidth = static_cast<double>(bytes) / seconds * 1e-9;
    totals.wrong += all[i].wrong;
    totals.ratios[i].push_back(seconds / plain);
    report.add({{"bytes", bytes},
                {"order", all[i].name},
                {"us", seconds * 1e6},
                {"algbw GB/s", bandwidth},
                {"busbw GB/s", bandwidth * 2 * (ranks - 1) / ranks},
                {"to plain", seconds / plain},
                {"#wrong", all[i].wrong}});
  }
}

}  // namespace

int main(int argc, char** argv) {
  return ls::run(argc, argv, {.device = ls::DeviceChoice::cpu}, [&](ls::Environment& env) {
    bench::Options options;
    std::int64_t largest = 64 * ls::MiB;
    CLI::App app{"Measures all_reduce beside MPI_Allreduce.", "all_reduce_bench"};
    bench::add_options(app, options);
    app.add_option("--largest", largest, "bytes of the largest message")
        ->check(common::whole_number_from(1));
    if (const auto status = common::parse(app, argc, argv, env)) return *status;

    bench::Report report(env, "all_reduce",
                         {{"mpi", mpi_version()}, {"repetitions", options.repetitions}});
    Totals totals;
    for (std::int64_t bytes = 4; bytes <= largest; bytes *= 4)
      add_rows(report, measure_size(env, bytes, options.repetitions), bytes, env.size(), totals);
    report.write(options.json);
    env.print(common::ResultLine{}
                  .add("ranks", env.size())
                  .add("wrong", totals.wrong)
                  .add("median_ratio_fastest", common::median(totals.ratios[0]), 3)
                  .add("median_ratio_ranks", common::median(totals.ratios[1]), 3)
                  .text());
    return totals.wrong == 0 ? 0 : 1;
  });
}
