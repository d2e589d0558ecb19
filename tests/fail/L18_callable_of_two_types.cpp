// SPDX-License-Identifier: MIT
// expect: \[heddle\.L18\] with_plan takes a callable of one plan that returns the same type for each\.
#include "heddle/heddle.hpp"
#include "heddle/run/with_plan.hpp"

using namespace heddle;

struct Mlp : Sequential<Linear<784, 50>, ReLU, Linear<50, 10>> {};
using Set = PlanSet<Plan<Mlp, CrossEntropy, Adam, Batch<64>, Single>, Plan<Mlp, CrossEntropy, Adam, Batch<64>, DataParallel<2>>>;

#ifdef HEDDLE_REPAIRED
const auto run = [](auto plan) { return devices<decltype(plan)>; };
#else
const auto run = [](auto plan) { return plan; };
#endif

int main() { with_plan<Set>(2, run); }
