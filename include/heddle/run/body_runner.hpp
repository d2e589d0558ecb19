// SPDX-License-Identifier: MIT
// Room: run. What the entries of a body do on one rank: rows are loaded, kernels called, gradients summed along the counter.
// Sees: plan/program, graph, seams/concepts, run/rank_tensors, run/told_tensors.  Does not see: policies, threads, transports, any backend.
// In: an entry and the micro-batch.  Out: tensors in the arena.
#pragma once

#include <algorithm>
#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>

#include "heddle/core/written.hpp"
#include "heddle/graph/local_leaf.hpp"
#include "heddle/plan/program/program.hpp"
#include "heddle/run/fused_kernels.hpp"
#include "heddle/run/host_work.hpp"
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

/// The entries of one rank, in the memory that `Work` is at work in; what moves between ranks is the Executor's.
/// For a micro-batch of 2 grains of 16 rows one leaf_forward calls the kernel of its leaf 2 times, with 16 rows each.
template <class Work> class BodyRunnerOf {
 public:
  using Space = typename Work::Space;
  using Kernels = typename Work::Kernels;
  BodyRunnerOf(const Program& training, const Kernels& kernels, RankTensors& tensors, Work& work)
      : t_(tensors), kernels_(kernels), work_(work), position_(batch_position(training, tensors.rank())),
        part_(training.mesh.coordinate(tensors.rank(), Axis::tensor)), workspace_(work.room(kernels.workspace_bytes)),
        operands_(training, tensors, work, kernels.leaves, kernels.loss_takes_bfloat16) {}

  /// `input` lives until the step is done.
  void begin(const StepInput& input) {
    in_ = &input;
    p_ = input.program;
  }
  /// One entry that stays within the rank.
  void compute(const Entry& entry) {
    switch (entry.what) {
      case BodyOp::load_input: return load(entry, entry.operand);
      case BodyOp::load_targets: return load_targets(entry);
      case BodyOp::leaf_forward: return forward(entry);
      case BodyOp::leaf_backward:
      case BodyOp::leaf_backward_input:
      case BodyOp::leaf_backward_weight: return backward(entry);
      case BodyOp::sum_grains:
        return told_.sum_grains(entry, [&](float* to, const float* a, const float* b, std::int64_t n) { work_.add(to, a, b, n); });
      case BodyOp::loss_terms: return make_terms(entry);
      case BodyOp::loss: return loss(entry);
      case BodyOp::store_output: return store(entry);
      case BodyOp::add: return add(entry);
      case BodyOp::copy: return work_.copy(whole(entry.d, entry), whole(entry.a, entry), t_.stride(entry.features, entry.type) * t_.grains());
      default: return;  // what moves: the executor names every operation
    }
  }

  /// Two fused entries at once; false if their kernels cannot, and then nothing has run.
  bool compute(const Entry& first, const Entry& second, bool& second_runs) {
    const FusedKernels<Work> both{*p_, kernels_, operands_, work_, first, second, second_runs};
    if (!both.there()) return false;
    both.sums() ? forward(second, &both) : both.forwards() ? forward(first, &both) : backward(first, &both);
    return true;
  }

  void lay(const Entry& entry, const Place& parts, const Place& whole_place, Lay how) {
    const auto move = [&](auto... of_runs) { work_.move(of_runs...); };
    LaidRows<decltype(move)>{t_, part_, move}.lay(entry, parts, whole_place, how, [&](int g) { return rows(g); });
  }
  [[nodiscard]] KernelOperands<Work>& operands() { return operands_; }

  // ---- rows
  [[nodiscard]] std::int64_t first(int grain) const { return first_row(p_->batch, position_, t_.micro_batch(), grain); }
  [[nodiscard]] std::int64_t rows(int grain) const { return rows_in_grain(p_->batch, in_->rows, position_, t_.micro_batch(), grain); }
  /// Index of a grain among all grains of this rank in the step.
  [[nodiscard]] int grain_number(int grain) const { return t_.micro_batch() * t_.grains() + grain; }

 private:
  // What is asked of the batch looks at the step in hand when it is asked: a device may ask again in a later step, without this.
  static constexpr int targets = -1;
  void load(const Entry& entry, int input) {
    for (int g = 0; g < t_.grains(); ++g) {
      const auto row = [this, input, begin = first(g), bytes = entry.features * bytes_of(given_as(entry.type))](std::int64_t r) {
        return row_of(input, begin + r, bytes);
      };
      work_.load(t_.at_grain(entry.d, entry.features, g, entry.type), rows(g), entry.features, entry.type, row);
    }
  }
  [[nodiscard]] const std::byte* row_of(int input, std::int64_t row, std::int64_t bytes) const {
    return static_cast<const std::byte*>(input == targets ? in_->targets : in_->input(input)) + in_->source(row) * bytes;
  }
  void add(const Entry& entry) {
    if (!operands_.on())
      return work_.add(whole(entry.d, entry), whole(entry.a, entry), whole(entry.b, entry), t_.stride(entry.features) * t_.grains());
    if constexpr (std::same_as<Space, HostMemory>) {
      for (int g = 0; g < t_.grains(); ++g) {
        operands_.begin();
        const float* const a = operands_.read(entry.a, entry.features, g, rows(g));
        const float* const b = operands_.read(entry.b, entry.features, g, rows(g));
        work_.add(operands_.write(entry.d, entry.features, g, rows(g)), a, b, rows(g) * entry.features);
        operands_.put_back();
      }
    } else {
      const std::int64_t floats = t_.stride(entry.features, ElementType::bfloat16) * t_.grains();
      return work_.add_bfloat16(t_.at(entry.d, floats), t_.at(entry.a, floats), t_.at(entry.b, floats), 2 * floats);
    }
  }
  void load_targets(const Entry& entry) {
    target_features_ = entry.features;
    for (int g = 0; g < t_.grains(); ++g)
      work_.each_step([this, features = entry.features, begin = first(g), count = rows(g), bytes = entry.features * bytes_of(given_as(entry.type))] {
        for (std::int64_t r = 0; r < count; ++r) refuse_other_labels(kernels_.targets, row_of(targets, begin + r, bytes), 1, features, begin + r);
      });
    load(entry, targets);
  }
  /// Each rank of axis tensor hands its part of the outputs over; of what is whole, one of them.
  void store(const Entry& entry) {
    const Laid lies = p_->graph->laid_between(p_->graph->node_count);
    if (lies.replicated() && part_ > 0) return;
    for (int g = 0; g < t_.grains(); ++g) {
      operands_.begin();
      const std::int64_t there = rows(g), features = entry.features;
      const auto place = [this, lies, there, features, ranks = p_->graph->split.ranks, begin = first(g)](const float* from) {
        const Shape whole = whole_output();
        float* const outputs = in_->outputs + begin * whole.elements();
        for (std::int64_t r = 0; r < there; ++r)
          each_run(whole, lies, ranks, part_, [&](std::int64_t here, std::int64_t at, std::int64_t count) {
            std::copy_n(from + r * features + here, count, outputs + r * whole.elements() + at);
          });
      };
      if constexpr (!std::same_as<Space, HostMemory>) {
        if (operands_.on()) {
          work_.store_bfloat16(operands_.value(entry.a, features, g), there * features, place);
          continue;
        }
      }
      work_.store(operands_.read(entry.a, features, g, there), there * features, place);
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
  template <class Fused = std::nullptr_t> void forward(const Entry& entry, Fused fused = nullptr) {
    const Node& node = p_->graph->nodes[entry.node];
    const TracedLeaf& traced = p_->graph->leaves[node.leaf];
    ForwardCallIn<Space> call{&traced.leaf, 0, nullptr, nullptr, operands_.parameters(node, entry.node, traced.leaf), workspace_.bytes(0), part_};
    call.space = work_.space();
    const auto kernel = entry.phase == 0 ? kernels_.leaves[node.leaf].forward : kernels_.leaves[node.leaf].forward_phases[entry.phase - 1];
    for (int g = 0; g < t_.grains(); ++g) {
      call.rows = rows(g);
      operands_.begin_grain();
      set_input(call, operands_.input(entry.a, traced.leaf, g, call.rows));
      call.output = operands_.write(entry.d, traced.leaf.out.elements(), g, call.rows);
      call.statistics = t_.at_grain(entry.e, traced.leaf.statistics_elements(), g);
      call.context = context(entry.node, g);
      if (traced.leaf.operands == 2) call.second = operands_.read(entry.b, traced.leaf.other.elements(), g, call.rows);
      if (entry.phase > 0) told_.tell(call, entry, traced.leaf.forward_phases, g);
      if constexpr (std::is_null_pointer_v<Fused>)
        kernel(call);
      else
        fused->forward(call, g);
      operands_.put_back();
    }
  }
  template <class Fused = std::nullptr_t> void backward(const Entry& entry, Fused fused = nullptr) {
    const Node& node = p_->graph->nodes[entry.node];
    const TracedLeaf& traced = p_->graph->leaves[node.leaf];
    const std::int64_t out = traced.leaf.out.elements();
    const bool sums = node.trained_count() > 0 && entry.what != BodyOp::leaf_backward_input;
    const auto kernel = entry.phase == 0 ? kernels_.leaves[node.leaf].backward : kernels_.leaves[node.leaf].backward_phases[entry.phase - 1];
    const bool reads = entry.what != BodyOp::leaf_backward_weight || traced.leaf.weights_read;
    BackwardCallIn<Space> call;
    call.leaf = &traced.leaf;
    call.parameters = operands_.parameters(node, entry.node, traced.leaf, reads);
    call.parameter_gradients = sums ? gradient_ : nullptr;
    call.workspace = workspace_.bytes(0);
    call.part = part_;
    call.space = work_.space();
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
      if constexpr (std::is_null_pointer_v<Fused>)
        kernel(call);
      else
        fused->backward(call, g);
      operands_.put_back();
      for (int k = 0; k < node.parameter_count && p_->batch.tree && !p_->storage.gradients && sums; ++k)
        carry(p_->parameters[node.first_parameter + k], number, counted);
    }
  }
  /// Binary counter: the grain in level `counted` takes up the full levels below it; after the last grain the rest is added, low to high.
  void carry(const ParameterPlace& place, int number, int counted) {
    const std::int64_t first = place.begin;
    const std::int64_t n = rounded_up(place.elements, line_elements);
    for (int l = 0; l < counted; ++l) work_.add(t_.level(counted) + first, t_.level(l) + first, t_.level(counted) + first, n);
    if (number + 1 != p_->batch.rank_grains()) return;
    int held = counted;
    for (int l = counted + 1; l < p_->batch.levels(); ++l) {
      if (((number + 1) >> l & 1) == 0) continue;
      work_.add(t_.level(l) + first, t_.level(l) + first, t_.level(held) + first, n);
      held = l;
    }
  }
  /// In c lie the terms of as many parts, if any.
  [[nodiscard]] LossCallIn<Space> loss_call(const Entry& entry, int g, int parts) {
    LossCallIn<Space> call{rows(g),
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
                           work_.class_weights(*in_),
                           in_->counted[0].sum_of_weights,
                           in_->counted.data()};
    call.workspace = workspace_.bytes(0);
    call.space = work_.space();
    return call;
  }
  void make_terms(const Entry& entry) {
    for (int g = 0; g < t_.grains(); ++g) {
      operands_.begin_loss();
      kernels_.loss_terms(loss_call(entry, g, 1));
      operands_.put_back();
    }
  }
  void loss(const Entry& entry) {
    for (int g = 0; g < t_.grains(); ++g) {
      operands_.begin_loss();
      work_.loss(loss_call(entry, g, p_->graph->split.ranks), t_.losses(grain_number(g)), p_->scales_loss, *in_, [&] {
        return written({"rows ", first(g), " to ", first(g) + rows(g) - 1});
      });
      operands_.put_back();
    }
    if (const int grains = p_->batch.rank_grains(); grain_number(t_.grains() - 1) + 1 == grains) work_.sum_losses(t_.losses(0), grains, *in_);
  }
  /// Of one row of the output: each has a class number of its own.
  [[nodiscard]] std::int64_t positions() const { return whole_output().elements() / whole_output().last(); }
  [[nodiscard]] Shape whole_output() const {
    return joined(p_->graph->output().shape, p_->graph->laid_between(p_->graph->node_count), p_->graph->split.ranks);
  }
  [[nodiscard]] float* whole(const Place& place, const Entry& entry) { return t_.whole(place, entry); }

  RankTensors& t_;
  ToldTensors told_{t_};
  const Kernels& kernels_;
  Work& work_;
  int position_;  // among the ranks that split the batch
  int part_;      // coordinate on axis tensor; what is used as Partial is used on 0
  Arena workspace_;
  KernelOperands<Work> operands_;
  const StepInput* in_ = nullptr;
  const Program* p_ = nullptr;
  std::int64_t target_features_ = 0;  // of one row, as they were loaded
  float* gradient_[Leaf::most_parameters]{};
};

using BodyRunner = BodyRunnerOf<HostWork>;

}  // namespace heddle::run_room
