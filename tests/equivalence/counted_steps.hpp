// SPDX-License-Identifier: MIT
// What every rank of a plan takes in the steps of a trainer: no memory, under any policy, on threads and on processes. Plans are data, and what
// counts them is compiled once for a backend and a kind of targets.
#pragma once

#include <doctest/doctest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "equivalence/counted_memory.hpp"
#include "equivalence/equal.hpp"

namespace equivalence {

/// What the ranks that live in this process take from its construction on. An operator new counts for the thread that calls it.
template <class Session> class CountedRanks {
 public:
  CountedRanks(Session& session, int ranks) : session_(session), before_(static_cast<std::size_t>(ranks)), now_(before_) { look(before_); }
  /// "rank 3 took 96 bytes in 2 pieces. "; empty if none took any.
  [[nodiscard]] std::string taken() {
    look(now_);
    std::string words;
    for (std::size_t r = 0; r < now_.size(); ++r)
      if (now_[r].pieces != before_[r].pieces)
        words += written({"rank ", r, " took ", now_[r].bytes - before_[r].bytes, " bytes in ", now_[r].pieces - before_[r].pieces, " pieces. "});
    return words;
  }

 private:
  void look(std::vector<counted::Taken>& ranks) {
    session_.run([&](int rank) { ranks[static_cast<std::size_t>(rank)] = counted::by_this_thread; });
  }
  Session& session_;
  std::vector<counted::Taken> before_, now_;  // by rank
};

/// What the plans of one model share.
struct CountedModel {
  const Graph* graph = nullptr;
  LossSplit loss;
  std::int64_t target_features = 1;
  KernelTable kernels;
  int batch = 32;  // rows
  Bytes bucket = 1_KiB;
};
template <class Model, class Loss, class Backend> [[nodiscard]] CountedModel counted_model(int batch, Bytes bucket = 1_KiB) {
  static constexpr Graph graph = graph_of<Model>;
  return {&graph,
          split_of_loss<Loss>(graph.output()),
          Loss::target_features(graph.output()),
          kernel_table<Model, Loss, Adam, typename Backend::Compute>(),
          batch,
          bucket};
}

/// A policy, and what else a plan asks.
struct CountedPlan {
  std::string policy;
  void (*answer)(const Graph&, Layout&) = nullptr;
  struct Asked {
    int grain = 0;  // rows
    int rounds = 1;
    bool clips = false;
    bool scales_loss = false;
    bool runs_again = false;
  } asked;

  [[nodiscard]] PlanAsData of(const CountedModel& model) const {
    LoweringRequest request;
    request.graph = *model.graph;
    request.layout = Layout{*model.graph};
    request.layout.loss = model.loss;
    answer(*model.graph, request.layout);
    BatchRequest rows;
    rows.batch = model.batch;
    rows.remedy = Remedy::keep;
    rows.rounds = asked.rounds;
    rows.grain_rows = asked.grain;
    rows.regrouped = regroups_a_gradient(*model.graph, request.layout);
    request.batch = divide_batch(request.layout, rows);
    request.bucket_bytes = model.bucket;
    request.target_features = model.target_features;
    request.states = Adam::states;
    request.clips = asked.clips;
    request.scales_loss = asked.scales_loss;
    const std::vector<char> no_leaf(static_cast<std::size_t>(model.graph->leaf_count));
    if (asked.runs_again) request.again = {reinterpret_cast<const bool*>(no_leaf.data()), true, true};
    return {request, rows};
  }
};
template <class Policy> [[nodiscard]] CountedPlan under(CountedPlan::Asked asked = {}) {
  return {std::string{type_name<Policy>().view()}, &Policy::answer, asked};
}

/// From the first step on: whole batches of which every other one reports its loss, and a batch of few rows.
template <class Backend, class Target> [[nodiscard]] std::string taken_in_steps(const PlanAsData& plan, const KernelTable& kernels) {
  const int batch = plan.training().batch.batch;
  const Rows<Target> rows{batch, plan.graph().input.elements(), plan.graph().output().elements()};
  const auto whole = rows.batch(0, batch);
  const auto part = rows.batch(0, 5);
  TrainerState<Adam, TrainedRanks<typename Backend::Session, Target>> trainer{
      {plan.training(), plan.evaluation(), plan.graph(), plan.request().target_features, kernels}, settings<Adam>(), Seed{5}, {}};
  trainer.ranks.make(Seed{5});
  int reports = 0;
  trainer.ranks.on_step([&reports](const StepResult& result) { reports += result.loss.value() > 0 ? 1 : 0; }, Every{2});
  CountedRanks ranks{trainer.ranks.session(), plan.training().mesh.ranks()};
  for (int step = 0; step < 4; ++step) REQUIRE(trainer.ranks.step(step == 2 ? part : whole).rows == (step == 2 ? 5 : batch));
  const std::string words = ranks.taken();
  CHECK(reports == 2);
  return words;
}

/// For the plans of `Ranks` processes or threads, some of which may take no part.
template <class Backend, class Target, class Ranks> void check_steps(const CountedModel& model, const std::vector<CountedPlan>& plans) {
  for (const CountedPlan& asked : plans) {
    CAPTURE(asked.policy);
    const PlanAsData plan = asked.of(model);
    const Ranks ranks{plan.training().mesh.ranks()};
    if (ranks.taking_part()) CHECK(taken_in_steps<Backend, Target>(plan, model.kernels) == "");
  }
}

/// Each policy by itself and with others, on 2, 4 and 8 ranks: replicas and unequal shares, slices of each kind, split layers and sequences, stages
/// in each order, tied parameters; among them plans with rounds, grains, clipping, a scaled loss and layers that run again.
template <class Backend, class Ranks> void check_steps_under_every_policy() {
  struct Even : Sequential<Linear<23, 16>, ReLU, Residual<Linear<16, 20>, GELU, Linear<20, 16>>, Linear<16, 12>, Tanh, Linear<12, 60>> {};
  struct Steps
      : Sequential<Input<23>, Linear<23, 24>, Unflatten<4, 6>, Linear<6, 6>, Residual<Linear<6, 8>, GELU, Linear<8, 6>>, Flatten, Linear<24, 10>> {};
  struct Looped : Sequential<Named<"first", Linear<16, 19, NoBias>>, Tanh, Linear<19, 16>, Tied<"last", Linear<16, 19, NoBias>, To<"first">>> {};
  using OneThenOther = Pipeline<Balanced<2>, OneFOneB, Microbatches<4>>;
  using Zigzag = Pipeline<Balanced<2>, Interleaved<2>, Microbatches<4>>;
  using Filled = Pipeline<Balanced<2>, ZeroBubbleH1, Microbatches<4>>;
  using Positions = TensorParallel<2, SequenceParallel>;
  const auto check = [](const CountedModel& model, const std::vector<CountedPlan>& plans) {
    check_steps<Backend, std::int32_t, Ranks>(model, plans);
  };

  check(counted_model<Blocks, CrossEntropy, Backend>(32),
        {under<DataParallel<2>>({.clips = true}), under<DataParallel<4>>({.grain = 2}), under<DataParallel<8>>(), under<WeightedDataParallel<3, 1>>(),
         under<Sharded<2, OptimizerState>>({.grain = 2}), under<Sharded<2, heddle::Gradients>>({.rounds = 2}),
         under<Sharded<2>>({.runs_again = true}), under<Sharded<2, Keep::Step>>(), under<Sharded<4>>({.clips = true, .scales_loss = true}),
         under<Sharded<8>>(), under<Pipeline<Balanced<2>, GPipe, Microbatches<4>>>(), under<OneThenOther>({.scales_loss = true}), under<Zigzag>(),
         under<Filled>(), under<Pipeline<Balanced<4>, ZeroBubbleH1, Microbatches<8>>>(), under<Hybrid<Sharded<2>, DataParallel<2>>>({.rounds = 2}),
         under<Hybrid<Sharded<2>, WeightedDataParallel<3, 1>>>(), under<Hybrid<OneThenOther, Sharded<2>, DataParallel<2>>>({.clips = true})});
  check(counted_model<Even, CrossEntropy, Backend>(32),
        {under<TensorParallel<2>>(), under<TensorParallel<4>>(), under<Hybrid<TensorParallel<2>, Sharded<2>>>({.rounds = 2, .clips = true}),
         under<Hybrid<TensorParallel<2>, OneThenOther>>(), under<Hybrid<TensorParallel<2>, Zigzag, Sharded<2>>>(),
         under<Hybrid<DataParallel<2>, TensorParallel<4>>>({.rounds = 2}),
         under<Hybrid<TensorParallel<2>, Filled, Sharded<2, Keep::Step>>>({.clips = true, .scales_loss = true})});
  check(counted_model<Steps, CrossEntropy, Backend>(32),
        {under<Positions>({.clips = true}), under<Hybrid<Positions, DataParallel<2>>>(), under<Hybrid<Positions, Sharded<2>, DataParallel<2>>>()});
  check(counted_model<Looped, CrossEntropy, Backend>(32),
        {under<DataParallel<2>>(), under<OneThenOther>({.clips = true}), under<Hybrid<OneThenOther, Sharded<2>>>(),
         under<Hybrid<OneThenOther, Sharded<2>, DataParallel<2>>>({.scales_loss = true})});
}

}  // namespace equivalence
