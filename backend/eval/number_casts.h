#pragma once
// Converts a number to another type as DuckDB casts: floats to the nearest even whole number.
// Private to eval. Threads: pure.
#include <cmath>
#include <limits>
#include <type_traits>
#include <utility>

namespace millrace::eval {

/// Returns false if the value does not fit.
template <class From, class To>
bool convertNumber(From value, To& out) {
    if constexpr (std::is_same_v<To, bool>) {
        out = value != From{};
    } else if constexpr (std::is_same_v<From, bool> || std::is_same_v<From, To>) {
        out = static_cast<To>(value);
    } else if constexpr (std::is_integral_v<From> && std::is_integral_v<To>) {
        if (!std::in_range<To>(value)) {
            return false;
        }
        out = static_cast<To>(value);
    } else if constexpr (std::is_integral_v<To>) {
        const double whole = std::nearbyint(static_cast<double>(value));
        // 2^63 and 2^64 are exact doubles; max itself is not.
        const double above = std::ldexp(1.0, std::numeric_limits<To>::digits);
        if (!(whole >= static_cast<double>(std::numeric_limits<To>::min()) && whole < above)) {
            return false;
        }
        out = static_cast<To>(whole);
    } else {
        out = static_cast<To>(value);
        if constexpr (std::is_floating_point_v<From>) {
            return std::isfinite(out) || !std::isfinite(value);
        }
    }
    return true;
}

}  // namespace millrace::eval
