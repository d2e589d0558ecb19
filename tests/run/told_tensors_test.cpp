// SPDX-License-Identifier: MIT
#include "heddle/run/told_tensors.hpp"

#include <doctest/doctest.h>

#include "heddle/heddle.hpp"
#include "heddle/seams/concepts.hpp"

using namespace heddle;
using namespace heddle::run_room;
using namespace heddle::seams_room;

namespace {

struct Images : Sequential<Linear<4, 12>, Unflatten<3, 2, 2>, BatchNorm2d<3, Synchronised>, GELU, Flatten, Linear<12, 2>> {};
template <int Rows, int GrainRows> using Of = Plan<Images, CrossEntropy, SGD, Batch<Rows>, Single, Grain<GrainRows>>;

Entry phase_of(const Program& p, int phase) {
  for (int e = p.forward_bodies[0].begin; e < p.forward_bodies[0].end; ++e)
    if (p.entries[e].what == BodyOp::leaf_forward && p.entries[e].phase == phase) return p.entries[e];
  return {};
}
void add(float* target, const float* a, const float* b, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) target[i] = a[i] + b[i];
}

}  // namespace

TEST_CASE("each grain tells in a line of its own, behind what was told before, and later phases see the first line") {
  const Program& p = Of<8, 2>::training;
  const Phases& phases = p.graph->leaf(2).forward_phases;
  RankTensors memory{p, Rank{0}};
  ToldTensors tensors{memory};
  ForwardCall first, second, other, last;
  tensors.tell(first, phase_of(p, 1), phases, 0);
  tensors.tell(second, phase_of(p, 1), phases, 3);
  CHECK(second.tells == first.tells + 3 * 16);
  tensors.tell(other, phase_of(p, 2), phases, 1);
  CHECK(other.told[0] == first.tells);
  CHECK(other.tells == first.tells + 4 * 16 + 16);
  tensors.tell(last, phase_of(p, 3), phases, 2);
  CHECK(last.tells == nullptr);
  CHECK(last.told[0] == first.tells);
  CHECK(last.told[1] == first.tells + 4 * 16);
  Entry again = phase_of(p, 3);
  again.b = Place{};
  ForwardCall alone;
  tensors.tell(alone, again, phases, 0);
  CHECK(alone.told == nullptr);
}

TEST_CASE("grains are added along the tree, the rest last, as gradients of so many grains are") {
  const auto sum = []<int Grains>(std::integral_constant<int, Grains>) {
    const Program& p = Of<2 * Grains, 2>::training;
    RankTensors memory{p, Rank{0}};
    ToldTensors tensors{memory};
    ForwardCall call;
    tensors.tell(call, phase_of(p, 1), p.graph->leaf(2).forward_phases, 0);
    for (int g = 0; g < Grains; ++g) call.tells[g * 16 + 2] = 1 / static_cast<float>(3 + g);
    Entry entry = phase_of(p, 1);
    entry.d = entry.b;
    entry.features = 3;
    tensors.sum_grains(entry, &add);
    return call.tells[2];
  };
  const auto term = [](int g) { return 1 / static_cast<float>(3 + g); };
  CHECK(sum(std::integral_constant<int, 4>{}) == (term(0) + term(1)) + (term(2) + term(3)));
  CHECK(sum(std::integral_constant<int, 7>{}) == ((term(0) + term(1)) + (term(2) + term(3))) + ((term(4) + term(5)) + term(6)));
  CHECK(sum(std::integral_constant<int, 6>{}) == ((term(0) + term(1)) + (term(2) + term(3))) + (term(4) + term(5)));
  CHECK(sum(std::integral_constant<int, 1>{}) == term(0));
}
