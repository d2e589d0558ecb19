// SPDX-License-Identifier: MIT
#include "heddle/plan/lower/phase_writer.hpp"

#include <doctest/doctest.h>

#include <string>

#include "heddle/heddle.hpp"
#include "heddle/plan/lower/recompute.hpp"
#include "heddle/plan/read/work.hpp"

using namespace heddle;
using namespace heddle::plan_room;

namespace {

struct Images : Sequential<Linear<4, 12>, Unflatten<3, 2, 2>, BatchNorm2d<3, Synchronised>, GELU, Flatten, Linear<12, 2>> {};
template <class... Parts> using Of = Plan<Images, CrossEntropy, SGD, Batch<16, KeepLast>, Parts...>;

/// Entries of the norm in a body, by a letter each: forward, backward with parameters, backward of the input, backward of parameters, sums of
/// grains and of ranks, with their phases.
std::string told(const Program& p, const IndexRange& body) {
  std::string all;
  for (int e = body.begin; e < body.end; ++e) {
    const Entry& entry = p.entries[e];
    if (entry.node != 2) continue;
    const char letter = entry.what == BodyOp::leaf_forward           ? 'f'
                        : entry.what == BodyOp::leaf_backward        ? 'b'
                        : entry.what == BodyOp::leaf_backward_input  ? 'i'
                        : entry.what == BodyOp::leaf_backward_weight ? 'w'
                        : entry.what == BodyOp::sum_grains           ? 'g'
                        : entry.what == BodyOp::reduce_phase         ? name_of(entry.axis)[0]
                                                                     : ' ';
    if (letter != ' ') all += std::string{letter} + std::to_string(int{entry.phase}) + ' ';
  }
  return all;
}
template <class P> std::string forward() { return told(P::training, P::training.forward_bodies[0]); }
template <class P> std::string backward() { return told(P::training, P::training.backward_bodies[0]); }

}  // namespace

TEST_CASE("between phases stand a sum over grains, where there are some, and a reduction along each axis that splits the batch, shard before data") {
  CHECK(forward<Of<Single>>() == "f1 f2 f3 ");
  CHECK(forward<Of<Single, Grain<4>>>() == "f1 g1 f2 g2 f3 ");
  CHECK(forward<Of<DataParallel<2>>>() == "f1 d1 f2 d2 f3 ");
  CHECK(forward<Of<Hybrid<DataParallel<2>, Sharded<2>>, Grain<2>>>() == "f1 g1 s1 d1 f2 g2 s2 d2 f3 ");
  CHECK(told(Of<DataParallel<2>>::evaluation, Of<DataParallel<2>>::evaluation.forward_bodies[0]) == "f0 ");
}

TEST_CASE("the first phase of a backward makes gradients of parameters, the last that of the input; parts of a backward divide them") {
  CHECK(backward<Of<DataParallel<2>>>() == "b1 d1 i2 ");
  using Halves = Of<Hybrid<Pipeline<Stage<Sequential<Linear<4, 12>, Unflatten<3, 2, 2>, BatchNorm2d<3, Synchronised>>>,
                                    Stage<Sequential<GELU, Flatten, Linear<12, 2>>>, ZeroBubbleH1, Microbatches<2>>,
                           DataParallel<2>>>;
  CHECK(backward<Halves>() == "i1 d1 i2 ");
  CHECK(told(Halves::training, Halves::training.weight_bodies[0]) == "w1 ");
  struct Front : Sequential<Input<3, 2, 2>, BatchNorm2d<3, Synchronised>, Flatten, Linear<12, 2>> {};
  using First = Plan<Front, CrossEntropy, SGD, Batch<16>, DataParallel<2>>;
  int asked = 0;
  for (int e = First::training.backward_bodies[0].begin; e < First::training.backward_bodies[0].end; ++e)
    asked += First::training.entries[e].what == BodyOp::reduce_phase ? 1 : 0;
  CHECK(asked == 0);  // nobody needs the gradient of the input
}

TEST_CASE("what runs again is its last phase alone, which reads what was kept") {
  using Again = Of<DataParallel<2>, Recompute<BatchNorm2d<3, Synchronised>, GELU>>;
  CHECK(forward<Again>() == "f1 d1 f2 d2 f3 ");
  CHECK(backward<Again>() == "f3 b1 d1 i2 ");
  const Program& p = Again::training;
  for (int e = p.backward_bodies[0].begin; e < p.backward_bodies[0].end; ++e)
    if (const Entry& entry = p.entries[e]; entry.what == BodyOp::leaf_forward && entry.node == 2) {
      CHECK_FALSE(entry.b.set());
      CHECK(entry.e.pool >= 0);
    }
  CHECK(traffic<Again>().phases().total_payload.value == traffic<Of<DataParallel<2>>>().phases().total_payload.value);
}

TEST_CASE("what is told is counted: floats between ranks, operations once, and the time that it takes") {
  using Two = Of<DataParallel<2>>;
  static_assert(traffic<Two>().phases().total_payload == Bytes{2 * 1 * 4 * (3 + 3 + 6)});  // twice round a ring of two, one micro-batch
  static_assert(traffic<Two>().phases().messages == 3 * 2 * 2);
  static_assert(traffic<Of<DataParallel<2>, Accumulate<2>>>().phases().total_payload == traffic<Two>().phases().total_payload * 2);
  static_assert(traffic<Of<Single>>().phases().total_payload == Bytes{0});
  static_assert(traffic<Two>().total() == traffic<Two>().gradients().on(axis::data).total_payload + traffic<Two>().phases().total_payload);
  CHECK(traffic<Two>().sent_in_phases(Rank{0}).value > 0);
  CHECK(flops_of(Two::training, Two::training.forward_bodies[0]) == flops_of(Of<Single>::training, Of<Single>::training.forward_bodies[0]));
  CHECK(flops_of(Two::training, Two::training.backward_bodies[0]) == flops_of(Of<Single>::training, Of<Single>::training.backward_bodies[0]));
}
