// For tests with RANKS: the environment in which this rank's test cases run.
#pragma once

#include <lockstep/comm/environment.hpp>

/// The same one for all test cases of the program. Every rank runs all test cases in the same
/// order. The first assertion that fails on a rank ends that rank's tests and fails the job; the
/// ranks that wait for it get a CommunicationError.
lockstep::Environment& test_environment();
