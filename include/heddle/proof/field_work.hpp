// SPDX-License-Identifier: MIT
// Room: proof. What a proof trains, from types: the kernels of a model in the field, and the options of its optimizer in each step.
// Sees: graph, plan/program, run, compute/field, proof/field_run.  Does not see: policies, any transport.
// In: a model, a loss, an optimizer.  Out: FieldWork.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

#include "heddle/compute/field/any_layer.hpp"
#include "heddle/compute/field/attention.hpp"
#include "heddle/compute/field/batch_norm.hpp"
#include "heddle/compute/field/concat.hpp"
#include "heddle/compute/field/convolution.hpp"
#include "heddle/compute/field/dropout.hpp"
#include "heddle/compute/field/elementwise.hpp"
#include "heddle/compute/field/embedding.hpp"
#include "heddle/compute/field/linear.hpp"
#include "heddle/compute/field/losses.hpp"
#include "heddle/compute/field/norm.hpp"
#include "heddle/compute/field/optimizers.hpp"
#include "heddle/compute/field/pool.hpp"
#include "heddle/compute/field/positions.hpp"
#include "heddle/compute/field/reshape.hpp"
#include "heddle/compute/field/softmax.hpp"
#include "heddle/compute/field/swiglu.hpp"
#include "heddle/compute/field/watched.hpp"
#include "heddle/graph/trace.hpp"
#include "heddle/proof/field_run.hpp"
#include "heddle/run/group_constants.hpp"
#include "heddle/run/kernel_table.hpp"

namespace heddle::proof_room {

/// Walks a model as the kernels are collected and notes the layers that stand for any function.
/// Linear, a layer without a field kernel of its own and Linear make {false, true, false} and count 3.
template <int Leaves> struct WholeOnly {
  std::vector<bool> leaves = std::vector<bool>(static_cast<std::size_t>(Leaves));
  std::size_t count = 0;
  template <class L> int layer(int value) {
    if constexpr (Composite<L>)
      return L::trace(*this, value);
    else if constexpr (requires { FieldKernel<typename KernelLayerOf<L>::type>::whole_only; } && !run_room::RunsNoKernel<L>)
      leaves[count++] = true;
    else
      ++count;
    return value;
  }
  template <class L> int child(int, int value) { return layer<L>(value); }
  template <class L> int named(std::string_view, int value) { return layer<L>(value); }
  template <int, class Block> int repeat(int value) { return layer<Block>(value); }
  template <class Op> int join(int, int value, const Joint& = {}) { return layer<Op>(value); }
  template <class> int source(int, int value) { return ++count, value; }
  template <class...> void siblings() {}
};

/// The graph that a plan is compared over lives as long as the program.
template <class Model, class Loss, class Optimizer> [[nodiscard]] FieldWork field_work() {
  static constexpr Graph graph = graph_of<Model>;
  FieldWork work;
  work.graph = &graph;
  work.kernels = kernel_table<Model, Loss, Optimizer, FieldCompute>();
  WholeOnly<Traced<Model>::counted.leaves> walk;
  walk.template layer<Model>(0);
  work.whole_only = std::move(walk.leaves);
  work.target_features = Loss::target_features(graph.output());
  work.constants_bytes = sizeof(typename Optimizer::Constants);
  work.constants = [](std::int64_t step, const plan_room::ParameterGroups& groups) -> std::shared_ptr<const void> {
    typename Optimizer::Options options{};
    if constexpr (requires { options.learning_rate /= 2; }) options.learning_rate /= static_cast<decltype(options.learning_rate)>(step);
    if constexpr (requires { options.weight_decay = 0; })
      if (groups.any() && options.weight_decay == 0) options.weight_decay = 1;  // so that a group without decay is another function
    const auto all = std::make_shared<GroupConstants<Optimizer>>();
    return {all, all->make(options, step, groups)};
  };
  return work;
}

}  // namespace heddle::proof_room
