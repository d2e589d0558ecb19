// SPDX-License-Identifier: MIT
// Room: cost. A plan as numbers: how many ranks each axis has, the order of micro-batches, what is sliced, what runs again; and the type it is.
// Sees: policy, core.  Does not see: programs, machines, processes.
// In: numbers.  Out: PlanChoice, its policy as text, its answers.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "heddle/core/written.hpp"
#include "heddle/policy/balanced_pipeline.hpp"
#include "heddle/policy/layout.hpp"
#include "heddle/policy/schedule/interleaved.hpp"
#include "heddle/policy/schedule/one_f_one_b.hpp"
#include "heddle/policy/schedule/zero_bubble_h1.hpp"
#include "heddle/policy/sharded.hpp"
#include "heddle/policy/tensor_parallel.hpp"

namespace heddle::cost_room {

/// Orders between which a search chooses. GPipe is none of them: 1F1B takes as long and keeps fewer micro-batches.
enum class SearchedOrder : std::uint8_t { one_f_one_b, interleaved_2, interleaved_4, zero_bubble_h1 };
inline constexpr std::array every_order{SearchedOrder::one_f_one_b, SearchedOrder::interleaved_2, SearchedOrder::interleaved_4,
                                        SearchedOrder::zero_bubble_h1};
[[nodiscard]] constexpr std::string_view name_of(SearchedOrder order) {
  switch (order) {
    case SearchedOrder::one_f_one_b: return "OneFOneB";
    case SearchedOrder::interleaved_2: return "Interleaved<2>";
    case SearchedOrder::interleaved_4: return "Interleaved<4>";
    case SearchedOrder::zero_bubble_h1: return "ZeroBubbleH1";
  }
  return "";
}
[[nodiscard]] constexpr OrderAsData data_of(SearchedOrder order) {
  switch (order) {
    case SearchedOrder::one_f_one_b: return order_as_data<OneFOneB>();
    case SearchedOrder::interleaved_2: return order_as_data<Interleaved<2>>();
    case SearchedOrder::interleaved_4: return order_as_data<Interleaved<4>>();
    case SearchedOrder::zero_bubble_h1: return order_as_data<ZeroBubbleH1>();
  }
  return {};
}
[[nodiscard]] constexpr int chunks_a_device(SearchedOrder order) {
  const int chunks = data_of(order).chunks_a_device;
  return chunks > 1 ? chunks : 1;
}

/// What of each unit the ranks of axis shard keep a slice of: ZeRO-1, 2, 3.
enum class SearchedSlices : std::uint8_t { states, gradients, parameters };
inline constexpr std::array every_slices{SearchedSlices::states, SearchedSlices::gradients, SearchedSlices::parameters};
[[nodiscard]] constexpr Sharding sharding_of(SearchedSlices what) {
  switch (what) {
    case SearchedSlices::states: return OptimizerState::sharding;
    case SearchedSlices::gradients: return Gradients::sharding;
    case SearchedSlices::parameters: return Parameters::sharding;
  }
  return {};
}

/// A plan as numbers, axes from the innermost: 8 x 4 x 1 x 2 ranks of axes tensor, stage, shard and data are 64 devices. Ranks that slice units lie
/// between stages and replicas, or within each stage, where links are faster.
///
/// Tested  cost/search/plan_choice_test
struct PlanChoice {
  int tensor = 1;
  bool splits_sequences = false;  ///< of axis tensor: SequenceParallel
  int stages = 1;
  SearchedOrder order = SearchedOrder::one_f_one_b;
  int micro_batches = 1;  ///< of one round
  int shard = 1;
  SearchedSlices slices = SearchedSlices::parameters;
  bool slices_inside = false;  ///< axis shard lies inside axis stage
  int data = 1;
  int rounds = 1;              ///< Accumulate
  bool again = false;          ///< Recompute<EveryBlock>
  bool rounds_values = false;  ///< Mixed<BFloat16>
  int cuts = 0;                ///< CutBefore so many layers, by measured times; 0: Balanced, by counted operations
  std::array<int, Layout::most_chunks> before{};

  [[nodiscard]] constexpr std::int64_t devices() const { return std::int64_t{tensor} * stages * shard * data; }
  [[nodiscard]] constexpr int batch_ranks() const { return shard * data; }
  friend constexpr bool operator==(const PlanChoice&, const PlanChoice&) = default;
};

/// How the model is cut: "Balanced<4>", or "CutBefore<13, 28, 43>".
[[nodiscard]] inline std::string cut_text(const PlanChoice& c) {
  if (c.cuts == 0) return written({"Balanced<", c.stages, ">"});
  std::string text = "CutBefore<";
  for (int i = 0; i < c.cuts; ++i) text += (i > 0 ? ", " : "") + std::to_string(c.before[static_cast<std::size_t>(i)]);
  return text + ">";
}
/// As a type says it: "Hybrid<TensorParallel<8>, Pipeline<Balanced<4>, OneFOneB, Microbatches<16>>, DataParallel<2>>".
[[nodiscard]] inline std::string policy_text(const PlanChoice& c) {
  std::string parts;
  int count = 0;
  const auto add = [&](const std::string& policy) { parts += (count++ > 0 ? ", " : "") + policy; };
  const auto slice = [&] {
    constexpr std::string_view what[] = {", OptimizerState", ", Gradients", ""};
    if (c.shard > 1) add(written({"Sharded<", c.shard, what[static_cast<int>(c.slices)], ">"}));
  };
  if (c.tensor > 1) add(written({"TensorParallel<", c.tensor, c.splits_sequences ? ", SequenceParallel>" : ">"}));
  if (c.slices_inside) slice();
  if (c.stages > 1)
    add(written({"Pipeline<", c.cuts > 0 ? "extending::" : "", cut_text(c), ", ", name_of(c.order), ", Microbatches<", c.micro_batches, ">>"}));
  if (!c.slices_inside) slice();
  if (c.data > 1) add(written({"DataParallel<", c.data, ">"}));
  if (count == 0) return "Single";
  return count == 1 ? parts : "Hybrid<" + parts + ">";
}
/// The policy and the options beside it, each behind a comma: ", DataParallel<2>, Recompute<EveryBlock>".
[[nodiscard]] inline std::string parts_text(const PlanChoice& c) {
  std::string text = ", " + policy_text(c);
  if (c.rounds > 1) text += written({", Accumulate<", c.rounds, ">"});
  if (c.again) text += ", Recompute<EveryBlock>";
  if (c.rounds_values) text += ", Mixed<BFloat16>";
  return text;
}

/// Answers as the policies that policy_text names: axis by axis, innermost first.
constexpr void answer(const PlanChoice& c, const Graph& graph, Layout& layout) {
  if (c.tensor > 1) {
    layout.claim(axis::tensor, c.tensor);
    if (layout.fault.ok()) choose_signatures(graph, layout, c.tensor, c.splits_sequences);
  }
  const auto slice = [&] {
    if (c.shard == 1) return;
    layout.claim(axis::shard, c.shard);
    layout.splits_batch(axis::shard);
    layout.keeps_slices(axis::shard, sharding_of(c.slices));
  };
  if (c.slices_inside) slice();
  if (c.stages > 1) BalancedPipeline{c.stages, data_of(c.order), c.micro_batches, c.before.data(), c.cuts}.answer(graph, layout);
  if (!c.slices_inside) slice();
  if (c.data > 1) {
    layout.claim(axis::data, c.data);
    layout.splits_batch(axis::data);
  }
}

}  // namespace heddle::cost_room

namespace heddle::extending {
using cost_room::PlanChoice, cost_room::SearchedOrder, cost_room::SearchedSlices, cost_room::parts_text, cost_room::policy_text;
}  // namespace heddle::extending
