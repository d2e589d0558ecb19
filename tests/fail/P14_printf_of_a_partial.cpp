// SPDX-License-Identifier: MIT
// expect-g++: printf takes plain numbers, but one of its arguments is distributed\. Fix: give x\.value\(\)\.
// expect-clang: cannot pass (object of )?non-trivial (object of )?type
#include <cstdio>

#include "heddle/heddle.hpp"

using namespace heddle;
using namespace heddle::extending;

#ifdef HEDDLE_REPAIRED
void report(Distributed<float, Sum<axis::data>> loss) { std::printf("%f\n", static_cast<double>(loss.value())); }
#else
void report(Distributed<float, Partial<axis::data>> loss) { std::printf("%f\n", loss); }
#endif
