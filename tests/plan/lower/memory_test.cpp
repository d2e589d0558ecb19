// SPDX-License-Identifier: MIT
#include "heddle/plan/lower/memory.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "heddle/graph/frozen.hpp"
#include "heddle/graph/losses/mean_squared_error.hpp"
#include "heddle/plan/inference.hpp"
#include "heddle/plan/read/ledger.hpp"
#include "heddle/policy/sharded.hpp"
#include "heddle/policy/tensor_parallel.hpp"
#include "plan/plans.hpp"

using namespace heddle;
using namespace heddle::tests;

namespace {

/// When a slot of a pool is mentioned by one role's list, first and last: read off the bodies and the transfers, not off the allocator.
struct Life {
  int begin = 0;
  int end = 0;
};
using Lives = std::map<std::pair<int, int>, Life>;  // pool, micro-batch

void mention(Lives& lives, const Place& place, int micro_batch, int at) {
  if (place.pool < 0) return;
  const auto [life, fresh] = lives.try_emplace({place.pool, micro_batch}, Life{at, at});
  life->second.end = at;
}

Lives lives_of(const Program& p, int role) {
  Lives lives;
  for (int i = p.lists[role].begin; i < p.lists[role].end; ++i) {
    const Instruction& line = p.instructions[i];
    if (computes(line.op)) {
      const IndexRange& body = p.body(line);
      for (int e = body.begin; e < body.end; ++e)
        for (const Place& place : {p.entries[e].a, p.entries[e].b, p.entries[e].c, p.entries[e].d}) mention(lives, place, line.micro_batch, i);
    } else if (line.op == ListOp::send_start || line.op == ListOp::send_wait) {
      mention(lives, p.transfers[line.transfer].source, line.micro_batch, i);
    } else if (line.op == ListOp::receive_start || line.op == ListOp::receive_wait) {
      mention(lives, p.transfers[line.transfer].target, line.micro_batch, i);
    }
  }
  return lives;
}

bool aligned(std::int64_t bytes) { return bytes % 64 == 0; }

/// No two slots that are alive at one time share a byte; each pool has as many slots as are alive at most.
void slots_are_exclusive(const Program& p, int role) {
  const Lives lives = lives_of(p, role);
  std::map<int, int> most;
  for (const auto& [one, life] : lives) {
    const Pool& pool = p.pools[one.first];
    const std::int64_t begin = pool.base + p.slot(one.first, one.second) * pool.slot_bytes;
    CHECK(pool.role == role);
    CHECK(p.slot(one.first, one.second) < pool.slots);
    CHECK((begin >= p.arenas[role][RegionKind::pools].begin && begin + pool.slot_bytes <= p.arenas[role][RegionKind::scratch].begin));
    int together = 0;
    for (const auto& [other, other_life] : lives) {
      if (other_life.begin > life.begin || other_life.end < life.begin) continue;  // not alive when this one begins
      together += other.first == one.first ? 1 : 0;
      if (other == one) continue;
      const Pool& its = p.pools[other.first];
      const std::int64_t its_begin = its.base + p.slot(other.first, other.second) * its.slot_bytes;
      CHECK((begin + pool.slot_bytes <= its_begin || its_begin + its.slot_bytes <= begin));
    }
    most[one.first] = std::max(most[one.first], together);
  }
  for (const auto& [pool, together] : most) CHECK(p.pools[pool].slots == together);
}

/// What an entry writes lies inside its slot or the scratch, at a multiple of 64 bytes.
void writes_are_inside(const Program& p, int role) {
  for (int c = 0; c < p.chunks; ++c) {
    if (p.device_of_chunk[c] != role) continue;
    for (const IndexRange& body : {p.forward_bodies[c], p.backward_bodies[c], p.weight_bodies[c]})
      for (int e = body.begin; e < body.end; ++e) {
        const Entry& entry = p.entries[e];
        for (const Place& place : {entry.a, entry.b, entry.c, entry.d}) CHECK(aligned(place.offset));
        if (!entry.d.set()) continue;
        const bool back = entry.what == BodyOp::leaf_backward || entry.what == BodyOp::leaf_backward_input;
        const bool part = entry.what == BodyOp::scatter_value || entry.what == BodyOp::slice_value;
        const std::int64_t features = back ? p.graph->leaf(entry.node).in.elements() : entry.features / (part ? p.graph->split.ranks : 1);
        const std::int64_t bytes = 4 * p.grain_stride(features) * p.batch.grains();
        const ArenaMap& map = p.arenas[role];
        const std::int64_t room = entry.d.pool == Place::scratch ? map[RegionKind::scratch].bytes() : p.pools[entry.d.pool].slot_bytes;
        CHECK((features > 0 && entry.d.offset >= 0 && entry.d.offset + bytes <= room));
      }
  }
}

void regions_follow_one_another(const Program& p, int role, int states) {
  const ArenaMap& map = p.arenas[role];
  std::int64_t end = 0;
  for (const Region& region : map.regions) {
    CHECK((aligned(region.begin) && aligned(region.slot_bytes)));
    CHECK(region.begin == end);
    end = region.end();
  }
  CHECK(map.total == end);
  const Storage& kept = p.storage;
  std::int64_t flat = 0;
  std::int64_t largest = 0;
  for (int b = 0; b < p.bucket_count; ++b)
    if (p.buckets[b].role == role) {
      flat = std::max(flat, 4 * p.buckets[b].end());
      largest = std::max(largest, 4 * p.buckets[b].elements);
    }
  CHECK(4 * map.flat_elements() == flat);
  CHECK(map[RegionKind::parameters].bytes() == flat / kept.parameter_parts());
  CHECK(map[RegionKind::gathered].bytes() == (kept.keeps ? flat : kept.parameters ? 2 * largest : 0));
  CHECK(map[RegionKind::gradients].bytes() == flat / kept.gradient_parts() * p.batch.levels());
  CHECK(map[RegionKind::fresh].bytes() == (kept.gradients ? 2 * largest : 0));
  CHECK(map[RegionKind::arrived].bytes() == (kept.adds_slices ? 2 * largest / kept.parts : 0));
  CHECK(map[RegionKind::states].bytes() == flat / kept.state_parts() * states);
  if (role == p.loss_role()) CHECK(map[RegionKind::losses].bytes() >= 4 * (p.batch.rank_grains() + 1));
}

template <class ThePlan> void every_tensor_has_its_place() {
  for (const Program* p : {&training_of<ThePlan>(), &evaluation_of<ThePlan>()})
    for (int role = 0; role < p->roles; ++role) {
      CAPTURE(role);
      slots_are_exclusive(*p, role);
      writes_are_inside(*p, role);
      regions_follow_one_another(*p, role, Adam::states);
    }
}

template <class Model, class Stages, class... Options>
using Parts = Plan<Model, MeanSquaredError, Adam, Batch<8>, Hybrid<TensorParallel<2, SequenceParallel>, Stages>, Options...>;

}  // namespace

TEST_CASE("no two tensors that are alive at the same time overlap: two and three stages, both orders") {
  every_tensor_has_its_place<Trained<Chain, Single>>();
  every_tensor_has_its_place<Trained<Chain, Pipeline<Balanced<2>, GPipe, Microbatches<2>>>>();
  every_tensor_has_its_place<Trained<Chain, Pipeline<Balanced<2>, OneFOneB, Microbatches<8>>>>();
  every_tensor_has_its_place<Trained<Chain, Pipeline<Balanced<3>, GPipe, Microbatches<4>>, Grain<2>>>();
  every_tensor_has_its_place<Trained<Chain, Pipeline<Balanced<3>, OneFOneB, Microbatches<8>>>>();
  every_tensor_has_its_place<Trained<Chain, Pipeline<Balanced<3>, Microbatches<4>>>>();
}

TEST_CASE("no two tensors that are alive at the same time overlap: the third part back on device 0") {
  every_tensor_has_its_place<Trained<Chain, Back>>();
  every_tensor_has_its_place<Trained<Chain, BackIn<GPipe, 4>>>();
  every_tensor_has_its_place<Trained<Chain, BackIn<OneFOneB, 4>>>();
  every_tensor_has_its_place<Trained<Chain, BackIn<OneFOneB, 3>, Accumulate<2>>>();
}

TEST_CASE("no two tensors that are alive at the same time overlap: residuals and rounds") {
  every_tensor_has_its_place<Trained<Skips, Pipeline<Balanced<2>, OneFOneB, Microbatches<4>>, Accumulate<2>>>();
  every_tensor_has_its_place<Trained<Skips, Pipeline<Balanced<3>, GPipe, Microbatches<4>>, Accumulate<2>>>();
  every_tensor_has_its_place<Trained<Skips, Hybrid<Pipeline<Balanced<3>, OneFOneB, Microbatches<8>>, DataParallel<2>>>>();
}

TEST_CASE("no two tensors that are alive at the same time overlap: slices") {
  every_tensor_has_its_place<Trained<Skips, Sharded<2>>>();
  every_tensor_has_its_place<Trained<Skips, Hybrid<Sharded<2, Gradients>, DataParallel<2>>, Accumulate<2>>>();
  every_tensor_has_its_place<Trained<Skips, Hybrid<Pipeline<Balanced<2>, OneFOneB, Microbatches<4>>, Sharded<2>>>>();
  every_tensor_has_its_place<Trained<Skips, Sharded<4, OptimizerState>, Grain<2>>>();
  every_tensor_has_its_place<Trained<Skips, Hybrid<Pipeline<Balanced<2>, Interleaved<2>, Microbatches<4>>, Sharded<2, Keep::Step>>>>();
  every_tensor_has_its_place<Trained<Skips, Hybrid<Pipeline<Balanced<2>, ZeroBubbleH1, Microbatches<4>>, Sharded<2>>>>();
  every_tensor_has_its_place<Trained<Skips, Hybrid<Sharded<2, Gradients>, Pipeline<Balanced<3>, ZeroBubbleH1, Microbatches<4>>>, Grain<2>>>();
}

TEST_CASE("no two tensors that are alive at the same time overlap: interleaved stages, and what lives until a weight part has run") {
  every_tensor_has_its_place<Trained<Chain, Pipeline<Balanced<2>, Interleaved<2>, Microbatches<4>>>>();
  every_tensor_has_its_place<Trained<Skips, Hybrid<Pipeline<Balanced<2>, Interleaved<2>, Microbatches<2>>, DataParallel<2>>, Accumulate<2>>>();
  every_tensor_has_its_place<Trained<Skips, Pipeline<Balanced<1>, Interleaved<3>, Microbatches<4>>>>();
  every_tensor_has_its_place<Trained<Chain, Pipeline<Balanced<3>, ZeroBubbleH1, Microbatches<8>>>>();
  every_tensor_has_its_place<Trained<Chain, Pipeline<Balanced<5>, ZeroBubbleH1, Microbatches<8>>>>();  // two stages without parameters
  every_tensor_has_its_place<Trained<Skips, Pipeline<Balanced<3>, ZeroBubbleH1, Microbatches<4>>, Accumulate<2>>>();
  every_tensor_has_its_place<Trained<Skips, Hybrid<Pipeline<Balanced<4>, ZeroBubbleH1, Microbatches<4>>, DataParallel<2>>>>();
}

TEST_CASE("no two tensors that are alive at the same time overlap: what runs again") {
  every_tensor_has_its_place<Trained<Skips, Single, Recompute<GELU, Only<"1">>>>();
  every_tensor_has_its_place<Trained<Skips, Pipeline<Balanced<3>, OneFOneB, Microbatches<8>>, Recompute<GELU, Tanh>>>();
  every_tensor_has_its_place<Trained<Skips, Pipeline<Balanced<3>, ZeroBubbleH1, Microbatches<4>>, Recompute<GELU, Tanh>, Accumulate<2>>>();
}

TEST_CASE("parts that are gathered again live until the backward, or its part, that reads them") {
  struct Steps : Sequential<Input<4, 8>, Linear<8, 8>, Residual<Linear<8, 16>, Tanh, Linear<16, 8>>, Residual<Linear<8, 16>, Linear<16, 8>>> {};
  using Whole = Pipeline<Balanced<2>, OneFOneB, Microbatches<4>>;
  using Split = Pipeline<Balanced<2>, ZeroBubbleH1, Microbatches<4>>;
  every_tensor_has_its_place<Parts<Steps, Whole>>();
  every_tensor_has_its_place<Parts<Steps, Split>>();
  every_tensor_has_its_place<Parts<Steps, Whole, Recompute<Tanh, Linear<8, 16>>>>();
  every_tensor_has_its_place<Parts<Steps, Split, Recompute<Tanh, Linear<8, 16>>>>();
  // A stage whose one layer with parameters reads nothing else that is kept.
  struct Lone : Sequential<Input<4, 8>, Linear<8, 8>, Residual<Linear<8, 8>>, Residual<Linear<8, 8>>, Linear<8, 4>> {};
  every_tensor_has_its_place<Parts<Lone, Pipeline<Balanced<4>, ZeroBubbleH1, Microbatches<4>>>>();
}

TEST_CASE("ZB-H1 keeps p frames on every stage with parameters, and holds output gradients for the micro-batches that it delays") {
  using P = Trained<Sequential<Linear<8, 6>, Linear<6, 6>, Linear<6, 6>, Linear<6, 3>>, Pipeline<Balanced<4>, ZeroBubbleH1, Microbatches<8>>>;
  for (int c = 0; c < 4; ++c) {
    CHECK(training_of<P>().pools[pool_of(c, PoolKind::frame)].slots >= 4);
    CHECK(training_of<P>().pools[pool_of(c, PoolKind::frame)].slots <= 4 + 2);                   // received up to two ahead
    if (c < 3) CHECK(training_of<P>().pools[pool_of(c, PoolKind::gradient_in)].slots >= c + 1);  // each is the output gradient of one layer
  }
}

TEST_CASE("peak memory of the MLP 784-50-10 with Adam and 64 rows is what a hand calculation gives") {
  using P = Plan<Mnist, CrossEntropy, Adam, Batch<64>, Single>;
  constexpr std::int64_t flat = 159'744 + 4'096;                // linear1 and linear2, each a unit padded to 4096 bytes
  constexpr std::int64_t losses = 64;                           // one grain and the sum
  constexpr std::int64_t frame = 4 * 64 * (784 + 50 + 1 + 10);  // input, ReLU's output, targets, gradient of the loss
  constexpr std::int64_t scratch = 4 * 64 * (50 + 10);          // evaluation: ReLU's output and the logits; training needs 4 * 64 * 50
  static_assert(peak_memory<P>() == Bytes{flat * (1 + 1 + 2) + losses + frame + scratch});
  static_assert(peak_memory<P>(device<0>) == peak_memory<P>());
  CHECK(peak_memory<P>() == Bytes{887'104});
}

TEST_CASE("1F1B needs fewer slots than GPipe, on every stage but where all are in flight anyway") {
  using All = Trained<Chain, Pipeline<Balanced<3>, GPipe, Microbatches<8>>>;
  using Few = Trained<Chain, Pipeline<Balanced<3>, OneFOneB, Microbatches<8>>>;
  for (int c = 0; c < 3; ++c) {
    const int pool = pool_of(c, PoolKind::frame);
    CHECK(training_of<All>().pools[pool].slots == 8);
    CHECK(training_of<Few>().pools[pool].slots <= 3 - c + 2);  // received up to two ahead
    CHECK(training_of<Few>().pools[pool].slots >= 3 - c);
  }
  CHECK(peak_memory<Few>() < peak_memory<All>());
}

namespace {

/// A backbone of 9 blocks, each of 2 x 64 x 64 weights and 128 biases, and a head that is trained.
struct Backbone : Repeat<9, Residual<Linear<64, 64>, Tanh, Linear<64, 64>>> {};
struct Headed : Sequential<Frozen<Backbone>, Linear<64, 8>> {};
constexpr std::int64_t block = 4 * (2 * 64 * 64 + 2 * 64);  // [bytes]
constexpr std::int64_t padded = rounded_up(block, unit_bytes);
template <class Policy> using Fine = Plan<Headed, CrossEntropy, Adam, Batch<16>, Policy>;
template <class Policy> [[nodiscard]] std::int64_t frozen_bytes() {
  const ArenaMap& map = training_of<Fine<Policy>>().arenas[0];
  return map[RegionKind::frozen].bytes() + map[RegionKind::thawed].bytes();
}

}  // namespace

TEST_CASE("frozen parameters of a rank fall to 1/N where parameters are sliced, and two blocks are gathered at a time") {
  CHECK(frozen_bytes<Single>() == 9 * block);
  CHECK(frozen_bytes<Sharded<8, Gradients>>() == 9 * block);
  CHECK(frozen_bytes<Sharded<2>>() == 9 * padded / 2 + 2 * padded);
  CHECK(frozen_bytes<Sharded<8>>() == 9 * padded / 8 + 2 * padded);
  CHECK(frozen_bytes<Sharded<8, Keep::Step>>() == 9 * padded / 8 + 9 * padded);
  static_assert(peak_memory<Fine<Sharded<2>>>(device<0>) - peak_memory<Fine<Sharded<8>>>(device<0>) > Bytes{9 * padded * 3 / 8});
  static_assert(peak_memory<Fine<Sharded<8>>>(device<0>) < peak_memory<Fine<Sharded<8, Gradients>>>(device<0>));
  CHECK(traffic<Fine<Sharded<8, Gradients>>>().parameters().on(axis::shard).total_payload == Bytes{0} + Bytes{7 * 4 * (64 * 8 + 8)});
  // Gathered for the forward alone: no gradient passes through what stands in front. The head is gathered for both directions.
  CHECK(traffic<Fine<Sharded<8>>>().parameters().on(axis::shard).total_payload == Bytes{7 * (9 * block + 2 * 4 * (64 * 8 + 8))});
}

TEST_CASE("an inference gathers frozen parameters as others, and has room for no more") {
  using I = Inference<Headed, Batch<16>, Sharded<8>>;
  const ArenaMap& map = I::evaluation.arenas[0];
  CHECK(map[RegionKind::frozen].bytes() == 9 * padded / 8);
  CHECK(map[RegionKind::thawed].bytes() == 2 * padded);
  CHECK(map[RegionKind::gradients].bytes() == 0);
}
