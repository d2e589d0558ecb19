// SPDX-License-Identifier: MIT
#include "heddle/plan/read/work.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <initializer_list>
#include <iterator>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "heddle/cost/simulate.hpp"
#include "heddle/heddle.hpp"
#include "heddle/plan/lowered.hpp"
#include "plan/plans.hpp"

using namespace heddle;
using namespace heddle::tests;

namespace {

constexpr std::int64_t product = 2 * 64 * 64;
using Square = Linear<64, 64, NoBias>;
/// Blocks of equal work: the table of vectors has parameters and no arithmetic, so every product makes the gradient of its input.
template <int Blocks> struct Equal : Sequential<Input<1>, Embedding<2, 64>, Repeat<Blocks, Square>> {};
template <class Policy, class Model = Equal<8>, class... Options> using Of = Plan<Model, MeanSquaredError, Adam, Batch<64>, Policy, Options...>;

/// A join whose backward reads both values.
struct Product {
  static constexpr std::string_view done() { return "multiplied"; }
  static constexpr Spec wanted(const Spec& first, const Spec&) { return first; }
  static constexpr Leaf describe(const Spec& first, const Spec& second) {
    Leaf leaf = elementwise("Product", first, 1);
    leaf.elementwise = false;
    leaf.operands = 2;
    leaf.other = second;
    leaf.backward_flops = 2 * first.elements();
    return leaf;
  }
};

/// (S-1)/(M + S-1) for GPipe and 1F1B, (S-1)/(V M + S-1) with V chunks a device in turn, (S-1)/(3 M + S-1) where a backward is split
/// (F = I = W), (S-1)/S where micro-batches pass one at a time. The M of 1F1B are those of all rounds; GPipe ends each round before the next. In
/// whole percents.
constexpr std::int64_t formula(const Program& p, const OrderRules& order) {
  const std::int64_t s = p.roles;
  if (!order.named) return 100 * (s - 1) / s;
  const std::int64_t m = order.forwards_first ? p.batch.micro_batches : p.batch.total_micro_batches();
  return 100 * s * (s - 1) / ((order.splits_backward ? 3 : 1) * m * p.chunks + s * (s - 1));
}

/// Of the Programs that this program lowers while it runs: the compiler lowers the same, more slowly.
void agree(std::string_view name, const LoweringRequest& request, bool equal) {
  CAPTURE(name);
  const LoweredPlan plan = lower(request);
  const Program& p = plan.training();
  REQUIRE(check(plan).ok());
  // The share is cut to whole percents; 1e-9 keeps one that is whole exactly from falling below it.
  CHECK(bubble_percent(p) == static_cast<int>(100 * simulate(p, Machine{}).bubble() + 1e-9));
  CHECK(waiting_percent(p) <= bubble_percent(p));  // stages that wait for the slowest are idle
  if (equal) CHECK(bubble_percent(p) == formula(p, request.layout.order));
}
template <class Order, class... More> void agree_for_all(std::string_view name) {
  struct Uneven : Sequential<Linear<300, 64>, ReLU, Repeat<5, Square>, Tanh, Linear<64, 200>, Linear<200, 64>> {};
  using Two = Of<Pipeline<Balanced<2>, Order, More...>>;
  CHECK(bubble_percent(Two::training) == formula(Two::training, Two::Request::layout.order));
  agree(name, request_of<RequestOf<Two>>(), true);
  agree(name, request_of<RequestOf<Of<Pipeline<Balanced<4>, Order, More...>>>>(), true);
  agree(name, request_of<RequestOf<Of<Pipeline<Balanced<2>, Order, More...>, Equal<8>, Accumulate<2>>>>(), true);
  agree(name, request_of<RequestOf<Of<Pipeline<Balanced<2>, Order, More...>, Uneven>>>(), false);
  agree(name, request_of<RequestOf<Of<Pipeline<Balanced<4>, Order, More...>, Uneven>>>(), false);
  agree(name, request_of<RequestOf<Of<Pipeline<Balanced<4>, Order, More...>, Uneven, Recompute<EveryBlock>, Accumulate<2>>>>(), false);
}

/// Operations of one sample by the graph, chunk by chunk.
template <class P> std::int64_t by_graph() {
  const Program& p = P::training;
  std::int64_t sum = 0;
  for (int c = 0; c < p.chunks; ++c)
    for (int n = p.first_node[c]; n < p.first_node[c + 1]; ++n) sum += p.graph->work(n, p.graph->last_untrained(), p.first_node[c]).total();
  return sum;
}
template <class P> std::int64_t by_entries() {
  std::int64_t sum = 0;
  for (int r = 0; r < P::training.roles; ++r) sum += stage_flops(P::training, r);
  return sum;
}

}  // namespace

TEST_CASE("the first layer with parameters makes no gradient of its input, and layers before it run no backward") {
  using Alone = Of<Single, Sequential<Square, Square>>;
  static_assert(stage_flops(Alone::training, 0) == (2 + 3) * product);
  static_assert(flops<Sequential<Square, Square>>.value == (2 + 3) * product);
  using Behind = Of<Single, Sequential<Input<8, 8>, ReLU, Flatten, Square, ReLU>>;
  static_assert(stage_flops(Behind::training, 0) == 64 + 2 * product + 2 * 64);
  static_assert(flops<Sequential<Input<8, 8>, ReLU, Flatten, Square, ReLU>>.value == 64 + 2 * product + 2 * 64);
  using Tokens = Of<Single, Equal<2>>;
  static_assert(stage_flops(Tokens::training, 0) == 2 * 3 * product);  // the table is trained, so the products behind it pass gradients on
}

TEST_CASE("a stage that begins with the first parameters sends a gradient back, so it makes one") {
  using Late = Of<Pipeline<Stage<Sequential<Input<64>, ReLU>>, Stage<Square>, OneFOneB, Microbatches<2>>, Sequential<Input<64>, ReLU, Square>>;
  static_assert(stage_flops(Late::training, 0) == 64);
  static_assert(stage_flops(Late::training, 1) == 3 * product);
}

TEST_CASE("what the graph counts is what the entries of a program run, for every family of plans") {
  struct Block : Residual<Linear<64, 64>, Tanh, Linear<64, 64>> {};
  struct Deep : Sequential<Input<8, 8>, Flatten, Linear<64, 64>, ReLU, Repeat<3, Block>, Linear<64, 8>> {};
  struct Language : Sequential<Input<4>, Named<"table", Embedding<16, 64>>, Repeat<2, Block>, Tied<"head", Linear<64, 16, NoBias>, To<"table">>> {};
  const auto same = []<class P>(std::string_view name, std::type_identity<P>) {
    CAPTURE(name);
    CHECK(by_entries<P>() == by_graph<P>());
  };
  same("one device", std::type_identity<Of<Single, Deep>>{});
  same("1F1B", std::type_identity<Of<Pipeline<Balanced<3>, OneFOneB, Microbatches<4>>, Deep>>{});
  same("split backwards", std::type_identity<Of<Pipeline<Balanced<2>, ZeroBubbleH1, Microbatches<4>>, Deep>>{});
  same("chunks in turn", std::type_identity<Of<Pipeline<Balanced<2>, Interleaved<2>, Microbatches<4>>, Deep>>{});
  same("slices of tensors", std::type_identity<Of<TensorParallel<2>, Deep>>{});
  same("shards", std::type_identity<Of<Sharded<2>, Deep>>{});
  same("tied", std::type_identity<Plan<Language, CrossEntropy, Adam, Batch<64>, Pipeline<Balanced<2>, OneFOneB, Microbatches<4>>>>{});
}

TEST_CASE("what runs again is work of the backward") {
  using Kept = Of<Single>;
  using Again = Of<Single, Equal<8>, Recompute<EveryBlock>>;
  CHECK(stage_flops(Again::training, 0) == stage_flops(Kept::training, 0) + flops_run_again(Again::training).value);
  using Split = Of<Pipeline<Balanced<2>, ZeroBubbleH1, Microbatches<2>>, Equal<8>, Recompute<EveryBlock>>;
  CHECK(by_entries<Split>() == by_graph<Split>() + flops_run_again(Split::training).value);
}

TEST_CASE("the idle share is that of the simulation for unequal stages as well, and the formula's for equal ones") {
  agree_for_all<GPipe, Microbatches<4>>("GPipe");
  agree_for_all<GPipe, Microbatches<2>, FewMicrobatches>("GPipe, few");
  agree_for_all<OneFOneB, Microbatches<8>>("1F1B");
  agree_for_all<OneFOneB, Microbatches<2>, FewMicrobatches>("1F1B, few");
  agree_for_all<Interleaved<2>, Microbatches<4>>("2 chunks a device");
  agree_for_all<ZeroBubbleH1, Microbatches<8>>("split backwards");
  agree_for_all<Microbatches<4>>("no order");
}

namespace {

/// The parts of examples/03b_three_parts.cpp, at a smaller width, the third on the device of the first; and parts of two or of one product.
struct Narrow : Sequential<Linear<20, 50>, ReLU, Linear<50, 50>, ReLU> {};
struct Broad : Sequential<Linear<50, 50>, ReLU> {};
struct Classes : Sequential<Linear<50, 10>> {};
struct Parts : Sequential<Narrow, Broad, Classes> {};
struct Tokens : Sequential<Input<1>, Embedding<2, 64>, Square> {};
struct Twice : Sequential<Square, Square> {};
struct Squares : Sequential<Tokens, Twice, Square, Square> {};

template <int Micro, class... Order> void agree_at_home() {
  using Home = Pipeline<Stage<Narrow, On<0>>, Stage<Broad, On<1>>, Stage<Classes, On<0>>, Microbatches<Micro>, FewMicrobatches, Order...>;
  agree("the third part on the first device", request_of<RequestOf<Plan<Parts, CrossEntropy, SGD, Batch<240>, Home>>>(), false);
}
template <class... Order> void agree_on_devices_twice() {
  agree_at_home<2, Order...>();
  agree_at_home<3, Order...>();
  agree_at_home<8, Order...>();
  agree_at_home<16, Order...>();
  const auto four = []<int... Device>(std::integer_sequence<int, Device...>) {
    using Turned = Pipeline<Stage<Tokens, On<0>>, Stage<Twice, On<1>>, Stage<Square, On<Device>>..., Microbatches<8>, Order...>;
    agree("four parts on two devices", request_of<RequestOf<Of<Turned, Squares>>>(), false);
  };
  four(std::integer_sequence<int, 1, 0>{});
  four(std::integer_sequence<int, 0, 1>{});
}

}  // namespace

TEST_CASE("the idle share is that of the simulation where a device has parts far apart: it also waits until a receiver has time") {
  agree_on_devices_twice<>();
  agree_on_devices_twice<OneFOneB>();
  agree_on_devices_twice<GPipe>();
}

TEST_CASE("the idle share is a constant") {
  using Two = Of<Pipeline<Stage<Linear<1000, 2000>>, Stage<Linear<2000, 1000>>, OneFOneB, Microbatches<4>>,
                 Sequential<Linear<1000, 2000>, Linear<2000, 1000>>>;
  static_assert(bubble_percent(Two::training) == 28);
  static_assert(bubble_percent(Of<Single>::training) == 0);
  CHECK(bubble_percent(lower<Inference<Equal<8>, Batch<64>, Pipeline<Balanced<2>>>>()) == 50);
}

TEST_CASE("the walk tells when each line computes: 1F1B of two unequal layers, two micro-batches") {
  using Two = Of<Pipeline<Stage<Square>, Stage<Square>, OneFOneB, Microbatches<2>>, Sequential<Square, Square>>;
  std::array<WorkWalk::Computed, 8> all;
  CHECK(WorkWalk{Two::training}.run(all.data()).step == 8 * product);
  const auto is = [&](std::size_t i, int role, ListOp op, int micro_batch, int begin, int end) {
    CAPTURE(i);
    CHECK((all[i].role == role && all[i].line->op == op && all[i].line->micro_batch == micro_batch));
    CHECK((all[i].begin == begin * product && all[i].end == end * product));
  };
  is(0, 0, ListOp::forward, 0, 0, 1);
  is(1, 0, ListOp::forward, 1, 1, 2);
  is(2, 1, ListOp::forward, 0, 1, 2);
  is(3, 1, ListOp::backward, 0, 2, 4);
  is(4, 1, ListOp::forward, 1, 4, 5);
  is(5, 1, ListOp::backward, 1, 5, 7);
  is(6, 0, ListOp::backward, 0, 4, 5);
  is(7, 0, ListOp::backward, 1, 7, 8);
}

TEST_CASE("four equal stages on two devices in turn: GPipe and Interleaved follow (S-1)/(V M + S-1), 1F1B is idle for longer") {
  struct First : Sequential<Input<1>, Embedding<2, 64>, Square> {};
  struct Model : Sequential<First, Square, Square, Square> {};
  const auto idle = []<class Order>(std::type_identity<Order>) {
    return bubble_percent(
        Of<Pipeline<Stage<First, On<0>>, Stage<Square, On<1>>, Stage<Square, On<0>>, Stage<Square, On<1>>, Order, Microbatches<8>>, Model>::training);
  };
  CHECK(idle(std::type_identity<GPipe>{}) == 100 * 1 / (2 * 8 + 1));
  CHECK(idle(std::type_identity<Interleaved<2>>{}) == 100 * 1 / (2 * 8 + 1));
  CHECK(idle(std::type_identity<OneFOneB>{}) == 11);
  // Where two devices do not divide the micro-batches GPipe begins its backwards with half a turn.
  using Odd = Pipeline<Stage<First, On<0>>, Stage<Square, On<1>>, Stage<Square, On<0>>, Stage<Square, On<1>>, GPipe, Microbatches<5>>;
  CHECK(bubble_percent(Plan<Model, MeanSquaredError, Adam, Batch<60>, Odd>::training) == 11);  // (S-1)/(V M + S-1) is 9
}

TEST_CASE("of three equal parts the third is back on device 0: idle for a quarter with an even number of micro-batches, for longer with 3 or 5") {
  struct First : Sequential<Input<1>, Embedding<2, 64>, Square> {};
  struct Model : Sequential<First, Square, Square> {};
  const auto idle = []<class Order, int M>(std::type_identity<Order>, std::integral_constant<int, M>) {
    return bubble_percent(Plan<Model, MeanSquaredError, Adam, Batch<60>,
                               Pipeline<Stage<First, On<0>>, Stage<Square, On<1>>, Stage<Square, On<0>>, Order, Microbatches<M>>>::training);
  };
  CHECK(idle(std::type_identity<OneFOneB>{}, std::integral_constant<int, 6>{}) == 25);
  CHECK(idle(std::type_identity<GPipe>{}, std::integral_constant<int, 6>{}) == 25);
  CHECK(idle(std::type_identity<OneFOneB>{}, std::integral_constant<int, 3>{}) == 35);
  CHECK(idle(std::type_identity<GPipe>{}, std::integral_constant<int, 5>{}) == 27);
}

TEST_CASE("a join makes the gradient of each operand that somebody needs: the work of a model is that of its one stage") {
  const auto same = []<class Model>(std::type_identity<Model>) {
    using P = Plan<Model, MeanSquaredError, Adam, Batch<64>, Single>;
    std::int64_t sum = 0;
    for (int n = 0; n < P::training.graph->node_count; ++n) sum += P::training.graph->work(n).total();
    return std::pair{sum, stage_flops(P::training, 0)};
  };
  const auto left = same(std::type_identity<Sequential<Linear<8, 8>, Branches<Concat, Sequential<>, Linear<8, 8>>, Linear<16, 4>>>{});
  const auto first = same(std::type_identity<Sequential<Input<8>, Branches<Product, Sequential<>, Linear<8, 8>>, Linear<8, 4>>>{});
  const auto second = same(std::type_identity<Sequential<Input<8>, Branches<Product, Linear<8, 8>, Sequential<>>, Linear<8, 4>>>{});
  CHECK(left.first == left.second);
  CHECK(first.first == first.second);
  CHECK(second.first == second.second);
}

TEST_CASE("stages wait 1 - mean / most, cut to a whole number, whatever the operations") {
  // 156,900 and 3120 operations: 1 - 80,010 / 156,900 = 49.006 %; the slower stage is never idle but for one micro-batch of the other.
  using Mnists = Trained<Mnist, Pipeline<Balanced<2>, OneFOneB, Microbatches<4>>>;
  static_assert(waiting_percent(Mnists::training) == 49 && bubble_percent(Mnists::training) == 49);
  static_assert(waiting_percent(Of<Pipeline<Balanced<4>, OneFOneB, Microbatches<4>>>::training) == 0);
  static_assert(idle_percent(2, 1, 2) == 0 && idle_percent(3, 2, 2) == 25 && idle_percent(5, 3, 2) == 16 && idle_percent(0, 0, 2) == 0);
  constexpr std::int64_t most = std::int64_t{1} << 55;  // a hundred times the sum of all stages is no number
  static_assert(idle_percent(64 * most, most, 64) == 0 && idle_percent(48 * most, most, 64) == 25);
}

TEST_CASE("a step of unequal stages under OneFOneB is that of the slowest, and of the others for one micro-batch if these come before it") {
  const auto step = [](std::initializer_list<std::int64_t> forward, std::initializer_list<std::int64_t> backward, std::int64_t micro_batches) {
    const Numbers f(std::ssize(forward)), b(std::ssize(backward));
    std::copy(forward.begin(), forward.end(), f.data);
    std::copy(backward.begin(), backward.end(), b.data);
    return one_f_one_b_step(f, b, static_cast<int>(forward.size()), micro_batches);
  };
  CHECK(step({3, 1}, {6, 2}, 4) == 36);          // the second works while the first makes its next forward
  CHECK(step({1, 3}, {2, 6}, 4) == 1 + 36 + 2);  // the first waits for the second
  CHECK(step({1, 1, 1}, {2, 2, 2}, 4) == 3 * (4 + 3 - 1));
  CHECK(step({1, 1, 1}, {2, 2, 2}, 1) == 9);
  CHECK(step({5}, {7}, 3) == 36);
}

TEST_CASE("the two backwards of a leaf of two operands share its operations") {
  struct Forked : Sequential<Linear<8, 4>, Branches<Concat, Linear<4, 3>, Tanh>, Linear<7, 2>> {};
  Program p = Plan<Forked, CrossEntropy, Adam, Batch<8>, Single>::training;
  Graph graph = *p.graph;
  std::vector<TracedLeaf> leaves(graph.leaves, graph.leaves + graph.leaf_count);
  leaves[static_cast<std::size_t>(graph.nodes[3].leaf)].leaf.backward_flops = 15;
  graph.leaves = leaves.data();
  p.graph = &graph;
  std::int64_t of_both = 0;
  for (int e = p.backward_bodies[0].begin; e < p.backward_bodies[0].end; ++e)
    if (p.entries[e].node == 3 && p.entries[e].what == BodyOp::leaf_backward) of_both += flops_of(p, p.entries[e]);
  CHECK(of_both == 15);
}
