// SPDX-License-Identifier: MIT
#include "heddle/plan/check/phase_flow.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "heddle/heddle.hpp"
#include "heddle/plan/check/check.hpp"
#include "plan/flow.hpp"

using namespace heddle;
using namespace heddle::tests;
using namespace heddle::plan_room;

namespace {

struct Images : Sequential<Linear<4, 12>, Unflatten<3, 2, 2>, BatchNorm2d<3, Synchronised>, GELU, Flatten, Linear<12, 2>> {};
template <class... Parts> using Of = Plan<Images, CrossEntropy, SGD, Batch<16, KeepLast>, Parts...>;
using Spread = Of<Hybrid<Sharded<2, OptimizerState>, DataParallel<2>>, Grain<2>>;
using Again = Of<DataParallel<2>, Recompute<BatchNorm2d<3, Synchronised>, GELU>>;

/// What the rule of values says with the `which`-th entry of a kind, of a body, changed.
template <class P, class Change> std::string changed(const IndexRange& body, BodyOp what, int which, Change change) {
  Copy copy{P::training};
  for (int e = body.begin; e < body.end; ++e)
    if (Entry& entry = copy.entries[static_cast<std::size_t>(e)]; entry.what == what && (entry.phase > 0) && which-- == 0) change(entry);
  REQUIRE(which < 0);
  return std::string{run_time::value_flow(copy.view()).sentence().view()};
}
template <class P, class Change> std::string forward(BodyOp what, int which, Change change) {
  return changed<P>(P::training.forward_bodies[0], what, which, change);
}
template <class P, class Change> std::string backward(BodyOp what, int which, Change change) {
  return changed<P>(P::training.backward_bodies[0], what, which, change);
}
constexpr auto gone = [](Entry& entry) { entry = no_entry(); };
bool contains(const std::string& text, const std::string& part) {
  CAPTURE(text);
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("what the lowering makes of phases flows as the description says") {
  for (const Program* p : {&Spread::training, &Spread::evaluation, &Again::training, &Of<Single>::training})
    CHECK(run_time::value_flow(*p).sentence().view() == "");
}

TEST_CASE("no sum between two phases may be missing, of grains or along an axis, forward or backward") {
  for (int which = 0; which < 2; ++which) {
    CHECK(contains(forward<Spread>(BodyOp::sum_grains, which, gone),
                   " what is not to be, or not yet: there lies what layer 2 tells between two phases"));
    CHECK(contains(forward<Spread>(BodyOp::reduce_phase, 2 * which, gone), " over ranks what is not to be, or not yet: "));
    CHECK(contains(
        forward<Spread>(BodyOp::reduce_phase, 2 * which + 1, gone),
        " reads in the forward of chunk 0 what all ranks told, but there lies what layer 2 tells between two phases, 3 elements a row, still "
        "to be summed over ranks, not whole on every rank."));
  }
  CHECK(contains(backward<Spread>(BodyOp::sum_grains, 0, gone), " has summed in the backward of chunk 0 over ranks what is not to be"));
  CHECK(contains(backward<Spread>(BodyOp::reduce_phase, 1, gone), " what all ranks told, but there lies "));
  CHECK(contains(forward<Of<Single, Grain<4>>>(BodyOp::sum_grains, 1, gone), ", still to be summed over grains, not whole"));
}

TEST_CASE("nor taken twice, along another axis, of another size, or only sometimes") {
  CHECK(contains(forward<Spread>(BodyOp::reduce_phase, 1, [](Entry& e) { e.axis = Axis::shard; }), " over ranks what is not to be"));
  CHECK(contains(forward<Spread>(BodyOp::reduce_phase, 0, [](Entry& e) { e.axis = Axis::data; }), " over ranks what is not to be"));
  CHECK(contains(forward<Spread>(BodyOp::reduce_phase, 0, [](Entry& e) { e.axis = Axis::tensor; }), " over ranks what is not to be"));
  CHECK(contains(forward<Spread>(BodyOp::reduce_phase, 0, [](Entry& e) { e.features = 2; }), " over ranks what is not to be"));
  CHECK(contains(forward<Spread>(BodyOp::sum_grains, 0, [](Entry& e) { e.d.offset += 64; }), " over grains what is not to be"));
  CHECK(contains(forward<Spread>(BodyOp::sum_grains, 0, [](Entry& e) { e.when = When::last_micro_batch; }), "S17"));
  CHECK(contains(forward<Spread>(BodyOp::reduce_phase, 0, [](Entry& e) { e.phase = 2; }), " over ranks what is not to be"));
}

TEST_CASE("phases run in their order, and each does what it is for") {
  CHECK(contains(forward<Spread>(BodyOp::leaf_forward, 0, [](Entry& e) { e.phase = 2; }), " what all ranks told, but there lies nothing."));
  CHECK(contains(forward<Spread>(BodyOp::leaf_forward, 1, [](Entry& e) { e.phase = 1; }), " what is not to be, or not yet: there lies nothing."));
  CHECK(contains(forward<Spread>(BodyOp::leaf_forward, 0, [](Entry& e) { e.phase = 0; }), " runs at once, or in a phase that it does not have, in"));
  CHECK(contains(forward<Spread>(BodyOp::leaf_forward, 2, [](Entry& e) { e.d = Place{}; }), " makes nothing in its last phase in"));
  CHECK(contains(forward<Spread>(BodyOp::leaf_forward, 2, [](Entry& e) { e.b = Place{}; }), " asks no other rank between its phases in"));
  CHECK(contains(forward<Spread>(BodyOp::leaf_forward, 0, [](Entry& e) { e.d = e.a; }), " writes before its last phase in"));
  CHECK(contains(forward<Spread>(BodyOp::leaf_forward, 0, [](Entry& e) { e.b = e.a; }), "S17"));
  CHECK(contains(backward<Spread>(BodyOp::leaf_backward_input, 0, [](Entry& e) { e.what = BodyOp::leaf_backward; }),
                 " makes gradients of parameters in a later phase in"));
  CHECK(contains(backward<Spread>(BodyOp::leaf_backward, 0, [](Entry& e) { e.b = Place{}; }), " what is not to be, or not yet: there lies nothing."));
}

TEST_CASE("what runs again asks nobody, and reads what was kept; what trains nothing has no phases") {
  CHECK(contains(backward<Again>(BodyOp::leaf_forward, 0, [](Entry& e) { e.b = {Place::scratch, 0}; }), " asks other ranks once more in"));
  CHECK(contains(backward<Again>(BodyOp::leaf_forward, 0, [](Entry& e) { e.e = Place{}; }), " what its phases have told, but there lies nothing"));
  Copy copy{Spread::evaluation};
  for (Entry& entry : copy.entries)
    if (entry.what == BodyOp::leaf_forward && entry.node == 2) entry.phase = 3;
  CHECK(contains(std::string{run_time::value_flow(copy.view()).sentence().view()}, " trains nothing, but runs in phases in"));
}

TEST_CASE("numbers of phases are those of the layer, before anything is read") {
  Copy copy{Spread::training};
  for (Entry& entry : copy.entries)
    if (entry.what == BodyOp::leaf_backward && entry.node == 2) entry.phase = 3;
  CHECK(contains(std::string{check(copy.view()).sentence().view()}, "[heddle.S20] entry "));
  CHECK(contains(std::string{check(copy.view()).sentence().view()}, " names phase 3, but what is there is 0 to 2."));
  Copy other{Spread::training};
  for (Entry& entry : other.entries)
    if (entry.what == BodyOp::leaf_forward && entry.node == 0) entry.phase = 1;
  CHECK(contains(std::string{check(other.view()).sentence().view()}, " names phase 1, but what is there is 0 to 0."));
}
