// SPDX-License-Identifier: MIT
// expect: \[heddle\.L04\] A set of plans cannot choose\.
// expect-g++: Mlp is no PlanSet, so the number of ranks has no plan to choose\.
#include "heddle/heddle.hpp"
#include "heddle/run/with_plan.hpp"

using namespace heddle;

struct Mlp : Sequential<Linear<784, 50>, ReLU, Linear<50, 10>> {};

#ifdef HEDDLE_REPAIRED
using Any = PlanSet<Plan<Mlp, CrossEntropy, Adam, Batch<64>, Single>>;
#else
using Any = Mlp;
#endif

int main() {
  const int chosen = with_plan<Any>(1, [](auto plan) { return devices<decltype(plan)>; });
  return chosen == 1 ? 0 : 1;
}
