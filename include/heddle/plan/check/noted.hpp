// SPDX-License-Identifier: MIT
// Room: plan. What the lowering noted beside its lines is what follows from the model, the layout and the batch: the other checks believe it.
// Sees: plan/program, policy/layout, graph.  Does not see: lowering, policies by name, processes, threads.
// In: a Program and what it was made from.  Out: ok, or S18 with what is noted and what follows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "heddle/core/rule.hpp"
#include "heddle/plan/check/restated.hpp"
#include "heddle/plan/program/program.hpp"
#include "heddle/policy/layout.hpp"

namespace heddle::plan_room {

/// What a Program was made from, as nobody has divided it yet.
/// A plan with CrossEntropy over 10 classes and Adam has 1 target a row and 2 states.
struct MadeFrom {
  const Graph& model;  ///< whole, as one device has it
  const Layout& layout;
  const BatchDivision& batch;
  std::int64_t target_features = 1;
  int states = 0;  ///< of the optimizer, for each parameter
  BeforeStep before{};
  ParameterGroups groups{};
};
/// Of a request that is data, or of one that is a type: plan_room::made_from(Request{}).
template <class Request> [[nodiscard]] constexpr MadeFrom made_from(const Request& in) {
  return {.model = in.graph,
          .layout = in.layout,
          .batch = in.batch,
          .target_features = in.target_features,
          .states = in.states,
          .before = in.before_step(),
          .groups = in.groups};
}

/// S18 of a fact: "the size of axis tensor is noted as 1, but 2 follows from the model, the layout and the batch. Fix: ...".
template <class Fact> [[nodiscard]] constexpr Diagnosis noted_otherwise(std::string_view what, std::string_view of, Fact noted, Fact follows) {
  return Diagnosis{Code{'S', 18}, what} << of << " is noted as " << noted << ", but " << follows
                                        << " follows from the model, the layout and the batch. Fix: lower the plan from these once more.";
}

/// True if the whole of `how` lies so on `ranks` ranks: of (4, 6) in Shard<1> on 2 ranks each has (4, 3).
[[nodiscard]] constexpr bool is_part(const Shape& part, const Shape& whole, Laid how, int ranks) {
  bool fits = part.dimensions == whole.dimensions;
  for (int d = 0; d < whole.dimensions && fits; ++d) fits = part.sizes[d] * (how.dimension() == d ? ranks : 1) == whole.sizes[d];
  return fits;
}

/// The model of a Program, leaf by leaf: whole but for the sizes of what is split.
struct NotedModel {
  const Graph& noted;
  const MadeFrom& from;
  const Graph& whole = from.model;
  const int ranks = from.layout.mesh.size(Axis::tensor);

  [[nodiscard]] constexpr Diagnosis find() const {
    const auto count = [](std::string_view what, std::int64_t n, std::int64_t follows) { return noted_otherwise(what, "", n, follows); };
    if (noted.split.ranks != ranks) return count("the size of axis tensor", noted.split.ranks, ranks);
    if (noted.leaf_count != whole.leaf_count) return count("the number of kinds of layers", noted.leaf_count, whole.leaf_count);
    if (noted.node_count != whole.node_count) return count("the number of layers", noted.node_count, whole.node_count);
    if (noted.parameter_count != whole.parameter_count) return count("the number of parameters", noted.parameter_count, whole.parameter_count);
    if (noted.tie_count != whole.tie_count) return count("the number of tied layers", noted.tie_count, whole.tie_count);
    if (noted.first_backward != whole.first_backward)
      return count("the first layer that runs a backward", noted.first_backward, whole.first_backward);
    if (!(noted.input == whole.input)) return count("the size of the input of the model", noted.input.elements(), whole.input.elements());
    if (noted.input_count != whole.input_count) return count("the number of inputs of the model", noted.input_count, whole.input_count);
    for (int i = 1; i < whole.input_count; ++i)
      if (!(noted.input_of(i) == whole.input_of(i)))
        return count("the size of another input of the model", noted.input_of(i).elements(), whole.input_of(i).elements());
    for (int l = 0; l < whole.leaf_count && (ranks > 1 || noted.leaves != whole.leaves); ++l)
      if (const Diagnosis found = leaf(l); !found.ok()) return found;
    for (int n = 0; n < whole.node_count && noted.nodes != whole.nodes; ++n)
      if (!(noted.nodes[n] == whole.nodes[n])) return count("how many layers are connected as in the model", n, whole.node_count);
    return {};
  }

 private:
  [[nodiscard]] constexpr Diagnosis leaf(int l) const {
    const Leaf& is = noted.leaves[l].leaf;
    const Leaf& all = whole.leaves[l].leaf;
    const Signature splits = ranks > 1 ? from.layout.signature_of(whole, l) : unsplit;
    const auto size = [&](std::string_view what, const Shape& part, const Shape& of, Laid how) {
      return noted_otherwise(what, all.spelled.view(), part.elements(), of.elements() / (how.sharded() ? ranks : 1));
    };
    if (!is_part(is.in.shape, all.in.shape, splits.input, ranks)) return size("the size of the input of ", is.in.shape, all.in.shape, splits.input);
    if (all.operands == 2 && !is_part(is.other.shape, all.other.shape, splits.operand(1), ranks))
      return size("the size of the second input of ", is.other.shape, all.other.shape, splits.operand(1));
    if (!is_part(is.out.shape, all.out.shape, splits.output, ranks))
      return size("the size of the output of ", is.out.shape, all.out.shape, splits.output);
    if (!is_part(is.statistics, all.statistics, splits.statistics, ranks))
      return noted_otherwise("the size of the statistics of ", all.spelled.view(), is.statistics_elements(),
                             all.statistics_elements() / (splits.statistics.sharded() ? ranks : 1));
    for (const auto phases : {&Leaf::forward_phases, &Leaf::backward_phases})
      for (int k = 0; k + 1 < Phases::most; ++k)
        if ((is.*phases).sums[k] * (splits.parts_of_sums ? ranks : 1) != (all.*phases).sums[k])
          return noted_otherwise("what is told between two phases of ", all.spelled.view(), (is.*phases).sums[k],
                                 (all.*phases).sums[k] / (splits.parts_of_sums ? ranks : 1));
    if (is.parameter_count != all.parameter_count)
      return noted_otherwise<std::int64_t>("the number of parameters of ", all.spelled.view(), is.parameter_count, all.parameter_count);
    for (int k = 0; k < all.parameter_count; ++k)
      if (!is_part(is.parameters[k].shape, all.parameters[k].shape, splits.parameters[k], ranks))
        return size("the size of a parameter of ", is.parameters[k].shape, all.parameters[k].shape, splits.parameters[k]);
    if (ranks > 1) {
      if (const Diagnosis found = lies(l, splits); !found.ok()) return found;
      const Spec& between = noted.split.spec_between[l];
      if (const Laid laid = from.layout.laid_between[l]; !is_part(between.shape, all.out.shape, laid, ranks))
        return size("the size between layers of the output of ", between.shape, all.out.shape, laid);
      if (between.type != all.out.type)
        return noted_otherwise("the elements between layers of the output of ", all.spelled.view(), name_of(between.type), name_of(all.out.type));
    }
    return noted.leaves[l] == divided(l, splits) ? Diagnosis{} : told(l);
  }
  /// A leaf as it must be noted: the whole one, but for the sizes of `noted`, which are compared before, and the operations of one rank. What is
  /// described beside these is the same on each rank, whatever a description may come to have.
  [[nodiscard]] constexpr TracedLeaf divided(int l, const Signature& splits) const {
    TracedLeaf all = whole.leaves[l];
    if (ranks == 1) return all;
    const Leaf& is = noted.leaves[l].leaf;
    Leaf& leaf = all.leaf;
    leaf.in.shape = is.in.shape;
    if (leaf.operands == 2) leaf.other.shape = is.other.shape;
    leaf.out.shape = is.out.shape;
    leaf.statistics = is.statistics;
    leaf.forward_phases = is.forward_phases;
    leaf.backward_phases = is.backward_phases;
    for (int k = 0; k < leaf.parameter_count; ++k) leaf.parameters[k].shape = is.parameters[k].shape;
    const int parts = splits == unsplit ? 1 : ranks;
    for (std::int64_t* const flops : {&leaf.forward_flops, &leaf.backward_flops, &leaf.weight_flops})
      *flops = *flops / parts + (*flops % parts != 0 ? 1 : 0);
    return all;
  }
  /// The words for a leaf that is noted otherwise than divided() says; not what is compared.
  [[nodiscard]] constexpr Diagnosis told(int l) const {
    const Leaf& is = noted.leaves[l].leaf;
    const Leaf& all = whole.leaves[l].leaf;
    const std::string_view of = all.spelled.view();
    for (int k = 0; k < all.parameter_count; ++k) {
      const Parameter& parameter = is.parameters[k];
      const Parameter& follows = all.parameters[k];
      if (parameter.tracks != follows.tracks || is.momentum != all.momentum)
        return noted_otherwise<std::int64_t>("of how many values a parameter is tracked, or the momentum, of ", of, parameter.tracks, follows.tracks);
      if (parameter.fan_in != follows.fan_in)
        return noted_otherwise("the number of inputs from which a parameter is drawn, of ", of, parameter.fan_in, follows.fan_in);
      if (parameter.initial != follows.initial)
        return noted_otherwise<std::int64_t>("how a parameter starts, of ", of, static_cast<int>(parameter.initial),
                                             static_cast<int>(follows.initial));
    }
    if (is.in.type != all.in.type) return noted_otherwise("the elements of the input of ", of, name_of(is.in.type), name_of(all.in.type));
    if (facts(is) != facts(all))
      return noted_otherwise<std::int64_t>("what the backward reads, where it may write and what it is, in bits, of ", of, facts(is), facts(all));
    return Diagnosis{Code{'S', 18}, "the description of "}
           << of
           << " is not noted as it follows from the model, the layout and the batch. Fix: lower the plan "
              "from these once more.";
  }
  /// How the ranks of axis tensor hold what a leaf takes and gives, both ways.
  [[nodiscard]] constexpr Diagnosis lies(int l, const Signature& splits) const {
    const Signature& is = noted.split.signatures[l];
    const std::string_view of = whole.leaves[l].leaf.spelled.view();
    const Laid between = from.layout.laid_between[l];
    if (const Laid lies = noted.split.laid_between[l]; lies != between.there())
      return noted_otherwise("the output between layers of ", of, lies, between.there());
    if (const Laid back = noted.split.gradient_between[l]; back != between.back())
      return noted_otherwise("the gradient between layers of the output of ", of, back, between.back());
    if (is == splits) return {};
    if (is.input != splits.input) return noted_otherwise("the input of ", of, is.input, splits.input);
    if (is.second != splits.second) return noted_otherwise("the second input of ", of, is.second, splits.second);
    if (is.output != splits.output) return noted_otherwise("the output of ", of, is.output, splits.output);
    if (is.input_gradient != splits.input_gradient)
      return noted_otherwise("the gradient of the input of ", of, is.input_gradient, splits.input_gradient);
    if (is.output_gradient != splits.output_gradient)
      return noted_otherwise("the gradient of the output of ", of, is.output_gradient, splits.output_gradient);
    if (is.statistics != splits.statistics) return noted_otherwise("the statistics of ", of, is.statistics, splits.statistics);
    for (int k = 0; k < whole.leaves[l].leaf.parameter_count; ++k) {
      if (is.parameters[k] != splits.parameters[k]) return noted_otherwise("a parameter of ", of, is.parameters[k], splits.parameters[k]);
      if (is.parameter_gradients[k] != splits.parameter_gradients[k])
        return noted_otherwise("the gradient of a parameter of ", of, is.parameter_gradients[k], splits.parameter_gradients[k]);
    }
    return noted_otherwise<std::int64_t>("how many pieces are never cut, or what may be in sections, of ", of, is.pieces, splits.pieces);
  }
  /// What a sentence tells as one number.
  [[nodiscard]] static constexpr std::int64_t facts(const Leaf& leaf) {
    return static_cast<std::int64_t>(leaf.saves) + (leaf.weights_read ? 4 : 0) + (leaf.input_part_reads_saved ? 8 : 0) + (leaf.elementwise ? 16 : 0) +
           (leaf.reshapes ? 32 : 0) + (leaf.sums ? 64 : 0) + (leaf.operands == 2 ? 128 : 0) + std::int64_t{256} * leaf.rows_together +
           (std::int64_t{leaf.source} << 40);
  }
};

/// A number as the lowering has noted it, and as it follows from the model: {"elements", 50, 50} agree.
struct NotedNumber {
  std::string_view what;
  std::int64_t noted;
  std::int64_t follows;
};
template <std::size_t Count> [[nodiscard]] constexpr Diagnosis differs(const NotedNumber (&all)[Count]) {
  for (const NotedNumber& n : all)
    if (n.noted != n.follows) return noted_otherwise(n.what, "", n.noted, n.follows);
  return {};
}

/// What stands at the head of a Program: who there is, who takes which rows, where the chunks are, what is sliced.
struct NotedHead {
  const Program& p;
  const MadeFrom& from;
  const Layout& layout = from.layout;
  const BatchDivision& batch = from.batch;

  [[nodiscard]] constexpr Diagnosis find() const {
    if (const Diagnosis found = mesh(); !found.ok()) return found;
    if (const Diagnosis found = rows(); !found.ok()) return found;
    if (const Diagnosis found = storage(); !found.ok()) return found;
    const NotedNumber others[] = {{"as what values are kept", static_cast<int>(p.graph->values), static_cast<int>(from.model.values)},
                                  {"whether backwards are in two parts", p.splits_backward, layout.order.splits_backward},
                                  {"the dimension of the output that the loss takes in parts", p.loss.takes.code, layout.loss.takes.code},
                                  {"the number of terms of the loss", p.loss.terms, layout.loss.terms},
                                  {"whether gradients are clipped", p.clips, from.before.clips},
                                  {"whether their elements are clipped", p.groups.clips_values, from.groups.clips_values},
                                  {"whether the loss is scaled", p.scales_loss, from.before.scales_loss},
                                  {"whether a loss that is not finite holds the step", p.guards, from.before.guards}};
    if (const Diagnosis found = differs(others); !found.ok()) return found;
    const IndexRange& last = p.forward_bodies[p.chunks - 1];
    int load = last.end - 1;
    while (load >= last.begin && p.entries[load].what != BodyOp::load_targets) --load;
    if (load >= last.begin && p.entries[load].features != from.target_features)
      return noted_otherwise("the number of targets of a row", "", p.entries[load].features, from.target_features);
    return {};
  }

 private:
  [[nodiscard]] constexpr Diagnosis mesh() const {
    const NotedNumber counts[] = {{"the number of axes", p.mesh.count, layout.mesh.count},
                                  {"the number of devices", p.roles, layout.mesh.size(Axis::stage)},
                                  {"the number of chunks", p.chunks, layout.chunk_count}};
    if (const Diagnosis found = differs(counts); !found.ok()) return found;
    for (int k = 0; k < layout.mesh.count; ++k) {
      if (p.mesh.axes[k] != layout.mesh.axes[k]) return noted_otherwise("an axis", "", name_of(p.mesh.axes[k]), name_of(layout.mesh.axes[k]));
      if (p.mesh.sizes[k] != layout.mesh.sizes[k])
        return noted_otherwise("the size of axis ", name_of(p.mesh.axes[k]), p.mesh.sizes[k], layout.mesh.sizes[k]);
    }
    for (int a = 0; a < axis_count; ++a)
      if (p.batch_split[a] != layout.batch_split[a])
        return noted_otherwise<std::int64_t>("whether the batch is split along axis ", name_of(static_cast<Axis>(a)), p.batch_split[a],
                                             layout.batch_split[a]);
    for (int c = 0; c < layout.chunk_count; ++c) {
      if (p.device_of_chunk[c] != layout.device_of_chunk[c])
        return noted_otherwise("the device of a chunk", "", p.device_of_chunk[c], layout.device_of_chunk[c]);
      if (p.first_node[c + 1] != layout.first_node[c + 1])
        return noted_otherwise("the end of a chunk", "", p.first_node[c + 1], layout.first_node[c + 1]);
    }
    return p.first_node[0] == 0 ? Diagnosis{} : noted_otherwise("the first layer", "", p.first_node[0], 0);
  }
  /// Ranks that take other rows are the axes that split the batch; all else is the answer of the batch.
  [[nodiscard]] constexpr Diagnosis rows() const {
    int ranks = 1;
    for (int k = 0; k < layout.mesh.count; ++k)
      if (layout.batch_split[static_cast<int>(layout.mesh.axes[k])]) ranks *= layout.mesh.sizes[k];
    const NotedNumber counts[] = {{"the number of rows of a step", p.batch.batch, batch.batch},
                                  {"what a smaller batch means", static_cast<int>(p.batch.remedy), static_cast<int>(batch.remedy)},
                                  {"the number of ranks that split the batch", p.batch.ranks, ranks},
                                  {"the number of rounds", p.batch.rounds, batch.rounds},
                                  {"the number of micro-batches of a round", p.batch.micro_batches, layout.micro_batches},
                                  {"the number of rows of a micro-batch", p.batch.micro_rows, batch.micro_rows},
                                  {"the number of unequal shares", p.batch.share_count, layout.share_count},
                                  {"the number of rows of a share", p.batch.share_rows, batch.share_rows},
                                  {"the number of rows of a grain", p.batch.grain_rows, batch.grain_rows},
                                  {"whether sums follow the tree", p.batch.tree, batch.tree},
                                  {"whether a grain is named", p.batch.grain_named, batch.grain_named}};
    if (const Diagnosis found = differs(counts); !found.ok()) return found;
    for (int i = 0; i < layout.share_count; ++i)
      if (p.batch.shares[i] != layout.shares[i]) return noted_otherwise("the share of a replica", "", p.batch.shares[i], layout.shares[i]);
    return {};
  }
  /// Gradients of a rank that follow the tree over several grains are whole until they are added, whatever the policy slices.
  [[nodiscard]] constexpr Diagnosis storage() const {
    const Sharding& asked = layout.sharding;
    const bool any = asked.parameters || asked.gradients || asked.states || asked.keeps;
    const int parts = any ? layout.mesh.size(layout.storage_axis) : 1;
    const int backwards = batch.rounds * layout.micro_batches;
    const bool added_whole = batch.tree && batch.micro_rows / batch.grain_rows * backwards > 1;
    const bool gradients = parts > 1 && asked.gradients && !added_whole;
    const bool rounds = parts > 1 && asked.parameters && !follows_rows(from.model);
    const ElementType gathered = rounds ? from.model.values : ElementType::float32;
    const NotedNumber all[] = {{"the number of slices of a unit", p.storage.parts, parts},
                               {"the axis that slices units", static_cast<int>(p.storage.axis), static_cast<int>(layout.storage_axis)},
                               {"whether parameters are sliced", p.storage.parameters, parts > 1 && asked.parameters},
                               {"whether gradients are sliced", p.storage.gradients, gradients},
                               {"whether optimizer states are sliced", p.storage.states, parts > 1 && asked.states},
                               {"whether slices of several backwards are added up", p.storage.adds_slices, gradients && backwards > 1},
                               {"as what gathered units are read", static_cast<int>(p.storage.gathered), static_cast<int>(gathered)},
                               {"whether what is gathered is kept", p.storage.keeps, parts > 1 && asked.keeps}};
    return differs(all);
  }
};

}  // namespace heddle::plan_room
