// Catch2's main, compiled once for all tests without ranks.
#define CATCH_CONFIG_MAIN
#include <catch2/catch.hpp>
