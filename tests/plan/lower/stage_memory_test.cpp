// SPDX-License-Identifier: MIT
#include "heddle/plan/lower/stage_memory.hpp"

#include <doctest/doctest.h>

#include <cstdlib>

#include "heddle/graph/frozen.hpp"
#include "heddle/graph/layers/batch_norm.hpp"
#include "heddle/graph/layers/concat.hpp"
#include "heddle/graph/layers/flatten.hpp"
#include "heddle/graph/layers/norm.hpp"
#include "heddle/graph/layers/unflatten.hpp"
#include "heddle/plan/lower/fitted_layout.hpp"
#include "heddle/plan/options/options.hpp"
#include "heddle/policy/sharded.hpp"
#include "heddle/policy/tensor_parallel.hpp"
#include "plan/plans.hpp"

using namespace heddle;
using namespace heddle::tests;

namespace {

/// What Pipe answers, cut before the nodes First...
template <class Pipe, int... First> struct CutBefore {
  static constexpr void answer(const Graph& graph, Layout& layout) {
    Pipe::answer(graph, layout);
    const int first[] = {First...};
    for (int c = 0; c < static_cast<int>(sizeof...(First)); ++c) layout.first_node[c + 1] = first[c];
  }
};

/// The account of every stage is what its arena has, or `over` bytes more at most. `gaps`: scratch is laid out first-fit, which may leave room
/// between tensors unused.
template <class Model, class Policy, class... Options> void check_account(bool gaps = false, std::int64_t over = 0) {
  using Request = RequestOf<Plan<Model, CrossEntropy, Adam, Batch<32>, Policy, Options...>>;
  constexpr int chunks = Request::layout.chunk_count;
  constexpr const auto& slots = CutAccount<Request>::slots;
  constexpr const auto& memory = CutAccount<Request>::memory;
  const auto place_of = [&](int node) {
    int k = 0;
    while (memory.cut.piece_node[k] < node) ++k;
    return k;
  };
  for (int c = 0; c < chunks; ++c) {
    CAPTURE(c);
    int counts[pool_kinds];
    for (int kind = 0; kind < pool_kinds; ++kind) {
      const Pool& pool = LoweredPrograms<Request>::tables.training[c * pool_kinds + kind];
      counts[kind] = slots.of[c * pool_kinds + kind];
      if (pool.slot_bytes > 0) CHECK(counts[kind] == pool.slots);
    }
    const int begin = place_of(Request::layout.first_node[c]);
    const int end = place_of(Request::layout.first_node[c + 1]);
    const ArenaMap& map = LoweredPrograms<Request>::tables.arenas[c];
    CHECK(memory.flat_bytes(begin, end) == 4 * map.flat_elements());
    const std::int64_t off = map.total - memory.bytes(begin, end, counts);
    CAPTURE(off);
    if (gaps)
      CHECK(std::abs(off) <= map[RegionKind::scratch].bytes());
    else
      CHECK((off <= 0 && -off <= over));
  }
}

struct Wide : Sequential<Linear<200, 24>, ReLU, Linear<24, 96>, Tanh, Linear<96, 8>, GELU, Linear<8, 40>, Linear<40, 10>> {};
/// Wide with frozen layers.
struct Tuned : Sequential<Linear<200, 24>, ReLU, Frozen<Linear<24, 96>>, Tanh, Linear<96, 8>, GELU, Linear<8, 40>, Frozen<Linear<40, 10>>> {};
struct Fixed : Sequential<Frozen<Sequential<Linear<200, 24>, ReLU, Linear<24, 96>, Tanh, Linear<96, 8>, GELU>>, Linear<8, 40>, Linear<40, 10>> {};
struct Thawed
    : Sequential<Linear<8, 24>, Repeat<3, Sequential<Frozen<Linear<24, 24>>, Tanh, Linear<24, 24>, Frozen<Linear<24, 24>>>>, Linear<24, 4>> {};
/// Statistics are kept for each norm with a backward. All values have one width, so scratch has no gaps.
struct Normed : Sequential<Frozen<LayerNorm<24>>, Linear<24, 24>, LayerNorm<24>, GELU, Linear<24, 24>, RMSNorm<24>, Tanh, Linear<24, 24>,
                           LayerNorm<24>, Linear<24, 24>> {};
/// Of norms over ranks what is told between phases lies aside, and statistics are kept though they run again. All values have one width.
struct Told : Sequential<Linear<24, 24>, Unflatten<6, 2, 2>, BatchNorm2d<6, Synchronised>, GELU, Flatten, Linear<24, 24>, Unflatten<6, 2, 2>,
                         BatchNorm2d<6, Synchronised>, GELU, Flatten, Linear<24, 24>, Linear<24, 24>> {};
struct Deep : Sequential<Linear<23, 16>, Repeat<4, Residual<Linear<16, 19>, GELU, Linear<19, 16, NoBias>, Tanh>>, Tanh, Linear<16, 10>> {};
/// Cut inside blocks, whose parameters are then two units.
struct Chained : Sequential<Linear<8, 24>, Repeat<3, Sequential<Linear<24, 24>, Tanh, Linear<24, 24>>>, Linear<24, 4>> {};
struct Shaped : Sequential<Linear<24, 24>, Unflatten<4, 6>, Linear<6, 6>, Tanh, Flatten, Linear<24, 10>> {};
/// Nothing in its backward reads what passes to the last layer.
struct Flat : Sequential<Linear<24, 24>, Unflatten<4, 6>, Linear<6, 5>, Flatten> {};

/// Pairs of Linear layers, whose inner values lie in parts.
struct Tall : Sequential<Linear<64, 64>, GELU, Linear<64, 64>, Tanh, Linear<64, 64>, GELU, Linear<64, 64>, Linear<64, 64>> {};
struct Wavy : Sequential<Linear<64, 96>, GELU, Linear<96, 64>, LayerNorm<64>, Linear<64, 128>, Tanh, Linear<128, 64>, Tanh, Linear<64, 64>, GELU,
                         Linear<64, 8>> {};
/// Sequences, which SequenceParallel splits between pairs: a leaf that takes whole ones gathers them aside.
struct Spoken : Sequential<Input<4, 16>, Linear<16, 64>, GELU, Linear<64, 16>, LayerNorm<16>, Linear<16, 64>, GELU, Linear<64, 16>, LayerNorm<16>,
                           Linear<16, 32>> {};
/// Of many classes, whose scores the loss takes in parts.
struct Voiced : Sequential<Linear<16, 16>, Tanh, Linear<16, 16>, Tanh, Linear<16, 16>, Tanh, Linear<16, 128>> {};

/// Branches that are added, and joined: in the second stage, or the first, or the last.
struct Forked : Sequential<Linear<24, 24>, Branches<Add, Linear<24, 24>, Sequential<Linear<24, 24>, Tanh, Linear<24, 24>>, Sequential<>>,
                           Linear<24, 24>, Branches<Concat, Linear<24, 24>, Tanh>, Linear<48, 24>, Linear<24, 24>> {};

/// Inputs of two towers, one for each stage, and one that a later stage reads: Linear, input 1, Linear, Add, Linear, Linear, input 2, Linear, Add,
/// ...
struct Several : Sequential<Inputs<Input<24>, Input<24>, Input<24>>, Branches<Add, Linear<24, 24>, Sequential<FromInput<1>, Linear<24, 24>>>,
                            Linear<24, 24>, Branches<Add, Linear<24, 24>, Sequential<FromInput<2>, Linear<24, 24>>>, Linear<24, 24>, Linear<24, 24>> {
};
struct ByName : Sequential<Inputs<Input<24>, Input<24>>,
                           Branches<Add, Sequential<FromInput<0>, Linear<24, 24>>, Sequential<FromInput<1>, Linear<24, 24>>>, Linear<24, 24>> {};

constexpr std::int64_t value(std::int64_t features) { return 4 * 8 * features; }  // of a micro-batch

using Alternating = Pipeline<Balanced<3>, OneFOneB, Microbatches<4>>;
using Filled = Pipeline<Balanced<3>, GPipe, Microbatches<4>>;
using Split = Pipeline<Balanced<3>, ZeroBubbleH1, Microbatches<4>>;

}  // namespace

TEST_CASE("the account of a stage is its arena, wherever the cut: four orders") {
  check_account<Wide, CutBefore<Alternating, 3, 6>>();
  check_account<Wide, CutBefore<Filled, 2, 7>>();
  check_account<Wide, CutBefore<Split, 2, 7>>();
  check_account<Deep, CutBefore<Alternating, 1, 11>>();
  check_account<Deep, CutBefore<Alternating, 6, 21>>();
  check_account<Flat, CutBefore<Pipeline<Balanced<2>, OneFOneB, Microbatches<2>>, 3>>();
}

TEST_CASE("the account of a stage is its arena where units are sliced, cut, counted in grains, clipped") {
  check_account<Wide, Hybrid<CutBefore<Alternating, 3, 6>, Sharded<2, Gradients>>>();
  check_account<Deep, Hybrid<CutBefore<Filled, 6, 16>, Sharded<2>>>();
  check_account<Deep, Hybrid<CutBefore<Alternating, 11, 16>, Sharded<4, OptimizerState>>>();
  check_account<Chained, CutBefore<Alternating, 3, 5>>();
  check_account<Chained, CutBefore<Filled, 2, 8>, Grain<2>>();
  check_account<Deep, CutBefore<Alternating, 6, 16>, Clip<GlobalNorm>, LossScaling>();
}

TEST_CASE("where a small tensor is freed before a large one is placed, the arena has a gap that the account has not") {
  check_account<Wide, CutBefore<Alternating, 2, 5>>(true);
  check_account<Wide, CutBefore<Alternating, 1, 7>>(true);
  check_account<Shaped, Pipeline<Balanced<2>, OneFOneB, Microbatches<2>>>(true);
}

TEST_CASE("the account of a stage is its arena where layers are frozen in front, between others and behind") {
  check_account<Tuned, CutBefore<Alternating, 3, 6>>();
  check_account<Tuned, CutBefore<Split, 2, 6>>();
  check_account<Tuned, Hybrid<CutBefore<Alternating, 3, 6>, Sharded<2>>>();
  check_account<Tuned, Hybrid<CutBefore<Alternating, 3, 6>, Sharded<2, Keep::Step>>>();
  check_account<Tuned, Hybrid<CutBefore<Alternating, 3, 6>, Sharded<2, Gradients>>>();
  // Cut inside blocks, whose frozen parameters are then two units: the account has rings for a whole one, of 8,192 bytes.
  check_account<Thawed, Hybrid<CutBefore<Alternating, 2, 8>, Sharded<4>>>(false, 2 * (8192 - 4096));
  check_account<Thawed, Hybrid<CutBefore<Alternating, 6, 9>, Sharded<2, Keep::Step>>>();
  check_account<Thawed, CutBefore<Alternating, 2, 8>>();
  check_account<Fixed, CutBefore<Alternating, 6, 7>>();      // no gradient is sent to the first stage
  check_account<Fixed, CutBefore<Alternating, 2, 5>>(true);  // nor to the second
  check_account<Fixed, CutBefore<Alternating, 1, 2>>();
  check_account<Fixed, CutBefore<Alternating, 2, 6>>();
  check_account<Fixed, CutBefore<Split, 2, 7>>();
  check_account<Fixed, Hybrid<CutBefore<Filled, 3, 6>, Sharded<2>>>();
}

TEST_CASE("the account of a stage has the inputs that it loads, and none where nobody reads the first") {
  using Halves = Pipeline<Balanced<2>, OneFOneB, Microbatches<2>>;
  check_account<Several, CutBefore<Halves, 1>>();  // the second tower
  check_account<Several, CutBefore<Alternating, 1, 4>>();
  check_account<Several, CutBefore<Split, 4, 9>>(false, 4 * value(24));  // both operands of a sum have one gradient, which is read again
  check_account<Several, Hybrid<CutBefore<Filled, 4, 9>, Sharded<2>>>();
  check_account<ByName, CutBefore<Halves, 2>>();
  check_account<ByName, CutBefore<Halves, 5>>();
}

TEST_CASE("the account of a stage has the statistics of norms, also of those that run again") {
  check_account<Normed, CutBefore<Alternating, 3, 6>>();
  check_account<Normed, CutBefore<Split, 3, 8>>();
  check_account<Normed, Hybrid<CutBefore<Filled, 4, 7>, Sharded<2>>>();
  check_account<Normed, CutBefore<Alternating, 3, 6>, Recompute<RMSNorm<24>>>(true);
  constexpr const Program& p = lower<Plan<Normed, CrossEntropy, Adam, Batch<32>, Single>>();
  constexpr std::int64_t value = 4 * 32;                                // one feature of all rows
  constexpr std::int64_t kept = 10 * 24;                                // Tanh takes the place of what RMSNorm gives
  CHECK(p.pools[0].slot_bytes == (kept + 2 + 1 + 2) * value + 4 * 32);  // the frozen norm in front leaves no statistics
}

TEST_CASE("the account of a stage has what is told between phases, and statistics that are kept though what left them runs again") {
  constexpr std::int64_t told = 2 * 64;  // two lines forward, one backward: where the most lives beside them there may be none
  check_account<Told, CutBefore<Alternating, 5, 10>>(false, told);
  check_account<Told, CutBefore<Split, 5, 10>>(false, told);
  check_account<Told, Hybrid<CutBefore<Filled, 5, 10>, Sharded<2>>, Grain<2>>(false, 2 * told);
  check_account<Told, CutBefore<Alternating, 5, 10>, Recompute<BatchNorm2d<6, Synchronised>, GELU>>(true);
  using Whole = Plan<Told, CrossEntropy, Adam, Batch<32>, Single>;
  using Again = Plan<Told, CrossEntropy, Adam, Batch<32>, Single, Recompute<BatchNorm2d<6, Synchronised>, GELU>>;
  const std::int64_t less = training_of<Whole>().pools[0].slot_bytes - training_of<Again>().pools[0].slot_bytes;
  CHECK(less == 2 * 4 * 32 * 24);  // two values, and no statistics
}

TEST_CASE("the account of a stage is its arena where ranks split layers: what is gathered, laid otherwise, and zeros in the place of biases") {
  check_account<Tall, Hybrid<TensorParallel<2>, CutBefore<Alternating, 3, 6>>>();
  check_account<Tall, Hybrid<TensorParallel<2>, CutBefore<Alternating, 2, 5>>>();
  check_account<Wavy, Hybrid<TensorParallel<2>, CutBefore<Alternating, 4, 8>>>();
  check_account<Wavy, Hybrid<TensorParallel<4>, CutBefore<Split, 3, 7>>>();
  check_account<Wavy, Hybrid<TensorParallel<2>, CutBefore<Filled, 3, 7>, Sharded<2>>>();
  check_account<Spoken, Hybrid<TensorParallel<2, SequenceParallel>, CutBefore<Alternating, 3, 6>>>(true);
  check_account<Spoken, Hybrid<TensorParallel<2, SequenceParallel>, CutBefore<Alternating, 4, 7>>>(true);
  check_account<Spoken, Hybrid<TensorParallel<4, SequenceParallel>, CutBefore<Filled, 4, 8>>>(true);
  check_account<Voiced, Hybrid<TensorParallel<2>, CutBefore<Alternating, 2, 6>>>();
}

TEST_CASE("the account of a stage is its arena where values, and gathered units, are bfloat16") {
  check_account<Chained, CutBefore<Alternating, 3, 5>, Mixed<BFloat16>>();
  check_account<Normed, CutBefore<Split, 3, 7>, Mixed<BFloat16>>();
  check_account<Deep, Hybrid<CutBefore<Filled, 6, 16>, Sharded<2>>, Mixed<BFloat16>>();
  check_account<Wide, Hybrid<CutBefore<Alternating, 3, 6>, Sharded<2, Keep::Step>>, Mixed<BFloat16>>();
  check_account<Tall, Hybrid<TensorParallel<2>, CutBefore<Alternating, 3, 6>>, Mixed<BFloat16>>();
  check_account<Spoken, Hybrid<TensorParallel<2, SequenceParallel>, CutBefore<Alternating, 4, 7>>, Mixed<BFloat16>>(true);
  check_account<Voiced, Hybrid<TensorParallel<2>, CutBefore<Alternating, 2, 6>>, Mixed<BFloat16>>();
  check_account<Told, Hybrid<CutBefore<Alternating, 4, 8>, DataParallel<2>>, Mixed<BFloat16>>(true);  // 24 features of 4 rows fill no whole lines
}

TEST_CASE("a frozen Linear keeps no input, and layers in front of all trained ones keep nothing") {
  const auto frame = [](const Program& p) { return p.pools[0].slot_bytes; };
  using Trains = Plan<Wide, CrossEntropy, Adam, Batch<32>, Single>;
  constexpr std::int64_t value = 4 * 32;  // one feature of all rows
  constexpr std::int64_t input = 200 * value;
  CHECK(frame(training_of<Trains>()) == input + (24 + 96 + 8 + 8 + 40 + 10) * value + 4 * 32);
  CHECK(frame(training_of<Plan<Tuned, CrossEntropy, Adam, Batch<32>, Single>>()) < frame(training_of<Trains>()));
  CHECK(frame(training_of<Plan<Fixed, CrossEntropy, Adam, Batch<32>, Single>>()) == input + (8 + 40 + 10) * value + 4 * 32);
}

TEST_CASE("the account of a stage has what branches read, give and hand back, joined or added") {
  check_account<Forked, CutBefore<Alternating, 7, 11>>();
  check_account<Forked, CutBefore<Split, 7, 8>>();
  check_account<Forked, Hybrid<CutBefore<Alternating, 7, 11>, Sharded<2, Gradients>>>();
  // An evaluation frees the value that branches read before it places what is joined, twice as wide.
  check_account<Forked, CutBefore<Filled, 1, 12>>(true);
  check_account<Forked, Hybrid<CutBefore<Alternating, 7, 12>, Sharded<2, Gradients>>>(true);
}

TEST_CASE("what runs again is not saved; it lies in scratch, of which the account may have some more") {
  constexpr std::int64_t value = 4 * 8 * 16;  // one micro-batch of what passes between blocks: it is counted although the block's input is kept
  check_account<Deep, CutBefore<Alternating, 1, 21>, Recompute<EveryBlock>>(false, value);
  check_account<Deep, CutBefore<Alternating, 6, 16>, Recompute<EveryBlock>>(false, value);
}
