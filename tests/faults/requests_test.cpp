// SPDX-License-Identifier: MIT
// Requests that no plan asks: tens of thousands of sound ones with one to three numbers changed. Each is refused with a code, or its Programs are
// judged by the checks. Under the sanitizers no access leaves its table.
#include <doctest/doctest.h>

#include <cstdint>
#include <cstdlib>
#include <limits>
#include <map>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "heddle/core/random.hpp"
#include "heddle/heddle.hpp"
#include "heddle/plan/lowered.hpp"
#include "plan/plans.hpp"

using namespace heddle;
using namespace heddle::tests;

namespace {

/// Draws of one seed, one after another.
class Draw {
 public:
  explicit Draw(std::uint64_t seed) : seed_(seed) {}
  std::uint64_t bits() { return bits64(Seed{seed_}, 7, next_++); }
  int operator()(int choices) { return static_cast<int>(bits() % static_cast<std::uint64_t>(choices)); }

 private:
  std::uint64_t seed_;
  std::uint64_t next_ = 0;
};

/// A request with tables of its own.
struct OwnRequest {
  std::vector<TracedLeaf> leaves;
  std::vector<Node> nodes;
  std::unique_ptr<bool[]> again;
  std::vector<std::int16_t> group_of;  // by parameter, where there are groups
  LoweringRequest request;

  explicit OwnRequest(const LoweringRequest& asked)
      : leaves(asked.graph.leaves, asked.graph.leaves + asked.graph.leaf_count), nodes(asked.graph.nodes, asked.graph.nodes + asked.graph.node_count),
        again(std::make_unique<bool[]>(leaves.size())), request(asked) {
    for (std::size_t l = 0; l < leaves.size(); ++l) again[l] = asked.again.any && asked.again.leaf[l];
    request.graph.leaves = leaves.data();
    request.graph.nodes = nodes.data();
    request.again.leaf = asked.again.any ? again.get() : nullptr;
    if (!asked.groups.any()) return;
    group_of.assign(asked.groups.of_parameter, asked.groups.of_parameter + asked.graph.parameter_count);
    request.groups.of_parameter = group_of.data();
  }
};

/// Visits every number that a request is made of: visit(name, number) with a number, an enum or a bool. Counts of leaves and nodes are those of
/// views: they are changed below what is there, apart.
template <class Visit> struct Numbers {
  Visit visit;

  void shape(const char* name, Shape& s) {
    for (std::int64_t& size : s.sizes) visit(name, size);
    visit(name, s.dimensions);
    visit(name, s.surplus);
  }
  void spec(const char* name, Spec& s) {
    shape(name, s.shape);
    visit(name, s.type);
  }
  void signature(Signature& s) {
    for (Laid* how : {&s.input, &s.output, &s.input_gradient, &s.output_gradient}) visit("signature", how->code);
    for (int p = 0; p < Signature::most_parameters; ++p) {
      visit("signature.parameters", s.parameters[p].code);
      visit("signature.parameter_gradients", s.parameter_gradients[p].code);
    }
    visit("signature.statistics", s.statistics.code);
    visit("signature.pieces", s.pieces);
    visit("signature.surplus", s.surplus);
  }
  void leaf(TracedLeaf& traced) {
    Leaf& l = traced.leaf;
    visit("leaf.path.length", traced.path.length);
    visit("leaf.operands", l.operands);
    visit("leaf.sums", l.sums);
    spec("leaf.other", l.other);
    visit("leaf.kind.length", l.kind.length);
    visit("leaf.spelled.length", l.spelled.length);
    spec("leaf.in", l.in);
    spec("leaf.out", l.out);
    for (Parameter& p : l.parameters) {
      visit("parameter.name.length", p.name.length);
      shape("parameter.shape", p.shape);
      visit("parameter.initial", p.initial);
      visit("parameter.fan_in", p.fan_in);
      visit("parameter.tracks", p.tracks);
    }
    visit("leaf.parameter_count", l.parameter_count);
    visit("leaf.saves", l.saves);
    shape("leaf.statistics", l.statistics);
    visit("leaf.rows_together", l.rows_together);
    visit("leaf.weights_read", l.weights_read);
    visit("leaf.input_part_reads_saved", l.input_part_reads_saved);
    visit("leaf.elementwise", l.elementwise);
    visit("leaf.reshapes", l.reshapes);
    visit("leaf.vocabulary", l.vocabulary);
    visit("leaf.forward_flops", l.forward_flops);
    visit("leaf.backward_flops", l.backward_flops);
    visit("leaf.weight_flops", l.weight_flops);
    for (Signature& s : l.signatures) signature(s);
    visit("leaf.signature_count", l.signature_count);
    visit("leaf.by_hand", l.by_hand);
    visit("leaf.surplus_parameters", l.surplus_parameters);
    visit("leaf.surplus_signatures", l.surplus_signatures);
  }
  void node(Node& n) {
    visit("node.leaf", n.leaf);
    for (int& operand : n.operands) visit("node.operands", operand);
    visit("node.operand_count", n.operand_count);
    for (int& time : n.repetition) visit("node.repetition", time);
    visit("node.block", n.block);
    visit("node.first_parameter", n.first_parameter);
    visit("node.parameter_count", n.parameter_count);
    visit("node.frozen_count", n.frozen_count);
    visit("node.tied_to", n.tied_to);
  }
  void graph(OwnRequest& own) {
    for (TracedLeaf& l : own.leaves) leaf(l);
    for (Node& n : own.nodes) node(n);
    Graph& g = own.request.graph;
    visit("graph.parameter_count", g.parameter_count);
    visit("graph.tie_count", g.tie_count);
    visit("graph.first_backward", g.first_backward);
    spec("graph.input", g.input);
    visit("graph.model.length", g.model.length);
    visit("graph.split.ranks", g.split.ranks);
  }
  void mesh(Layout& l) {
    for (Axis& a : l.mesh.axes) visit("mesh.axes", a);
    for (int& size : l.mesh.sizes) visit("mesh.sizes", size);
    visit("mesh.count", l.mesh.count);
    for (bool& split : l.batch_split) visit("batch_split", split);
    visit("storage_axis", l.storage_axis);
    for (bool* what : {&l.sharding.parameters, &l.sharding.gradients, &l.sharding.states, &l.sharding.keeps}) visit("sharding", *what);
    for (int& share : l.shares) visit("shares", share);
    visit("share_count", l.share_count);
  }
  void layout(Layout& l, int leaves) {
    mesh(l);
    visit("chunk_count", l.chunk_count);
    const int chunks = 3 + (l.chunk_count > 0 && l.chunk_count < Layout::most_chunks - 3 ? l.chunk_count : 0);  // and a few that are not there
    for (int c = 0; c < chunks; ++c) {
      visit("first_node", l.first_node[c]);
      visit("device_of_chunk", l.device_of_chunk[c]);
      visit("in_flight", l.in_flight[c]);
      visit("turns.in_flight", l.turns[c].in_flight);
      visit("turns.delayed", l.turns[c].delayed);
    }
    for (int i = 0; i < leaves; ++i) {
      visit("signature", l.signature[i]);
      visit("laid_between", l.laid_between[i].code);
    }
    visit("loss.takes", l.loss.takes.code);
    visit("loss.terms", l.loss.terms);
    visit("order.name.length", l.order.name.length);
    for (bool* rule : {&l.order.named, &l.order.forwards_first, &l.order.in_sequence, &l.order.in_turns, &l.order.splits_backward})
      visit("order", *rule);
    visit("micro_batches", l.micro_batches);
    visit("trains", l.trains);
    visit("balanced", l.balanced);
  }
  void batch(BatchDivision& b) {
    for (int* number : {&b.batch, &b.ranks, &b.rounds, &b.micro_batches, &b.micro_rows, &b.share_count, &b.share_rows, &b.grain_rows})
      visit("batch", *number);
    for (int& share : b.shares) visit("batch.shares", share);
    visit("batch.remedy", b.remedy);
    visit("batch.tree", b.tree);
    visit("batch.grain_named", b.grain_named);
  }
  void all(OwnRequest& own) {
    LoweringRequest& r = own.request;
    graph(own);
    layout(r.layout, static_cast<int>(own.leaves.size()));
    batch(r.batch);
    visit("bucket_bytes", r.bucket_bytes.value);
    visit("target_features", r.target_features);
    visit("states", r.states);
    for (bool* option : {&r.clips, &r.scales_loss, &r.guards, &r.reproducible, &r.trains, &r.again.any, &r.again.blocks}) visit("option", *option);
    for (std::size_t l = 0; l < own.leaves.size(); ++l) visit("again.leaf", own.again[l]);
    for (std::int16_t& group : own.group_of) visit("groups.of_parameter", group);
    visit("budget", r.budget.value);
    visit("fitted", r.fitted);
    visit("fuses", r.fuses);
    visit("most_entries", r.most_entries);
    visit("most_instructions", r.most_instructions);
  }
};
template <class Visit> Numbers(Visit) -> Numbers<Visit>;

template <class Number> Number drawn(Draw& draw, Number old) {
  if constexpr (std::is_same_v<Number, bool>) {
    return !old;
  } else if constexpr (std::is_enum_v<Number>) {
    return static_cast<Number>(draw(3) == 0 ? draw(256) : draw(7));
  } else {
    using Wide = std::int64_t;
    constexpr auto least = std::numeric_limits<Number>::min(), most = std::numeric_limits<Number>::max();
    const Wide near = static_cast<Wide>(old);
    switch (draw(8)) {
      case 0: return least;
      case 1: return most;
      case 2: return static_cast<Number>(draw.bits());
      case 3: return static_cast<Number>(draw(70) - 3);
      case 4: return static_cast<Number>(near < 0 ? old : old / 2);
      case 5: return near > 1 << 20 || near < 0 ? old : static_cast<Number>(2 * near);
      default: return static_cast<Number>(near == least || near == most ? 0 : near + (draw(2) == 0 ? -1 : 1) * (1 + draw(3)) * (near > -100 ? 1 : 0));
    }
  }
}

/// How many numbers there are, and the name of one that was changed.
[[nodiscard]] int numbers_of(OwnRequest& own) {
  int count = 0;
  Numbers{[&](const char*, auto&) { ++count; }}.all(own);
  return count;
}
std::string change(OwnRequest& own, Draw& draw, int count) {
  const int wanted = draw(count);
  int at = 0;
  std::string name;
  Numbers{[&](const char* what, auto& number) {
    if (at++ != wanted) return;
    const auto old = number;
    number = drawn(draw, number);
    name =
        std::string{what} + " " + std::to_string(static_cast<std::int64_t>(old)) + " -> " + std::to_string(static_cast<std::int64_t>(number)) + ", ";
  }}.all(own);
  return name;
}
/// A view of fewer leaves or nodes, or of none.
std::string shorten(OwnRequest& own, Draw& draw) {
  Graph& g = own.request.graph;
  const bool of_leaves = draw(2) == 0;
  const int most = static_cast<int>(of_leaves ? own.leaves.size() : own.nodes.size());
  (of_leaves ? g.leaf_count : g.node_count) = draw(3) == 0 ? -draw(1000) : draw(most + 1);
  if (draw(8) == 0) g.leaves = nullptr;
  if (draw(8) == 0) g.nodes = nullptr;
  if (draw(8) == 0) own.request.again.leaf = nullptr;
  return "views, ";
}

struct Shared : Sequential<Named<"a", Linear<8, 8>>, Tanh, Tied<"b", Linear<8, 8>, To<"a">>, Linear<8, 4>> {};
struct Wide : Sequential<Linear<8, 12>, GELU, Linear<12, 8>, Repeat<2, Residual<Linear<8, 12>, GELU, Linear<12, 8>>>, Linear<8, 4>> {};
struct Normed : Sequential<Input<2, 8>, LayerNorm<8>, Branches<Add, Linear<8, 8>, RMSNorm<8>, Sequential<>>, Frozen<Linear<8, 8>>, Linear<8, 24>,
                           SelfAttention<Heads<2>, Causal>, Branches<Concat, Linear<8, 4>, Sequential<Dropout<1, 10>, Linear<8, 4>>>, Linear<8, 8>,
                           SwiGLU, Linear<4, 4>> {};
struct Pixels : Sequential<Input<2, 2, 2>, Linear<2, 4>, BatchNorm2d<2>, ReLU, Flatten, Linear<16, 4>> {};
template <int S, class Order, int M = 4> using In = Pipeline<Balanced<S>, Order, Microbatches<M>>;

[[nodiscard]] std::vector<LoweringRequest> sound_requests() {
  return {request_of<Trained<Chain, Single>::Request>(),
          request_of<Trained<Chain, Back, Clip<GlobalNorm>>::Request>(),
          request_of<Trained<Chain, DataParallel<2>, Bucket<1_B>, Grain<2>>::Request>(),
          request_of<Trained<Chain, WeightedDataParallel<3, 1>, Memory<1_GB>>::Request>(),
          request_of<Trained<Chain, In<2, OneFOneB>, Memory<1_GB>>::Request>(),
          request_of<Trained<Skips, In<2, GPipe>, Accumulate<2>, Recompute<GELU>>::Request>(),
          request_of<Trained<Skips, In<2, Interleaved<2>>, LossScaling>::Request>(),
          request_of<Trained<Skips, Hybrid<In<4, ZeroBubbleH1>, DataParallel<2>>, Recompute<GELU, Tanh>>::Request>(),
          request_of<Trained<Skips, Hybrid<In<3, OneFOneB>, Sharded<2, Keep::Step>>>::Request>(),
          request_of<Trained<Wide, Hybrid<TensorParallel<2>, In<2, OneFOneB>, Sharded<2, Gradients>>, Recompute<EveryBlock>>::Request>(),
          request_of<Trained<Wide, TensorParallel<4, SequenceParallel>>::Request>(),
          request_of<Trained<Shared, In<3, OneFOneB>>::Request>(),
          request_of<Trained<Shared, Hybrid<TensorParallel<2>, In<2, ZeroBubbleH1>, Sharded<2>>, Clip<GlobalNorm>>::Request>(),
          request_of<Trained<Normed, Hybrid<TensorParallel<2>, In<2, OneFOneB>, Sharded<2>>, NoDecay<>, Clip<GlobalNorm>>::Request>(),
          request_of<Trained<Normed, TensorParallel<2, SequenceParallel>, Recompute<RMSNorm<8>>>::Request>(),
          request_of<Trained<Pixels, Hybrid<In<2, OneFOneB>, Sharded<2>>, Grain<2>>::Request>(),
          request_of<Trained<Pixels, WeightedDataParallel<3, 1>>::Request>(),
          request_of<Inference<Wide, Batch<16, KeepLast>, Hybrid<In<2, OneFOneB>, DataParallel<2>>>::Request>()};
}

[[nodiscard]] std::string spelled(Code code) { return code.letter + std::to_string(code.number); }

/// How often each code refused, "ok" for what passed all checks.
void judge(const OwnRequest& own, std::map<std::string, int>& verdicts) {
  const LoweredPlan plan = lower(own.request);
  const Diagnosis found = check(plan);
  ++verdicts[(plan.fault().ok() ? "checked " : "") + (found.ok() ? std::string{"ok"} : spelled(found.code))];
  if (found.ok()) return;
  CHECK(found.sentence().view().find("[heddle.") == 0);
  CHECK((!plan.fault().ok() || found.words.length > 20));
  if (!plan.fault().ok()) CHECK(found.sentence().view().find("Fix: ") != std::string_view::npos);
}

}  // namespace

TEST_CASE("sound requests pass all checks") {
  for (const LoweringRequest& request : sound_requests()) CHECK(std::string{check(lower(request)).sentence().view()} == "");
}

TEST_CASE("a request with any one number changed in any way is refused with a code, or its Programs are checked") {
  std::map<std::string, int> verdicts;
  int cases = 0;
  std::uint64_t seed = 1;
  for (const LoweringRequest& request : sound_requests()) {
    OwnRequest own{request};
    const int count = numbers_of(own);
    for (int i = 0; i < 3'000; ++i, ++cases) {
      OwnRequest changed{request};
      Draw draw{seed++};
      std::string words;
      for (int changes = 1 + (i % 2 == 0 ? 0 : draw(3)); changes > 0; --changes)
        words += draw(40) == 0 ? shorten(changed, draw) : change(changed, draw, count);
      INFO(words);
      if (std::getenv("HEDDLE_SAYS_EACH") != nullptr) MESSAGE(cases << ": " << words);
      judge(changed, verdicts);
    }
  }
  std::string all;
  for (const auto& [code, times] : verdicts) all += ' ' + code + " x" + std::to_string(times);
  MESSAGE(cases << " requests:" << all);
  CHECK(cases >= 50'000);
  for (const char* const code : {"G27", "M15", "B13", "L19", "M2", "M7", "G6"}) CHECK(verdicts[code] > 0);
  CHECK(verdicts["checked ok"] > 1'000);
}
