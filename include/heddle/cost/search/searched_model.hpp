// SPDX-License-Identifier: MIT
// Room: cost. What a search knows of a model, its loss and its optimizer, and the request that a PlanChoice of them makes.
// Sees: plan/lower, graph, cost/search/{plan_choice, layer_times}.  Does not see: machines, processes, threads.
// In: Model, Loss, Optimizer.  Out: SearchedModel, request_for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "heddle/core/type_name.hpp"
#include "heddle/cost/search/layer_times.hpp"
#include "heddle/cost/search/plan_choice.hpp"
#include "heddle/graph/kept_values.hpp"
#include "heddle/plan/lower/lowering_request.hpp"
#include "heddle/plan/options/batch.hpp"

namespace heddle::cost_room {

/// A model, its loss and its optimizer, as data. Of Adam `states` is 2.
struct SearchedModel {
  std::string model, loss, optimizer;    ///< as a type names them
  const Graph* graph = nullptr;          ///< of float32 values
  const Graph* rounded_graph = nullptr;  ///< of Mixed<BFloat16>
  LossSplit loss_split;
  std::int64_t target_features = 1;
  int states = 0;
  bool has_blocks = false;                ///< Recompute<EveryBlock> names something
  std::shared_ptr<const bool[]> no_leaf;  ///< by leaf: none is named beside blocks
  LayerTimes times;                       ///< of its layers, where someone has measured them

  [[nodiscard]] const Graph& graph_for(const PlanChoice& c) const { return c.rounds_values ? *rounded_graph : *graph; }
};

/// Tested  cost/search/searched_model_test
template <class Model, class Loss, class Optimizer> [[nodiscard]] SearchedModel searched_model() {
  const Graph& graph = graph_of<Model>;
  SearchedModel out{std::string{type_name<Model>().view()},
                    std::string{type_name<Loss>().view()},
                    std::string{type_name<Optimizer>().view()},
                    &graph,
                    &KeptValues<Model, ElementType::bfloat16>::graph,
                    split_of_loss<Loss>(graph.output()),
                    Loss::target_features(graph.output()),
                    Optimizer::states,
                    false,
                    std::make_shared<bool[]>(static_cast<std::size_t>(graph.leaf_count)),
                    {}};
  for (int n = 0; n < graph.node_count; ++n) out.has_blocks = out.has_blocks || graph.nodes[n].block >= 0;
  return out;
}

/// What the lowering is asked for: a batch of `rows` under a choice. What refuses it is in the layout, in the division, or told by the lowering.
[[nodiscard]] inline LoweringRequest request_for(const SearchedModel& model, const PlanChoice& choice, int rows, Bytes budget) {
  LoweringRequest request;
  request.graph = model.graph_for(choice);
  request.layout = Layout{request.graph};
  request.layout.loss = model.loss_split;
  answer(choice, request.graph, request.layout);
  BatchRequest batch;
  batch.batch = rows;
  batch.rounds = choice.rounds;
  batch.regrouped = request.layout.fault.ok() && regroups_a_gradient(request.graph, request.layout);
  request.batch = divide_batch(request.layout, batch);
  request.target_features = model.target_features;
  request.states = model.states;
  if (choice.again) request.again = {model.no_leaf.get(), true, true};
  request.budget = budget;
  request.fitted = budget.value > 0;  // a balanced cut that does not fit gives way, as that of a Plan
  return request;
}
/// As Memory<...> names them, in the largest unit of which they are whole: 80,000,000,000 bytes are "80_GB".
[[nodiscard]] inline std::string memory_text(Bytes budget) {
  constexpr std::pair<std::int64_t, std::string_view> units[] = {
      {1'000'000'000, "_GB"}, {std::int64_t{1} << 30, "_GiB"}, {1'000'000, "_MB"}, {std::int64_t{1} << 20, "_MiB"}, {1'000, "_KB"}, {1'024, "_KiB"}};
  for (const auto& [bytes, name] : units)
    if (budget.value >= bytes && budget.value % bytes == 0) return written({budget.value / bytes, name});
  return written({budget.value, "_B"});
}
/// Hundredths of the unit that suits them: 67,350,000,000 bytes are "67.35 GB", 203,640 are "203.64 KB". So many may be rounded up, where they are
/// what is needed at least.
///
/// Tested  cost/search/searched_model_test
[[nodiscard]] inline std::string bytes_words(Bytes bytes, bool rounded_up = false) {
  constexpr std::pair<std::int64_t, std::string_view> units[] = {{1'000'000'000, " GB"}, {1'000'000, " MB"}, {1'000, " KB"}};
  for (const auto& [unit, name] : units) {
    const std::int64_t hundredth = unit / 100;
    const std::int64_t count = bytes.value / hundredth + (bytes.value % hundredth >= (rounded_up ? 1 : hundredth / 2) ? 1 : 0);
    if (count >= 100) return written({count / 100, count % 100 < 10 ? ".0" : ".", count % 100, name});
  }
  return written({bytes.value, " B"});
}
/// The whole type: "Plan<Gpt, CrossEntropy, AdamW, Batch<64>, DataParallel<8>, Memory<80_GB>>".
[[nodiscard]] inline std::string plan_text(const SearchedModel& model, const PlanChoice& choice, int rows, Bytes budget) {
  return written({"Plan<", model.model, ", ", model.loss, ", ", model.optimizer, ", Batch<", rows, ">", parts_text(choice),
                  budget.value > 0 ? written({", Memory<", memory_text(budget), ">"}) : std::string{}, ">"});
}

}  // namespace heddle::cost_room

namespace heddle::extending {
using cost_room::SearchedModel, cost_room::memory_text, cost_room::plan_text, cost_room::request_for, cost_room::searched_model;
}  // namespace heddle::extending
