// SPDX-License-Identifier: MIT
// expect: \[heddle\.S17\] What is read is not what the graph and the layout say\.
// expect-g++: layer 0 `0` Linear<8, 8> reads in the backward of chunk 0 the gradient of its output, but there lies a sum of other terms
#include <array>

#include "heddle/heddle.hpp"

using namespace heddle;
using namespace heddle::plan_room;

struct Skip : Sequential<Linear<8, 8>, Residual<Linear<8, 8>, ReLU>, Linear<8, 4>> {};
using Trained = Plan<Skip, CrossEntropy, Adam, Batch<64>, DataParallel<2>>;

// A gradient that is the sum of two: what the skipped layers hand back, and what goes past them.
#ifdef HEDDLE_REPAIRED
constexpr bool both = true;
#else
constexpr bool both = false;
#endif

constexpr const Program& made = extending::lower<Trained>();
constexpr auto entries = [] {
  std::array<Entry, made.backward_bodies[0].end> out{};
  for (std::size_t i = 0; i < out.size(); ++i) {
    out[i] = made.entries[i];
    if (!both && out[i].what == BodyOp::add && out[i].node < 0) out[i].b = out[i].a;
  }
  return out;
}();

constexpr Diagnosis find() {  // in a lambda clang 14 takes this for no constant expression
  std::uint64_t values[8]{}, gradients[8]{}, terms[8]{};
  FlowPool pools[pool_kinds + 2]{};
  FlowTensor tensors[2 * entries.size() + 2]{};
  FlowLeaf leaves[8]{};
  int written[8]{};
  Program p = made;
  p.entries = entries.data();
  DataFlow flow{{{p, {values, gradients, terms}, {pools, tensors, p.batch.grain_rows, p.batch.grains()}, leaves, written}}};
  flow.run();
  return flow.fault;
}
struct Changed {
  static constexpr Diagnosis found = find();
};
static_assert(sizeof(fired<Changed>) > 0);
