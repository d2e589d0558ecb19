// SPDX-License-Identifier: MIT
#include "heddle/plan/lower/layout_check.hpp"

#include <doctest/doctest.h>

#include <string>

#include "heddle/graph/branches.hpp"
#include "heddle/graph/layers/attention.hpp"
#include "heddle/graph/layers/input.hpp"
#include "heddle/graph/tied.hpp"
#include "heddle/plan/lowered.hpp"
#include "heddle/policy/sharded.hpp"
#include "heddle/policy/tensor_parallel.hpp"
#include "heddle/policy/weighted_data_parallel.hpp"
#include "plan/plans.hpp"

using namespace heddle;
using namespace heddle::tests;

namespace {

template <int S, class Order, int M = 4> using In = Pipeline<Balanced<S>, Order, Microbatches<M>>;

struct Attending : Sequential<Input<3, 4>, Linear<4, 12>, SelfAttention<Heads<2>>, Linear<4, 5>> {};

struct Beside : Sequential<Linear<5, 8>, Branches<Add, Linear<8, 6>, Linear<8, 6, NoBias>>, Linear<6, 5>> {};

/// The sentence about the layout of a plan after a change; lower(request) says the same.
template <class ThePlan, class Change> std::string refused(Change change) {
  LoweringRequest request = request_of<ThePlan>();
  CHECK(check_layout(request.graph, request.layout).ok());
  change(request.layout);
  const Diagnosis found = check_layout(request.graph, request.layout);
  CHECK(lower(request).fault().sentence().view() == found.sentence().view());
  return std::string{found.sentence().view()};
}
[[nodiscard]] bool begins(const std::string& text, const char* words) { return text.find(words) == 0; }

using Two = Trained<Chain, Back>;  // chunks on devices 0, 1, 0

struct Even : Repeat<8, Linear<8, 8>> {};

/// A policy of one's own that answers as Pipeline would, but for the device of its second chunk.
template <int Second> struct Halved {
  static constexpr void answer(const Graph&, Layout& layout) {
    layout.chunk_count = 2;
    layout.first_node[1] = 2;
    layout.first_node[2] = 5;
    layout.device_of_chunk[1] = Second;
    layout.in_flight[1] = 1;
    layout.claim(axis::stage, 2);
  }
};

}  // namespace

TEST_CASE("a device that is not there, cuts that go back, and layers in no chunk are refused with the numbers") {
  CHECK(refused<Two>([](Layout& l) { l.device_of_chunk[1] = 7; }) ==
        "[heddle.M15] chunk 1 of 3 is on device 7, but axis stage has 2 devices. Fix: number devices from 0 to 1.");
  CHECK(begins(refused<Two>([](Layout& l) { l.device_of_chunk[1] = -1; }), "[heddle.M15] chunk 1 of 3 is on device -1"));
  CHECK(begins(refused<Two>([](Layout& l) { l.device_of_chunk[1] = 0; }), "[heddle.M15] device 1 of the 2 on axis stage holds none"));
  for (const int first : {9, 0, -1, 4}) CHECK(begins(refused<Two>([&](Layout& l) { l.first_node[1] = first; }), "[heddle.M15] chunk "));
  CHECK(refused<Two>([](Layout& l) { l.first_node[1] = 9; }) ==
        "[heddle.M15] chunk 1 of 3 begins with layer 9 and ends before layer 4. Fix: give it at least one layer; first_node rises from chunk to "
        "chunk.");
  CHECK(
      begins(refused<Two>([](Layout& l) { l.first_node[3] = 4; }), "[heddle.M15] the 3 chunks hold layers 0 to 4, but the graph has layers 0 to 5"));
  CHECK(begins(refused<Two>([](Layout& l) { l.first_node[0] = 1; }), "[heddle.M15] the 3 chunks hold layers 1 to 5"));
  CHECK(begins(refused<Two>([](Layout& l) { l.chunk_count = 0; }), "[heddle.M15] a layout has 0 chunks"));
  CHECK(begins(refused<Two>([](Layout& l) { l.chunk_count = 65; }), "[heddle.S14]"));
}

TEST_CASE("axes, shares and slices of no policy are refused") {
  using Sliced = Trained<Chain, Hybrid<Sharded<2, Gradients>, DataParallel<2>>>;
  CHECK(begins(refused<Sliced>([](Layout& l) { l.mesh.count = 9; }), "[heddle.M10]"));
  CHECK(begins(refused<Sliced>([](Layout& l) { l.mesh.axes[0] = static_cast<Axis>(77); }), "[heddle.M10] axis 0 of a mesh is number 77"));
  CHECK(begins(refused<Sliced>([](Layout& l) { l.mesh.axes[0] = axis::data; }), "[heddle.M01]"));
  CHECK(
      begins(refused<Sliced>([](Layout& l) { l.batch_split[static_cast<int>(axis::tensor)] = true; }), "[heddle.M15] axis tensor splits the batch"));
  CHECK(begins(refused<Sliced>([](Layout& l) { l.batch_split[static_cast<int>(axis::data)] = false; }),
               "[heddle.M15] the 2 ranks of axis data take the same"));
  CHECK(begins(refused<Sliced>([](Layout& l) { l.storage_axis = axis::tensor; }), "[heddle.M15] units are sliced along axis tensor"));
  const auto along_data = [](Layout& l) {
    if (l.mesh.size(axis::data) == 1) l.claim(axis::data, 2);
    l.splits_batch(axis::data);
    l.storage_axis = axis::data;
  };
  CHECK(begins(refused<Sliced>(along_data), "[heddle.M15] units are sliced along axis data, but gradients are summed along axis shard before"));
  CHECK(begins(refused<Sliced>([](Layout& l) { l.mesh.sizes[0] = 3; }), "[heddle.M05] axis shard has size 3"));
  CHECK(begins(refused<Sliced>([](Layout& l) { l.sharding.states = false; }), "[heddle.M15] parameters or gradients are sliced"));
  CHECK(begins(refused<Sliced>([](Layout& l) { l.sharding.keeps = true; }), "[heddle.M08]"));
  using Uneven = Trained<Chain, WeightedDataParallel<3, 1>>;
  CHECK(begins(refused<Uneven>([](Layout& l) { l.share_count = 17; }), "[heddle.M07] 17 shares"));
  CHECK(begins(refused<Uneven>([](Layout& l) { l.share_count = 1; }), "[heddle.M07] 1 shares of the batch are named for the 2 ranks"));
  CHECK(begins(refused<Uneven>([](Layout& l) { l.shares[1] = 0; }), "[heddle.M07] replica 1 has share 0"));
}

TEST_CASE("an order by which a step would never end is refused, whoever answers it") {
  CHECK(begins(refused<Two>([](Layout& l) { l.micro_batches = 0; }), "[heddle.S02]"));
  CHECK(begins(refused<Two>([](Layout& l) { l.in_flight[2] = 0; }), "[heddle.M15] sequential lets chunk 2 have 0 micro-batches in flight"));
  CHECK(begins(refused<Trained<Chain, In<2, GPipe>>>([](Layout& l) { l.in_flight[0] = 3; }), "[heddle.M15] GPipe lets chunk 0 have 3"));
  CHECK(begins(refused<Trained<Chain, In<2, OneFOneB>>>([](Layout& l) { l.order.splits_backward = true; }), "[heddle.M15] 1F1B splits the backward"));
  using Turned = Trained<Skips, In<2, Interleaved<2>>>;
  CHECK(begins(refused<Turned>([](Layout& l) { l.order.forwards_first = true; }), "[heddle.M15] Interleaved takes turns, and all forwards first"));
  CHECK(begins(refused<Turned>([](Layout& l) { l.order.splits_backward = true; }), "[heddle.M15] Interleaved splits the backward and gives each"));
  CHECK(begins(refused<Turned>([](Layout& l) { l.micro_batches = 3; }), "[heddle.S08]"));
  CHECK(begins(refused<Turned>([](Layout& l) { l.turns[1].in_flight = 2; }), "[heddle.M15] Interleaved lets device 1 have 2 chunk passes in flight"));
  CHECK(begins(refused<Turned>([](Layout& l) { l.turns[0].in_flight = 8; }), "[heddle.M15] Interleaved lets device 0 have 8"));
  CHECK(
      begins(refused<Turned>([](Layout& l) { l.device_of_chunk[2] = 1, l.device_of_chunk[3] = 0; }), "[heddle.M15] Interleaved takes the 2 devices"));
  CHECK(begins(refused<Trained<Skips, In<2, ZeroBubbleH1>>>([](Layout& l) { l.turns[1].delayed = -1; }), "[heddle.M15] ZeroBubbleH1 lets device 1"));
}

TEST_CASE("turns that are accepted end: every number of passes in flight that the rule lets through") {
  int accepted = 0;
  for (const auto& request : {request_of<Trained<Skips, In<2, Interleaved<2>>>>(), request_of<Trained<Skips, In<4, ZeroBubbleH1>>>(),
                              request_of<Trained<Even, In<3, Interleaved<2>, 3>>>()})
    for (int i = 0; i < 4'096; ++i) {
      LoweringRequest asked = request;
      for (int d = 0; d < asked.layout.roles(); ++d) {
        asked.layout.turns[d].in_flight = 1 + (i >> (3 * d) & 7);
        asked.layout.turns[d].delayed = i % 3;
      }
      if (!check_layout(asked.graph, asked.layout).ok()) continue;
      ++accepted;
      CHECK(std::string{check(lower(asked)).sentence().view()} == "");
    }
  CHECK(accepted > 200);
}

TEST_CASE("split layers of no policy are refused") {
  using Split = Trained<Chain, TensorParallel<2>>;
  CHECK(begins(refused<Split>([](Layout& l) { l.signature[0] = 5; }), "[heddle.M15] Linear<8, 6> is split by signature 4, but it states "));
  CHECK(begins(refused<Split>([](Layout& l) { l.laid_between[0].code = 3; }), "[heddle.M15] the output of Linear<8, 6> is to lie"));
  CHECK(begins(refused<Split>([](Layout& l) { l.laid_between[0] = laid::partial; }), "[heddle.M15] the output of Linear<8, 6> is to lie"));
  CHECK(begins(refused<Split>([](Layout& l) { l.laid_between[0] = laid::shard(0, 2); }),
               "[heddle.P01] axis tensor of size 2 cannot split the 3 features"));
  CHECK(begins(refused<Split>([](Layout& l) { l.mesh.sizes[0] = 4; }), "[heddle.P01] axis tensor of size 4 cannot split the "));
}

TEST_CASE("what lies in sections is given and taken so: no policy may let it be gathered, or cut") {
  using Split = Trained<Attending, TensorParallel<2>>;
  static_assert(RequestOf<Split>::layout.laid_between[1] == laid::shard(1, 3));
  CHECK(refused<Split>([](Layout& l) { l.laid_between[1] = laid::shard(1); }) ==
        "[heddle.M15] SelfAttention<Heads<2>> takes its input Shard<1> in sections 1:1:1, but it lies Shard<1>: nothing is gathered or cut in "
        "sections. "
        "Fix: let it lie as it is taken.");
  CHECK(refused<Split>([](Layout& l) { l.laid_between[1] = laid::replicate; }).find("but it lies Replicate: nothing is gathered") !=
        std::string::npos);
  CHECK(refused<Split>([](Layout& l) { l.signature[2] = 0; }).find("takes its input Replicate, but it lies Shard<1> in sections 1:1:1") !=
        std::string::npos);
  CHECK(
      refused<Split>([](Layout& l) { l.laid_between[2] = laid::shard(1, 2); }) ==
      "[heddle.M15] SelfAttention<Heads<2>> gives its output Shard<1>, but it is to lie between layers Shard<1> in sections 1:1: nothing is gathered "
      "or cut in sections. Fix: let it lie as it is given.");
}

TEST_CASE("every reader of a value leaves a term of its gradient where that is to be summed once, and the loss leaves none") {
  using Split = Trained<Beside, TensorParallel<2>>;
  static_assert(RequestOf<Split>::layout.laid_between[0] == laid::terms_back);
  CHECK(refused<Split>([](Layout& l) { l.signature[2] = 0; }) ==
        "[heddle.M15] Linear<8, 6, NoBias> takes its input Replicate and gives a gradient of it Replicate, but the value lies Replicate with terms "
        "of its "
        "gradient, which every reader leaves as a term. Fix: let it lie Replicate.");
  CHECK(begins(refused<Split>([](Layout& l) { l.laid_between[3] = laid::terms_back; }), "[heddle.M15] "));
  CHECK(begins(refused<Split>([](Layout& l) { l.laid_between[4] = laid::terms_back; }),
               "[heddle.M15] the output lies Replicate with terms of its gradient, but the loss leaves no terms."));
  LoweringRequest whole = request_of<Split>();
  whole.layout.laid_between[0] = laid::replicate;  // each reader then has its own sum
  CHECK((check_layout(whole.graph, whole.layout).ok() && lower(whole).fault().ok()));
}

TEST_CASE("a policy of one's own is asked at build what a layout that is data is asked") {
  static_assert(check<Trained<Chain, Halved<1>>>().ok());
  static_assert(RequestOf<Trained<Chain, Halved<7>>>::answered.fault.code == Code{'M', 15});
  CHECK(RequestOf<Trained<Chain, Halved<7>>>::answered.fault.sentence().view() ==
        "[heddle.M15] chunk 1 of 2 is on device 7, but axis stage has 2 devices. Fix: number devices from 0 to 1.");
}
