// SPDX-License-Identifier: MIT
// expect: \[heddle\.S13\] An overflow that one rank sees is not known to all before the step\.
// expect-g++: device 0 skips by a flag that is not reduced over axis stage\. Fix: reduce gradients, unscale them
#include <array>

#include "heddle/heddle.hpp"

using namespace heddle;
using namespace heddle::plan_room;

struct Mlp : Sequential<Linear<784, 50>, ReLU, Linear<50, 10>> {};
using Trained = Plan<Mlp, CrossEntropy, Adam, Batch<64>, LossScaling, Pipeline<Balanced<2>>>;

// Megatron-Bridge PR #5591: an overflow in one stage of a pipeline, where each stage looks at its own flag.
#ifdef HEDDLE_REPAIRED
constexpr bool shared = true;
#else
constexpr bool shared = false;
#endif

constexpr auto lines = [] {
  constexpr const Program& made = extending::lower<Trained>();
  std::array<Instruction, made.lists[made.roles - 1].end> out{};
  for (std::size_t i = 0; i < out.size(); ++i) {
    out[i] = made.instructions[i];
    if (!shared && made.moves(out[i], Purpose::norm)) out[i].op = ListOp::report;
  }
  return out;
}();

struct Changed {
  static constexpr Diagnosis found = [] {
    Program p = extending::lower<Trained>();
    p.instructions = lines.data();
    return check_loss_scaling(p);
  }();
};
static_assert(sizeof(fired<Changed>) > 0);
