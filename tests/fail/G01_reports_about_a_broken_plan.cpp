// SPDX-License-Identifier: MIT
// compilers: g++ clang++ clang++-14
// expect: \[heddle\.G01\] A layer takes another shape than the layer before it gives\.
// expect-g++: layer 2 `linear2`: Linear<60, 10> takes 60 features
#include "heddle/heddle.hpp"
#include "heddle/report/difference.hpp"
#include "heddle/report/summary.hpp"

using namespace heddle;

#ifdef HEDDLE_REPAIRED
using Head = Linear<50, 10>;
#else
using Head = Linear<60, 10>;
#endif

struct Mlp : Sequential<Named<"linear1", Linear<784, 50>>, ReLU, Named<"linear2", Head>> {};
template <class Policy> using Trained = Plan<Mlp, CrossEntropy, Adam, Batch<64>, Policy>;
struct Sound : Sequential<Linear<784, 10>> {};

static_assert(difference<Plan<Sound, CrossEntropy, Adam, Batch<64>, Single>, Trained<DataParallel<4>>>().memory() < 2_MB);

int main() { return summary<Trained<DataParallel<4>>>().size() + summary<Mlp>().size() > 100 ? 0 : 1; }
