// SPDX-License-Identifier: MIT
// Plans that a seed draws while the test runs: a model, policies in any order, a division of the batch, options. Each is lowered and checked as a
// Plan is, and what passes the checks is run in exact arithmetic.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "heddle/backend/field_threads.hpp"
#include "heddle/plan/lowered.hpp"
#include "heddle/plan/one_device.hpp"

namespace drawn_plans {

using namespace heddle;

// ---- models
// Twelve classes or ids where labels or ids are drawn: of four, a bound of 2^-40 takes 21 draws of a plan, of twelve 12.

struct Block : Residual<Linear<6, 12>, GELU, Linear<12, 6>> {};
struct Early : Residual<Tanh, Linear<6, 6, NoBias>> {};
struct Deep : Sequential<Linear<5, 6>, Repeat<3, Block>, Linear<6, 12>> {};
struct Blended : Sequential<Linear<5, 6>, ReLU, Repeat<2, Early>, Residual<Block, Sigmoid>, Linear<6, 6>> {};
struct Plain : Sequential<Named<"a", Linear<7, 12>>, ReLU, Named<"b", Linear<12, 12, NoBias>>, Tanh, Named<"c", Linear<12, 12>>> {};
struct Shaped : Sequential<Input<4, 6>, Repeat<2, Block>, Flatten, Linear<24, 12>, GELU, Unflatten<2, 6>, Linear<6, 4>> {};
struct Gate : Residual<Linear<6, 16>, SwiGLU, Linear<8, 6>> {};
struct Words : Sequential<Input<4>, Embedding<12, 6>, Repeat<2, Gate>, Linear<6, 12>> {};
struct TiedWords : Sequential<Input<6>, Named<"in", Embedding<12, 6>>, Repeat<2, Block>, Tied<"out", Linear<6, 12, NoBias>, To<"in">>> {};
struct TiedTwice : Sequential<Named<"a", Linear<6, 6>>, GELU, Tied<"b", Linear<6, 6>, To<"a">>, Block, Tied<"c", Linear<6, 6>, To<"a">>> {};
struct ByHand : Sequential<Column<Linear<5, 12>>, ReLU, Row<Linear<12, 6>>, Tanh, Linear<6, 6>> {};
struct Skips : Sequential<Linear<5, 6>, Residual<Residual<Linear<6, 6>, Tanh>, GELU, Block>, Linear<6, 12>> {};
struct Later : Sequential<Input<2, 3>, ReLU, Flatten, Tanh, Linear<6, 6>, GELU, Linear<6, 6>, Sigmoid> {};  // its first layers run no backward
/// Norms leave statistics for their backward, a frozen one for the gradient of its input alone.
struct NormedBlock : Residual<LayerNorm<6>, Linear<6, 12>, GELU, RMSNorm<12, Epsilon<6>>, Dropout<1, 3>, Linear<12, 6>, Dropout<1, 4>> {};
struct Normed : Sequential<Input<4, 6>, RMSNorm<6>, Linear<6, 6>, Repeat<2, NormedBlock>, Frozen<LayerNorm<6>>, Linear<6, 12>> {};
/// Images whose channels are normalised over grains, and by what was tracked where that is frozen.
struct ImagedBlock : Residual<BatchNorm2d<6, Momentum<1, 3>>, Tanh> {};
struct Imaged : Sequential<Input<3>, Linear<3, 12>, Unflatten<6, 2, 1>, BatchNorm2d<6>, Repeat<2, ImagedBlock>, Frozen<BatchNorm2d<6>>, GELU, Flatten,
                           Linear<12, 12>, Unflatten<12, 1, 1>, BatchNorm2d<12>, Flatten> {};
/// Branches that are added or joined, of the input, in blocks and of a value with itself.
struct ForkedBlock : Branches<Add, Sequential<Branches<Concat, Linear<6, 4>, Tanh>, Linear<10, 6>>, Sequential<>, Frozen<Linear<6, 6>>> {};
struct Forked : Sequential<Input<4, 6>, Branches<ConcatAlong<0>, Linear<6, 6>, Sequential<>>, Repeat<2, ForkedBlock>,
                           Branches<Concat, ReLU, Sequential<>>, Linear<12, 12>> {};
/// Attention, whose backward reads its output and what it has left.
struct Attending
    : Sequential<Input<3, 6>, Linear<6, 6>, Repeat<2, Residual<LayerNorm<6>, Linear<6, 18>, SelfAttention<Heads<2>, Causal>, Linear<6, 6>>>,
                 Frozen<Linear<6, 12>>, SelfAttention<Heads<4>, KeyValueHeads<1>>, Linear<8, 4>> {};
/// Three projections, and two, which ranks split alike.
struct ApartBlock : Residual<LayerNorm<6>, Branches<Concat, Linear<6, 12>, Linear<6, 6, NoBias>, Linear<6, 6>>,
                             SelfAttention<Heads<4>, KeyValueHeads<2>>, Linear<12, 6>> {};
struct Apart : Sequential<Input<3, 6>, Linear<6, 6>, ApartBlock, Branches<Concat, Linear<6, 12>, Linear<6, 12>>, SwiGLU, Linear<12, 4>> {};
/// Convolutions and pools, whose channels and groups ranks split.
struct ConvolvedBlock : Residual<Conv2d<6, 6, KernelSize<3>, Padding<1>, NoBias>, Tanh> {};
struct Convolved
    : Sequential<Input<3>, Linear<3, 24>, Unflatten<2, 3, 4>, Conv2d<2, 6, KernelSize<3>, Padding<1>>, ReLU, Repeat<2, ConvolvedBlock>,
                 MaxPool2d<KernelSize<2>, Stride<1>>, Conv2d<6, 12, KernelSize<2>, Groups<6>>, AvgPool2d<KernelSize<1, 2>>, Flatten, Linear<12, 12>> {
};
/// Positions that are learned and turned, a row of padding, and weights of attention that are dropped.
struct ToldBlock : Residual<LayerNorm<6>, Linear<6, 18>, Rotary<2, Heads<3>>, SelfAttention<Heads<3>, Causal, Dropout<1, 3>>, Linear<6, 6>> {};
struct Told : Sequential<Input<4>, Embedding<12, 6, PaddingIndex<2>>, LearnedPositions<4, 6>, Repeat<2, ToldBlock>, GELUTanh, Linear<6, 12>> {};
/// Two losses that read parts of what it gives, one of them behind fewer layers.
struct Divided : Sequential<Linear<5, 6>, Tanh, Branches<Concat, Sequential<Linear<6, 6>, GELU, Linear<6, 12>>, Linear<6, 3>>> {};
using DividedLosses = Losses<LossOf<"label", Outputs<12>, CrossEntropyWith<Ignored<-100>>>, LossOf<"values", Outputs<3>, Huber<>, LossWeight<1, 2>>>;
/// Frozen layers in front, in blocks and behind, where they pass gradients on to what is trained.
struct Tuned : Sequential<Frozen<Sequential<Linear<5, 6>, Tanh>>, Linear<6, 6>, Repeat<2, Residual<Frozen<Linear<6, 12>>, GELU, Linear<12, 6>>>,
                          Frozen<Linear<6, 12>>> {};

/// Three groups that take turns among the parameters of a model; uses of tied parameters are of their owner's.
struct DrawnGroups {
  std::vector<ParameterGroup> list{{}, {1, 10, false}, {3, 2, true}};
  std::vector<std::int16_t> of_parameter;

  explicit DrawnGroups(const Graph& graph) : of_parameter(static_cast<std::size_t>(graph.parameter_count)) {
    for (int n = 0; n < graph.node_count; ++n)
      for (int k = 0; k < graph.nodes[n].parameter_count; ++k)
        of_parameter[static_cast<std::size_t>(graph.nodes[n].first_parameter + k)] =
            static_cast<std::int16_t>((graph.nodes[graph.owner(n)].first_parameter + k) % 3);
  }
  [[nodiscard]] ParameterGroups view() const { return {list.data(), of_parameter.data(), static_cast<int>(list.size())}; }
};

/// What a drawn plan needs to know of a model, its loss and its optimizer.
struct DrawnModel {
  std::string name;
  FieldWork work;
  LossSplit loss;
  int states = 0;
  int blocks = 0;  // layers that stand in a Repeat
  DrawnGroups groups;
};
template <class Model, class Loss, class Optimizer> DrawnModel drawn_model(const char* name) {
  DrawnModel model{name, field_work<Model, Loss, Optimizer>(), split_of_loss<Loss>(graph_of<Model>.output()), Optimizer::states,
                   0,    DrawnGroups{graph_of<Model>}};
  for (int n = 0; n < model.work.graph->node_count; ++n) model.blocks += model.work.graph->nodes[n].block >= 0 ? 1 : 0;
  return model;
}
/// visit.operator()<Model, Loss, Optimizer>(name) of each model that may be drawn.
template <class Visit> void each_model(Visit visit) {
  visit.template operator()<Deep, CrossEntropy, Adam>("Deep");
  visit.template operator()<Blended, MeanSquaredError, SGD>("Blended");
  visit.template operator()<Plain, CrossEntropy, MomentumSGD>("Plain");
  visit.template operator()<Shaped, MeanSquaredError, AdamW>("Shaped");
  visit.template operator()<Words, CrossEntropyWith<Ignored<-100>>, AdamW>("Words");
  visit.template operator()<TiedWords, CrossEntropy, Adam>("TiedWords");
  visit.template operator()<TiedTwice, CrossEntropy, SGD>("TiedTwice");
  visit.template operator()<ByHand, MeanSquaredError, Adam>("ByHand");
  visit.template operator()<Skips, CrossEntropy, MomentumSGD>("Skips");
  visit.template operator()<Later, MeanSquaredError, Adam>("Later");
  visit.template operator()<Tuned, CrossEntropy, AdamW>("Tuned");
  visit.template operator()<Normed, CrossEntropy, AdamW>("Normed");
  visit.template operator()<Forked, CrossEntropy, Adam>("Forked");
  visit.template operator()<Imaged, CrossEntropy, AdamW>("Imaged");
  visit.template operator()<Attending, MeanSquaredError, Adam>("Attending");
  visit.template operator()<Apart, MeanSquaredError, SGD>("Apart");
  visit.template operator()<Convolved, CrossEntropy, Adam>("Convolved");
  visit.template operator()<Told, CrossEntropyWith<LabelSmoothing<1, 10>>, AdamW>("Told");
  visit.template operator()<Divided, DividedLosses, AdamW>("Divided");
}
[[nodiscard]] inline const std::vector<DrawnModel>& models() {
  static const std::vector<DrawnModel> all = [] {
    std::vector<DrawnModel> made;
    each_model([&]<class Model, class Loss, class Optimizer>(const char* name) { made.push_back(drawn_model<Model, Loss, Optimizer>(name)); });
    return made;
  }();
  return all;
}

// ---- policies, by the axis that they claim

struct DrawnPolicy {
  const char* name;
  void (*answer)(const Graph&, Layout&);
};
#define HEDDLE_POLICY(...) \
  DrawnPolicy { #__VA_ARGS__, &__VA_ARGS__::answer }
[[nodiscard]] inline const std::vector<std::vector<DrawnPolicy>>& policies() {
  static const std::vector<std::vector<DrawnPolicy>> all{
      {HEDDLE_POLICY(DataParallel<2>), HEDDLE_POLICY(DataParallel<3>), HEDDLE_POLICY(DataParallel<4>), HEDDLE_POLICY(WeightedDataParallel<3, 1>),
       HEDDLE_POLICY(WeightedDataParallel<1, 2, 1>)},
      {HEDDLE_POLICY(Sharded<2>), HEDDLE_POLICY(Sharded<4>), HEDDLE_POLICY(Sharded<2, OptimizerState>), HEDDLE_POLICY(Sharded<4, OptimizerState>),
       HEDDLE_POLICY(Sharded<2, Gradients>), HEDDLE_POLICY(Sharded<4, Gradients>), HEDDLE_POLICY(Sharded<2, Keep::Step>),
       HEDDLE_POLICY(Sharded<4, Keep::Step>)},
      {HEDDLE_POLICY(TensorParallel<2>), HEDDLE_POLICY(TensorParallel<3>), HEDDLE_POLICY(TensorParallel<2, SequenceParallel>),
       HEDDLE_POLICY(TensorParallel<3, SequenceParallel>)},
      {HEDDLE_POLICY(Pipeline<Balanced<2>>), HEDDLE_POLICY(Pipeline<Balanced<3>, Microbatches<2>>),
       HEDDLE_POLICY(Pipeline<Balanced<2>, GPipe, Microbatches<2>>), HEDDLE_POLICY(Pipeline<Balanced<2>, OneFOneB, Microbatches<2>>),
       HEDDLE_POLICY(Pipeline<Balanced<3>, OneFOneB, Microbatches<4>>), HEDDLE_POLICY(Pipeline<Balanced<2>, Interleaved<2>, Microbatches<2>>),
       HEDDLE_POLICY(Pipeline<Balanced<2>, Interleaved<2>, Microbatches<4>>), HEDDLE_POLICY(Pipeline<Balanced<2>, ZeroBubbleH1, Microbatches<2>>),
       HEDDLE_POLICY(Pipeline<Balanced<3>, ZeroBubbleH1, Microbatches<4>>)}};
  return all;
}
#undef HEDDLE_POLICY

// ---- one plan

/// Draws of one seed, one after another.
class Draw {
 public:
  explicit Draw(std::uint64_t seed) : seed_(seed) {}
  /// 0 .. choices - 1
  int operator()(int choices) { return static_cast<int>(bits64(Seed{seed_}, 99, next_++) % static_cast<std::uint64_t>(choices)); }
  bool one_in(int n) { return (*this)(n) == 0; }

 private:
  std::uint64_t seed_;
  std::uint64_t next_ = 0;
};

struct DrawnPlan {
  const DrawnModel* model = nullptr;
  LoweringRequest request;
  std::vector<bool> again;  // by leaf
  std::string text;         // what was drawn
};

inline void draw_policies(Draw& draw, const Graph& graph, DrawnPlan& plan) {
  std::vector<int> axes{0, 1, 2, 3};
  for (std::size_t i = axes.size(); i > 1; --i) std::swap(axes[i - 1], axes[static_cast<std::size_t>(draw(static_cast<int>(i)))]);
  const int wanted = draw.one_in(12) ? 0 : 1 + draw(3);
  for (int i = 0; i < wanted; ++i) {
    const std::vector<DrawnPolicy>& of_axis = policies()[static_cast<std::size_t>(axes[static_cast<std::size_t>(i)])];
    const DrawnPolicy& policy = of_axis[static_cast<std::size_t>(draw(static_cast<int>(of_axis.size())))];
    Layout tried = plan.request.layout;
    policy.answer(graph, tried);
    if (tried.mesh.ranks() > 12) continue;
    plan.request.layout = tried;
    plan.text += std::string{" x "} + policy.name;
  }
}
inline void draw_batch(Draw& draw, const Graph& graph, DrawnPlan& plan) {
  constexpr Remedy remedies[] = {Remedy::none, Remedy::keep, Remedy::keep, Remedy::pad, Remedy::drop};
  BatchRequest rows;
  rows.batch = 6 + 2 * draw(4);
  if (draw.one_in(2)) rows.batch = 4 * (1 + draw(3));
  rows.remedy = remedies[draw(5)];
  rows.rounds = draw.one_in(3) ? 2 + draw(2) : 1;
  rows.grain_rows = draw.one_in(3) ? 1 + draw(3) : 0;
  rows.regrouped = regroups_a_gradient(graph, plan.request.layout);
  plan.request.batch = divide_batch(plan.request.layout, rows);
  plan.text += ", batch " + std::to_string(rows.batch) + " remedy " + std::to_string(static_cast<int>(rows.remedy)) + " rounds " +
               std::to_string(rows.rounds) + " grain " + std::to_string(rows.grain_rows);
}

[[nodiscard]] inline DrawnPlan drawn(std::uint64_t seed) {
  Draw draw{seed};
  const DrawnModel& model = models()[static_cast<std::size_t>(draw(static_cast<int>(models().size())))];
  const Graph& graph = *model.work.graph;
  DrawnPlan plan{&model, {}, {}, "seed " + std::to_string(seed) + ": " + model.name};
  plan.request.graph = graph;
  plan.request.layout = Layout{graph};
  plan.request.layout.loss = model.loss;
  draw_policies(draw, graph, plan);
  draw_batch(draw, graph, plan);
  plan.request.bucket_bytes = Bytes{64 << draw(6)};
  plan.request.target_features = model.work.target_features;
  plan.request.states = model.states;
  plan.request.clips = draw.one_in(3);
  plan.request.scales_loss = draw.one_in(4);
  plan.again.assign(static_cast<std::size_t>(graph.leaf_count), false);
  const int again = draw(4);  // 0 and 1: nothing runs again
  if (again == 2 && model.blocks > 0) plan.request.again = {nullptr, true, true};
  if (again == 3)
    for (std::size_t l = 0; l < plan.again.size(); ++l) plan.again[l] = draw.one_in(2);
  plan.text += ", bucket " + std::to_string(plan.request.bucket_bytes.value) + (plan.request.clips ? ", clips" : "") +
               (plan.request.scales_loss ? ", scales its loss" : "") + ", runs again " + std::to_string(again);
  if (draw.one_in(3)) {
    plan.request.groups = model.groups.view();
    plan.text += ", groups";
  }
  plan.request.groups.clips_values = !plan.request.clips && draw.one_in(4);
  if (plan.request.groups.clips_values) plan.text += ", clips each value";
  plan.request.guards = draw.one_in(4);
  if (plan.request.guards) plan.text += ", guarded";
  return plan;
}

/// Lowered, with its own leaves to run again.
[[nodiscard]] inline LoweredPlan lowered(DrawnPlan& plan) {
  const auto leaves = std::make_unique<bool[]>(plan.again.size());
  for (std::size_t l = 0; l < plan.again.size(); ++l) {
    leaves[l] = plan.again[l];
    plan.request.again.any = plan.request.again.any || plan.again[l];
  }
  plan.request.again.leaf = leaves.get();
  return lower(plan.request);  // copies what the request shows
}

// ---- one device

/// References of all drawn plans, by model, rows, clipping and groups, and by grains where rows are normalised together.
class Devices {
 public:
  using Alone = OneDevice<FieldThreads::SessionOfOne>;

  explicit Devices(ProofOptions how) : how_(how) {}
  [[nodiscard]] Alone& of(const DrawnPlan& plan) {
    const BatchDivision& batch = plan.request.batch;
    const bool joins = first_joining_rows(*plan.model->work.graph) >= 0;
    const bool fills = batch.remedy == Remedy::drop || (joins && batch.remedy != Remedy::pad);
    const Key key{plan.model,
                  batch.batch,
                  fills ? batch.capacity() : batch.batch,
                  fills ? Remedy::keep : batch.remedy,
                  fills ? batch.remedy : Remedy::none,
                  plan.request.clips                 ? 1
                  : plan.request.groups.clips_values ? 2
                                                     : 0,
                  plan.request.groups.any(),
                  joins ? batch.grain_rows : 0};
    auto found = all_.find(key);
    if (found == all_.end()) found = all_.emplace(key, make(plan, key)).first;
    return *found->second->alone;
  }

 private:
  /// Model, rows that are given, rows that count, what a smaller batch means, what it means to the plan if that is something else, clipping, groups,
  /// rows of a grain if they count.
  using Key = std::tuple<const DrawnModel*, int, int, Remedy, Remedy, int, bool, int>;
  struct Made {
    LoweredPlan programs;
    std::unique_ptr<Alone> alone;
  };
  std::unique_ptr<Made> make(const DrawnPlan& plan, const Key& key) const {
    LoweringRequest request = plan.request;
    request.layout = Layout{*plan.model->work.graph};
    request.layout.loss = plan.model->loss;
    BatchRequest rows;
    rows.batch = std::get<2>(key);
    rows.remedy = std::get<3>(key);
    const int grain = std::get<7>(key);
    if (rows.remedy == Remedy::pad && grain > 0)
      rows.rounds = plan.request.batch.capacity() / grain;  // as OneDeviceOf
    else
      rows.grain_rows = grain;
    request.batch = divide_batch(request.layout, rows);
    request.scales_loss = false;
    request.again = {};
    auto made = std::make_unique<Made>(Made{lower(request), nullptr});
    made->alone = std::make_unique<Alone>(plan.model->work, ProgramPair{&made->programs.training(), &made->programs.evaluation()},
                                          steps_of(plan.request.batch), how_);
    return made;
  }
  ProofOptions how_;
  std::map<Key, std::unique_ptr<Made>> all_;
};

}  // namespace drawn_plans
