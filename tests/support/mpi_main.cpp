// Catch2's main inside lockstep::run, for tests with ranks: a rank that fails tells the others,
// and what it has to say is printed with its number.
#define CATCH_CONFIG_RUNNER
#include <catch2/catch.hpp>

#include <unistd.h>

#include <cstdlib>
#include <iostream>
#include <streambuf>
#include <string>

#include <lockstep/comm/run.hpp>
#include <lockstep/core/error.hpp>

#include "support/test_environment.hpp"

namespace {

lockstep::Environment* environment = nullptr;

// Keeps what is written until it is told to print; then prints whole lines, each with the rank.
class RankOutput : public std::streambuf {
 public:
  explicit RankOutput(int rank) : prefix_("[rank " + std::to_string(rank) + "] ") {}
  void print_from_now_on() {
    printing_ = true;
    print_whole_lines();
  }
  void print_rest() {
    if (!text_.empty() && text_.back() != '\n') text_ += '\n';
    print_from_now_on();
  }

 protected:
  int_type overflow(int_type character) override {
    if (character != traits_type::eof()) text_ += static_cast<char>(character);
    if (printing_ && character == '\n') print_whole_lines();
    return character;
  }
  std::streamsize xsputn(const char* text, std::streamsize count) override {
    text_.append(text, static_cast<std::size_t>(count));
    if (printing_) print_whole_lines();
    return count;
  }

 private:
  void print_whole_lines() {
    std::string lines;
    std::size_t begin = 0;
    for (std::size_t end; (end = text_.find('\n', begin)) != std::string::npos; begin = end + 1)
      lines += prefix_ + text_.substr(begin, end + 1 - begin);
    text_.erase(0, begin);
    // One write, so that the lines of several ranks do not mix.
    if (!lines.empty() && ::write(STDOUT_FILENO, lines.data(), lines.size()) < 0) printing_ = false;
  }

  std::string prefix_;
  std::string text_;
  bool printing_ = false;
};

RankOutput* output = nullptr;

// Named otherwise in Catch2 3.
#ifdef LOCKSTEP_CATCH2_3
using ListenerBase = Catch::EventListenerBase;
using Handled = void;
void use_no_colours(Catch::ConfigData& data) { data.defaultColourMode = Catch::ColourMode::None; }
#else
using ListenerBase = Catch::TestEventListenerBase;
using Handled = bool;
void use_no_colours(Catch::ConfigData& data) { data.useColour = Catch::UseColour::No; }
#endif

// On the first failed assertion: show this rank's output, and tell the ranks that wait for it.
struct FailureListener : ListenerBase {
  using ListenerBase::ListenerBase;

  void testCaseStarting(const Catch::TestCaseInfo& info) override { test_case_ = info.name; }
  Handled assertionEnded(const Catch::AssertionStats& stats) override {
    if (!stats.assertionResult.isOk() && !told_) tell(stats.assertionResult.getResultType());
    return Handled(true);
  }

 private:
  void tell(Catch::ResultWas::OfType result) {
    told_ = true;
    output->print_from_now_on();
    // After a signal no call into the library is safe; the launcher ends the job.
    if (result == Catch::ResultWas::FatalErrorCondition) return;
    environment->ranks().announce_failure("an assertion failed in test case \"" + test_case_ +
                                          "\"");
  }

  std::string test_case_;
  bool told_ = false;
};
CATCH_REGISTER_LISTENER(FailureListener)

}  // namespace

lockstep::Environment& test_environment() { return *environment; }

int main(int argc, char** argv) {
  // The tests of devices ask for them; all others mean the CPU, whatever the machine has.
  const char* device = std::getenv("LOCKSTEP_TEST_DEVICE");
  const lockstep::EnvironmentOptions options{
      .device = lockstep::device_choice(device != nullptr ? device : "cpu")};
  return lockstep::run(argc, argv, options, [&](lockstep::Environment& env) {
    environment = &env;
    RankOutput rank_output(env.rank());
    output = &rank_output;
    std::streambuf* const standard_output = std::cout.rdbuf(output);

    Catch::Session session;
    int failed = session.applyCommandLine(argc, argv);
    if (failed == 0) {
      use_no_colours(session.configData());
      session.configData().abortAfter = 1;  // the others could only wait for this rank
      failed = session.run();
      if (session.config().listTests()) failed = 0;  // it was the number of tests
    }
    if (failed != 0 || env.is_root()) output->print_rest();
    std::cout.rdbuf(standard_output);
    // An exception rather than a status, so that a job in which one rank failed is ended as one.
    if (failed != 0) throw lockstep::Error("tests failed");
  });
}
