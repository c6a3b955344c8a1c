// The names that the tests use of Catch2 2, from Catch2 3 (Ubuntu 24.04, Debian 13).
#pragma once

#include <catch2/catch_all.hpp>

using Catch::Approx;

namespace Catch {
namespace Matchers {

/// In a text. In Catch2 3 the name means an element of a range.
inline auto Contains(const char* text) { return ContainsSubstring(text); }
inline auto Contains(std::string& text) { return ContainsSubstring(text); }
inline auto Contains(const std::string& text) { return ContainsSubstring(text); }
inline auto Contains(std::string&& text) { return ContainsSubstring(text); }

}  // namespace Matchers

using Matchers::Contains;

}  // namespace Catch
