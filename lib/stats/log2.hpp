// A logarithm with the same bits everywhere: libm's differ by version and CPU, and the
// statistics must not.
#pragma once

#include <cmath>

namespace gradz {

// Of a positive finite x, to about two units in the last place; exact for powers of two.
inline double portable_log2(double x) {
    int exponent = 0;
    double m = std::frexp(x, &exponent);  // exact
    if (m < 0.70710678118654752) m *= 2, --exponent;
    const double z = (m - 1) / (m + 1), z2 = z * z;  // ln m = 2 artanh z, |z| < 0.172
    double series = 0;
    for (int k = 25; k >= 1; k -= 2) series = series * z2 + 1.0 / k;
    return exponent + series * z * 2.8853900817779268;  // 2 / ln 2
}

}  // namespace gradz
