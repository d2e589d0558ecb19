// SPDX-License-Identifier: MIT
#include "heddle/plan/check/fused_pair.hpp"

#include <doctest/doctest.h>

#include "heddle/graph/layers/batch_norm.hpp"
#include "heddle/graph/layers/flatten.hpp"
#include "heddle/graph/layers/norm.hpp"
#include "heddle/plan/check/check.hpp"
#include "plan/flow.hpp"

using namespace heddle;
using namespace heddle::tests;

namespace {

constexpr auto flows = Code{'S', 17};
constexpr std::string_view takes_other = " may run at once with an entry that does not take what it makes piece by piece, in the ";
constexpr std::string_view written_over = " over what an entry still reads that may run at once with it";

struct Beside : Sequential<Linear<8, 6>, Linear<6, 6>, Residual<GELU>, LayerNorm<6>, Linear<6, 3>> {};
struct Images : Sequential<Input<2, 1, 2>, Residual<ReLU>, BatchNorm2d<2>, Flatten, Linear<4, 3>> {};

/// What check says with one entry changed: the one of this kind and layer.
template <class Change> Diagnosis changed(const Program& p, BodyOp what, int node, Change change) {
  Copy copy{p};
  bool found = false;
  for (Entry& entry : copy.entries)
    if (entry.what == what && entry.node == node && !found) {
      change(entry);
      found = true;
    }
  REQUIRE(found);
  return check(copy.view());
}
void fuse(Entry& entry) { entry.fused = true; }

}  // namespace

TEST_CASE("an entry runs at once only with one that takes what it makes, element by element, or row by row of a sum") {
  const Program& p = Trained<Beside, Single>::training;
  CHECK(check(p).ok());
  CHECK(refused_for(changed(p, BodyOp::leaf_forward, 0, fuse), flows, takes_other));   // 1 has parameters
  CHECK(refused_for(changed(p, BodyOp::leaf_forward, 2, fuse), flows, takes_other));   // a sum behind a function
  CHECK(refused_for(changed(p, BodyOp::leaf_forward, 5, fuse), flows, takes_other));   // the targets are loaded behind it
  CHECK(refused_for(changed(p, BodyOp::leaf_backward, 2, fuse), flows, takes_other));  // a sum of gradients
  CHECK(refused_for(changed(p, BodyOp::leaf_backward, 1, fuse), flows, takes_other));  // the layer behind it has parameters
  CHECK(refused_for(changed(p, BodyOp::leaf_backward, 0, fuse), flows, takes_other));  // nothing is behind it
  CHECK(refused_for(changed(p, BodyOp::load_input, -1, fuse), flows, takes_other));
  const Program& together = Trained<Images, Single>::training;
  CHECK(refused_for(changed(together, BodyOp::add, 2, fuse), flows, takes_other));  // a norm of all rows reads what is not there yet
}

TEST_CASE("an entry is in one pair, whole, and in no phase") {
  const Program& p = Trained<Chain, Single>::training;
  CHECK(refused_for(changed(p, BodyOp::leaf_forward, 1, fuse), flows, takes_other));
  CHECK(refused_for(changed(p, BodyOp::leaf_forward, 0, [](Entry& e) { (&e)[1].fused = true; }), flows, takes_other));
  CHECK(refused_for(changed(p, BodyOp::leaf_forward, 0, [](Entry& e) { std::swap(e, (&e)[1]); }), flows, ""));
}

TEST_CASE("what one of the pair writes is nothing that the other one still reads") {
  const Program& p = Trained<Beside, Single>::evaluation;  // layer 2 gives what lies where layer 1 has read
  CHECK(check(p).ok());
  CHECK(refused_for(changed(p, BodyOp::leaf_forward, 1, fuse), flows, written_over));
  // backward: the function before a layer gives its gradient where that layer has read the one of its output
  const Program& back = Trained<Chain, Single>::training;
  const Diagnosis found = changed(back, BodyOp::leaf_backward, 2, [](Entry& e) {
    REQUIRE(e.fused);
    (&e)[1].d = e.c;
    (&e)[2].c = e.c;
  });
  CHECK(refused_for(found, flows, written_over));
}

TEST_CASE("a norm may lie where a term of its sum did, row by row, and nowhere across it") {
  const Program& p = Trained<Beside, Single>::evaluation;
  int sum = p.forward_bodies[0].begin;
  while (p.entries[sum].what != BodyOp::add) ++sum;
  REQUIRE(p.entries[sum].fused);
  Copy copy{p};
  Entry& first = copy.entries[static_cast<std::size_t>(sum)];
  Entry& norm = copy.entries[static_cast<std::size_t>(sum) + 1];
  REQUIRE(norm.node == 4);
  Entry& reads = copy.entries[static_cast<std::size_t>(sum) + 2];
  CHECK(norm.d == first.b);
  norm.d.offset += 64;
  reads.a.offset += 64;
  CHECK(refused_for(check(copy.view()), flows, written_over));
}
