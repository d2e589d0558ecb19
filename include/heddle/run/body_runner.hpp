// SPDX-License-Identifier: MIT
// Room: run. What the entries of a body do on one rank: rows are loaded, kernels called, gradients summed along the counter.
// Sees: plan/program, graph, seams/concepts, run/rank_tensors, run/told_tensors.  Does not see: policies, threads, transports, any backend.
// In: an entry and the micro-batch.  Out: tensors in the arena.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <string>

#include "heddle/core/finite.hpp"
#include "heddle/core/written.hpp"
#include "heddle/graph/local_leaf.hpp"
#include "heddle/plan/program/program.hpp"
#include "heddle/run/fused_kernels.hpp"
#include "heddle/run/kernel_operands.hpp"
#include "heddle/run/kernel_table.hpp"
#include "heddle/run/labels.hpp"
#include "heddle/run/laid_rows.hpp"
#include "heddle/run/slices.hpp"
#include "heddle/run/step_input.hpp"
#include "heddle/run/told_tensors.hpp"
#include "heddle/seams/concepts.hpp"
#include "heddle/seams/error.hpp"

namespace heddle::run_room {

/// The entries of one rank, in the memory of the host; what moves between ranks is the Executor's.
/// For a micro-batch of 2 grains of 16 rows one leaf_forward calls the kernel of its leaf 2 times, with 16 rows each.
class BodyRunner {
 public:
  BodyRunner(const Program& training, const KernelTable& kernels, RankTensors& tensors)
      : t_(tensors), kernels_(kernels), position_(batch_position(training, tensors.rank())),
        part_(training.mesh.coordinate(tensors.rank(), Axis::tensor)), workspace_(kernels.workspace_bytes), operands_(training, tensors) {}

  /// `input` lives until the step is done.
  void begin(const StepInput& input) {
    in_ = &input;
    p_ = input.program;
  }
  /// One entry that stays within the rank.
  void compute(const Entry& entry) {
    switch (entry.what) {
      case BodyOp::load_input: return load(entry, in_->input(entry.operand));
      case BodyOp::load_targets: return load_targets(entry);
      case BodyOp::leaf_forward: return forward(entry);
      case BodyOp::leaf_backward:
      case BodyOp::leaf_backward_input:
      case BodyOp::leaf_backward_weight: return backward(entry);
      case BodyOp::sum_grains: return told_.sum_grains(entry, kernels_.add);
      case BodyOp::loss_terms: return make_terms(entry);
      case BodyOp::loss: return loss(entry);
      case BodyOp::store_output: return store(entry);
      case BodyOp::add: return add(entry);
      case BodyOp::copy: return kernels_.copy(whole(entry.d, entry), whole(entry.a, entry), t_.stride(entry.features, entry.type) * t_.grains());
      default: return;  // what moves: the executor names every operation
    }
  }

  /// Two fused entries at once; false if their kernels cannot, and then nothing has run.
  bool compute(const Entry& first, const Entry& second, bool& second_runs) {
    const FusedKernels both{*p_, kernels_, t_, first, second, second_runs};
    if (!both.there()) return false;
    both.sums() ? forward(second, &both) : both.forwards() ? forward(first, &both) : backward(first, &both);
    return true;
  }

  void lay(const Entry& entry, const Place& parts, const Place& whole_place, Lay how) {
    LaidRows{t_, part_, kernels_.copy}.lay(entry, parts, whole_place, how, [&](int g) { return rows(g); });
  }
  [[nodiscard]] KernelOperands& operands() { return operands_; }

  // ---- rows
  [[nodiscard]] std::int64_t first(int grain) const { return first_row(p_->batch, position_, t_.micro_batch(), grain); }
  [[nodiscard]] std::int64_t rows(int grain) const { return rows_in_grain(p_->batch, in_->rows, position_, t_.micro_batch(), grain); }
  /// Index of a grain among all grains of this rank in the step.
  [[nodiscard]] int grain_number(int grain) const { return t_.micro_batch() * t_.grains() + grain; }

 private:
  // ---- entries
  /// Floats are rounded where values are bfloat16.
  void load(const Entry& entry, const void* from) {
    const bool rounds = entry.type == ElementType::bfloat16;
    const std::int64_t row_bytes = entry.features * bytes_of(given_as(entry.type)), here = entry.features * bytes_of(entry.type);
    for (int g = 0; g < t_.grains(); ++g) {
      auto* to = reinterpret_cast<std::byte*>(t_.at_grain(entry.d, entry.features, g, entry.type));
      for (std::int64_t r = 0; r < rows(g); ++r, to += here) {
        const std::byte* const row = static_cast<const std::byte*>(from) + in_->source(first(g) + r) * row_bytes;
        rounds ? round(reinterpret_cast<float*>(to), reinterpret_cast<const float*>(row), entry.features)
               : static_cast<void>(std::memcpy(to, row, static_cast<std::size_t>(row_bytes)));
      }
    }
  }
  void add(const Entry& entry) {
    if (!operands_.on())
      return kernels_.add(whole(entry.d, entry), whole(entry.a, entry), whole(entry.b, entry), t_.stride(entry.features) * t_.grains());
    for (int g = 0; g < t_.grains(); ++g) {
      operands_.begin();
      const float* const a = operands_.read(entry.a, entry.features, g, rows(g));
      const float* const b = operands_.read(entry.b, entry.features, g, rows(g));
      kernels_.add(operands_.write(entry.d, entry.features, g, rows(g)), a, b, rows(g) * entry.features);
      operands_.put_back();
    }
  }
  void load_targets(const Entry& entry) {
    target_features_ = entry.features;
    load(entry, in_->targets);
    for (int g = 0; g < t_.grains(); ++g)
      refuse_other_labels(kernels_.targets, t_.at_grain(entry.d, entry.features, g), rows(g), entry.features, first(g));
  }
  /// Each rank of axis tensor hands its part of the outputs over; of what is whole, one of them.
  void store(const Entry& entry) {
    const Laid lies = p_->graph->laid_between(p_->graph->node_count);
    if (lies.replicated() && part_ > 0) return;
    const Shape whole = whole_output();
    for (int g = 0; g < t_.grains(); ++g) {
      operands_.begin();
      const float* from = operands_.read(entry.a, entry.features, g, rows(g));
      for (std::int64_t r = 0; r < rows(g); ++r, from += entry.features) {
        float* const to = in_->outputs + (first(g) + r) * whole.elements();
        each_run(whole, lies, p_->graph->split.ranks, part_,
                 [&](std::int64_t here, std::int64_t there, std::int64_t count) { std::copy_n(from + here, count, to + there); });
      }
    }
  }
  [[nodiscard]] CallContext context(int node, int g) const {
    CallContext here{in_->seed, in_->step, node, p_->training && !p_->graph->still(node), first(g)};
    if (p_->graph->leaf(node).has_phases()) here.rows_together = rows_in_micro_batch(p_->batch, in_->rows, t_.micro_batch());
    const Laid how = p_->graph->signature(node).output;
    if (!how.sharded()) return here;
    here.parts = p_->graph->split.ranks;
    here.part = part_;
    for (int d = 0; d < how.dimension(); ++d) here.runs *= p_->graph->leaf(node).out.shape.sizes[d];
    return here;
  }
  void forward(const Entry& entry, const FusedKernels* fused = nullptr) {
    const Node& node = p_->graph->nodes[entry.node];
    const TracedLeaf& traced = p_->graph->leaves[node.leaf];
    const std::int64_t out = traced.leaf.out.elements();
    ForwardCall call{&traced.leaf, 0, nullptr, nullptr, operands_.parameters(node, entry.node, traced.leaf), workspace(), part_};
    const auto kernel = entry.phase == 0 ? kernels_.leaves[node.leaf].forward : kernels_.leaves[node.leaf].forward_phases[entry.phase - 1];
    for (int g = 0; g < t_.grains(); ++g) {
      call.rows = rows(g);
      operands_.begin_grain();
      set_input(call, operands_.input(entry.a, traced.leaf, g, call.rows));
      call.output = operands_.write(entry.d, out, g, call.rows);
      call.statistics = t_.at_grain(entry.e, traced.leaf.statistics_elements(), g);
      call.context = context(entry.node, g);
      if (traced.leaf.operands == 2) call.second = operands_.read(entry.b, traced.leaf.other.elements(), g, call.rows);
      if (entry.phase > 0) told_.tell(call, entry, traced.leaf.forward_phases, g);
      fused == nullptr ? kernel(call) : fused->forward(call, g);
      operands_.put_back();
    }
  }
  void backward(const Entry& entry, const FusedKernels* fused = nullptr) {
    const Node& node = p_->graph->nodes[entry.node];
    const TracedLeaf& traced = p_->graph->leaves[node.leaf];
    const std::int64_t out = traced.leaf.out.elements();
    const bool sums = node.trained_count() > 0 && entry.what != BodyOp::leaf_backward_input;
    const auto kernel = entry.phase == 0 ? kernels_.leaves[node.leaf].backward : kernels_.leaves[node.leaf].backward_phases[entry.phase - 1];
    const bool reads = entry.what != BodyOp::leaf_backward_weight || traced.leaf.weights_read;
    BackwardCall call{&traced.leaf,
                      0,
                      nullptr,
                      nullptr,
                      nullptr,
                      nullptr,
                      operands_.parameters(node, entry.node, traced.leaf, reads),
                      sums ? gradient_ : nullptr,
                      false,
                      workspace(),
                      part_};
    call.operand = entry.operand;
    for (int g = 0; g < t_.grains(); ++g) {
      const int number = grain_number(g);
      const int counted = p_->batch.tree ? std::countr_one(static_cast<unsigned>(number)) : 0;
      for (int k = 0; k < node.parameter_count && sums; ++k) gradient_[k] = t_.gradient_of(p_->parameters[node.first_parameter + k], counted);
      call.rows = rows(g);
      operands_.begin_grain();
      set_input(call, operands_.input(entry.a, traced.leaf, g, call.rows));
      if (traced.leaf.operands == 2)
        call.second = operands_.read(entry.b, traced.leaf.other.elements(), g, call.rows);
      else if (entry.phase == 0)
        call.output = operands_.read(entry.b, out, g, call.rows);
      else
        told_.tell(call, entry, traced.leaf.backward_phases, g);
      call.output_gradient = operands_.read(entry.c, out, g, call.rows);
      call.input_gradient = operands_.write(entry.d, traced.leaf.operand(entry.operand).elements(), g, call.rows);
      call.statistics = t_.at_grain(entry.e, traced.leaf.statistics_elements(), g);
      call.context = context(entry.node, g);
      call.add = !p_->batch.tree && !p_->storage.gradients && number > 0;
      fused == nullptr ? kernel(call) : fused->backward(call, g);
      operands_.put_back();
      for (int k = 0; k < node.parameter_count && p_->batch.tree && !p_->storage.gradients && sums; ++k)
        carry(p_->parameters[node.first_parameter + k], number, counted);
    }
  }
  /// Binary counter: the grain in level `counted` takes up the full levels below it; after the last grain the rest is added, low to high.
  void carry(const ParameterPlace& place, int number, int counted) {
    const std::int64_t first = place.begin;
    const std::int64_t n = rounded_up(place.elements, line_elements);
    for (int l = 0; l < counted; ++l) kernels_.add(t_.level(counted) + first, t_.level(l) + first, t_.level(counted) + first, n);
    if (number + 1 != p_->batch.rank_grains()) return;
    int held = counted;
    for (int l = counted + 1; l < p_->batch.levels(); ++l) {
      if (((number + 1) >> l & 1) == 0) continue;
      kernels_.add(t_.level(l) + first, t_.level(l) + first, t_.level(held) + first, n);
      held = l;
    }
  }
  /// In c lie the terms of as many parts, if any.
  [[nodiscard]] LossCall loss_call(const Entry& entry, int g, int parts) {
    return {rows(g),
            entry.features,
            in_->counted_rows(),
            operands_.read(entry.a, entry.features, g, rows(g)),
            t_.at_grain(entry.b, target_features_, g),
            operands_.update(entry.d, entry.features, g, rows(g)),
            positions(),
            entry.c.set() ? part_ : 0,
            entry.c.set() ? p_->graph->split.ranks : 1,
            t_.at_grain(entry.c, parts * p_->loss.terms, g),
            target_features_,
            in_->counted[0].left_out,
            in_->class_weights,
            in_->counted[0].sum_of_weights,
            in_->counted.data()};
  }
  void make_terms(const Entry& entry) {
    for (int g = 0; g < t_.grains(); ++g) {
      operands_.begin();
      kernels_.loss_terms(loss_call(entry, g, 1));
      operands_.put_back();
    }
  }
  void loss(const Entry& entry) {
    for (int g = 0; g < t_.grains(); ++g) {
      operands_.begin();
      const LossCall call = loss_call(entry, g, p_->graph->split.ranks);
      const float sum = kernels_.loss(call);
      if (!is_finite(sum)) refuse_loss(*in_, sum, written({"rows ", first(g), " to ", first(g) + rows(g) - 1}));
      *t_.losses(grain_number(g)) = sum;
      if (p_->scales_loss && call.gradient != nullptr) arithmetic().multiply(call.gradient, call.rows * call.features, in_->loss_scale);
      operands_.put_back();
    }
    if (grain_number(t_.grains() - 1) + 1 == p_->batch.rank_grains()) sum_losses();
  }
  /// The same tree as for gradients, over one number a grain.
  void sum_losses() {
    const int count = p_->batch.rank_grains();
    float levels[32] = {};
    for (int t = 0; t < count; ++t) {
      const int counted = std::countr_one(static_cast<unsigned>(t));
      float sum = *t_.losses(t);
      for (int l = 0; l < counted; ++l) sum = arithmetic().plus(levels[l], sum);
      levels[counted] = sum;
    }
    int held = std::countr_zero(static_cast<unsigned>(count));
    for (int l = held + 1; l < 32; ++l)
      if ((static_cast<unsigned>(count) >> l & 1U) != 0) {
        levels[l] = arithmetic().plus(levels[l], levels[held]);
        held = l;
      }
    if (!is_finite(levels[held])) refuse_loss(*in_, levels[held], "all rows of a rank together");
    *t_.losses(count) = levels[held];
  }
  /// Of one row of the output: each has a class number of its own.
  [[nodiscard]] std::int64_t positions() const { return whole_output().elements() / whole_output().last(); }
  [[nodiscard]] Shape whole_output() const {
    return joined(p_->graph->output().shape, p_->graph->laid_between(p_->graph->node_count), p_->graph->split.ranks);
  }
  [[nodiscard]] void* workspace() { return workspace_.bytes(0); }
  [[nodiscard]] float* whole(const Place& place, const Entry& entry) { return t_.whole(place, entry); }
  [[nodiscard]] const Arithmetic& arithmetic() const { return kernels_.arithmetic; }

  RankTensors& t_;
  ToldTensors told_{t_};
  const KernelTable& kernels_;
  int position_;  // among the ranks that split the batch
  int part_;      // coordinate on axis tensor; what is used as Partial is used on 0
  Arena workspace_;
  KernelOperands operands_;
  const StepInput* in_ = nullptr;
  const Program* p_ = nullptr;
  std::int64_t target_features_ = 0;  // of one row, as they were loaded
  float* gradient_[Leaf::most_parameters]{};
};

}  // namespace heddle::run_room
