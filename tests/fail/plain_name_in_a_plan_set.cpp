// SPDX-License-Identifier: MIT
// mistake: `PlanSet<"alone", Mine>` for `PlanSet<Choice<"alone", Mine>>`
// compilers: g++ clang++ clang++-14
// expect-g++: 'template<class \.\.\. EntriesSuchAsChoiceOfNameAndPlan> struct heddle::plan_room::PlanSet'
// expect-clang: // types: Choice<"stages", MyPlan>, not "stages", MyPlan
#include "heddle/heddle.hpp"

using namespace heddle;

struct Net : Sequential<Linear<20, 32>, ReLU, Linear<32, 4>> {};
using Mine = Plan<Net, CrossEntropy, Adam, Batch<64>, Single>;
#ifdef HEDDLE_REPAIRED
using Any = PlanSet<Choice<"alone", Mine>>;
#else
using Any = PlanSet<"alone", Mine>;
#endif
