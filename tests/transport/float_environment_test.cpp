// SPDX-License-Identifier: MIT
#include "heddle/transport/float_environment.hpp"

#include <doctest/doctest.h>

#include <cfenv>
#include <limits>
#include <thread>

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

using namespace heddle;

namespace {
/// 1/3 as this thread rounds it, made where no compiler can.
[[gnu::noinline]] float third() {
  volatile float one = 1;
  volatile float three = 3;
  return one / three;
}
[[gnu::noinline]] float half_of_the_least() {
  volatile float least = std::numeric_limits<float>::min();
  volatile float half = 0.5F;
  return least * half;
}
}  // namespace

TEST_CASE("a thread that adopts an environment rounds as its giver does, and the giver stays as it is") {
  const FloatEnvironment usual;
  const float near = third();
  std::fesetround(FE_DOWNWARD);
  const FloatEnvironment downward;
  const float down = third();
  usual.adopt();
  CHECK(std::fegetround() == FE_TONEAREST);
  float there[2]{};
  int rounding = -1;
  std::thread other([&] {
    there[0] = third();
    downward.adopt();
    there[1] = third();
    rounding = std::fegetround();
  });
  other.join();
  CHECK((down < near && there[0] == near && there[1] == down));
  CHECK(rounding == FE_DOWNWARD);
  CHECK(third() == near);
}

#if defined(__x86_64__)
TEST_CASE("what is too small is flushed to zero where the giver does so") {
  CHECK(half_of_the_least() > 0);
  const FloatEnvironment usual;
  _MM_SET_FLUSH_ZERO_MODE(_MM_FLUSH_ZERO_ON);
  const FloatEnvironment flushing;
  usual.adopt();
  CHECK(half_of_the_least() > 0);
  float there = -1;
  std::thread other([&] {
    flushing.adopt();
    there = half_of_the_least();
  });
  other.join();
  CHECK(there == 0);
  CHECK(half_of_the_least() > 0);
}
#endif

TEST_CASE("flags that were raised stay with their thread") {
  std::feclearexcept(FE_ALL_EXCEPT);
  const FloatEnvironment usual;
  (void)third();
  CHECK(std::fetestexcept(FE_INEXACT) != 0);
  usual.adopt();
  CHECK(std::fetestexcept(FE_INEXACT) != 0);
}
