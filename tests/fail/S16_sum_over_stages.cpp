// SPDX-License-Identifier: MIT
// expect: \[heddle\.S16\] A collective is not within one stage, or a predicate depends on a rank\.
// expect-g++: of a body of chunk 0 is a collective over axis stage, of 2 ranks
#include <array>

#include "heddle/heddle.hpp"

using namespace heddle;
using namespace heddle::plan_room;

struct Mlp : Sequential<Linear<784, 50>, ReLU, Linear<50, 10>> {};
using Trained = Plan<Mlp, CrossEntropy, Adam, Batch<64>, Hybrid<Pipeline<Balanced<2>>, DataParallel<2>>>;

// A sum in the middle of a body, over ranks that run other bodies.
#ifdef HEDDLE_REPAIRED
constexpr Axis along = axis::data;
#else
constexpr Axis along = axis::stage;
#endif

constexpr const Program& made = extending::lower<Trained>();
constexpr auto entries = [] {
  std::array<Entry, (made.backward_bodies[0].end > made.backward_bodies[1].end ? made.backward_bodies[0] : made.backward_bodies[1]).end> out{};
  for (std::size_t i = 0; i < out.size(); ++i) {
    out[i] = made.entries[i];
    if (out[i].what == BodyOp::reduce_start) out[i].axis = along;
  }
  return out;
}();

struct Changed {
  static constexpr Diagnosis found = [] {
    Program p = made;
    p.entries = entries.data();
    return check_same_on_ranks(p);
  }();
};
static_assert(sizeof(fired<Changed>) > 0);
