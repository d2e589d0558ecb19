// SPDX-License-Identifier: MIT
// Only types: this program is linked with heddle::heddle, so neither Eigen nor a thread library is needed.
#include <heddle/heddle.hpp>

using namespace heddle;

struct Model : Sequential<Named<"linear1", Linear<784, 50>>, ReLU, Named<"linear2", Linear<50, 10>>> {};
using Spread = Plan<Model, CrossEntropy, Adam, Batch<64, KeepLast>, DataParallel<4>>;

static_assert(parameters<Model> == 39'760);
static_assert(devices<Spread> == 4);

int main() { return 0; }
