// Errors in units of the last place.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>

namespace last_places {

/// The distance from the exact value in units of the last place of T.
template <class T>
long double distance(T value, long double exact) {
  if (static_cast<long double>(value) == exact) return 0;
  const int smallest = std::numeric_limits<T>::min_exponent - 1;
  const int exponent = std::max(exact == 0 ? smallest : std::ilogb(exact), smallest);
  return std::fabs(static_cast<long double>(value) - exact) /
         std::ldexp(1.0L, exponent - (std::numeric_limits<T>::digits - 1));
}

}  // namespace last_places
