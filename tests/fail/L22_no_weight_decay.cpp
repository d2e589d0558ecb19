// SPDX-License-Identifier: MIT
// expect: \[heddle\.L22\] A group changes an option that the optimizer does not have\.
// expect-g++: NoDecay changes weight_decay, which the Options of Signs do not have\. Fix: drop NoDecay, or add weight_decay to them\.
#include "heddle/heddle.hpp"

using namespace heddle;
using namespace heddle::extending;

struct Signs {
  static constexpr int states = 0;
  struct Options {
    double learning_rate = 1e-3;
#ifdef HEDDLE_REPAIRED
    double weight_decay = 0;
#endif
  };
  struct Constants {
    float rate;
  };
  static constexpr std::string_view name() { return "Signs"; }
  static Constants constants(const Options& o, std::int64_t) { return {static_cast<float>(o.learning_rate)}; }
  static void update(const Constants& c, float& parameter, float gradient) { parameter -= gradient > 0 ? c.rate : -c.rate; }
  static Diagnosis check(const Options&) { return {}; }
};

struct Mlp : Sequential<Linear<784, 50>, ReLU, Linear<50, 10>> {};
using Trained = Plan<Mlp, CrossEntropy, Signs, Batch<64>, Single, NoDecay<>>;
static_assert(sizeof(Trained) > 0);
