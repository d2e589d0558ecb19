// SPDX-License-Identifier: MIT
// Room: run. Walks the lists and bodies of a Program for one rank: the very object that was checked, in its order, nothing else.
// Sees: plan/program, run/concepts, run/arena.  Does not see: policies, threads, any backend.
// In: a Program, kernels, an endpoint.  Out: one step on one rank.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <vector>

#include "heddle/plan/program.hpp"
#include "heddle/run/arena.hpp"
#include "heddle/run/concepts.hpp"
#include "heddle/run/error.hpp"
#include "heddle/run/kernel_table.hpp"
#include "heddle/run/observer.hpp"

namespace heddle::inline run {

/// What one step is given, the same on every rank.
struct StepInput {
  const Program* program = nullptr;
  const float* inputs = nullptr;
  const void* targets = nullptr;
  const std::uint32_t* order = nullptr;  // row -> source row, or null
  std::int64_t source_rows = 0;          // rows that are there
  std::int64_t rows = 0;                 // rows that count: source rows, or the capacity if missing rows are repeated
  std::int64_t step = 0;
  bool reporting = false;
  const void* constants = nullptr;       // of the optimizer
  float* outputs = nullptr;              // evaluation: (rows, output features)
  Observer* observer = nullptr;
};

/// Row of the batch of the first row of a grain of one rank.
[[nodiscard]] constexpr std::int64_t first_row(const BatchDivision& batch, int batch_position, int micro_batch, int grain) {
  return static_cast<std::int64_t>(batch_position) * batch.rank_rows() + static_cast<std::int64_t>(micro_batch) * batch.micro_rows +
         static_cast<std::int64_t>(grain) * batch.grain_rows;
}

/// Position of a rank among those that split the batch, in the canonical order: shard, then data.
[[nodiscard]] constexpr int batch_position(const Program& p, Rank rank) {
  int position = 0;
  int scale = 1;
  for (const Axis a : batch_axes) {
    if (!p.batch_split[static_cast<int>(a)]) continue;
    position += scale * p.mesh.coordinate(rank, a);
    scale *= p.mesh.size(a);
  }
  return position;
}

/// Number of the transport's group of a rank along an axis; groups of earlier axes come first.
[[nodiscard]] constexpr int transport_group(const Program& p, Rank rank, Axis axis) {
  int before = 0;
  for (const Axis a : batch_axes) {
    if (a == axis) break;
    if (p.batch_split[static_cast<int>(a)]) before += p.mesh.ranks() / p.mesh.size(a);
  }
  return before + p.mesh.group(rank, axis);
}

template <class Endpoint> class Executor {
 public:
  Executor(const Program& training, const Program& evaluation, const KernelTable& kernels, Rank rank, Endpoint& endpoint)
      : kernels_(kernels), rank_(rank), role_(training.mesh.coordinate(rank, Axis::stage)), position_(batch_position(training, rank)), endpoint_(endpoint),
        map_(training.arenas[role_]), arena_(map_.total), workspace_(kernels.workspace_bytes) {
    std::int64_t tokens = 0;
    for (const Program* p : {&training, &evaluation})
      for (int i = p->lists[role_].begin; i < p->lists[role_].end; ++i)
        if (p->instructions[i].token >= tokens) tokens = p->instructions[i].token + 1;
    tickets_.resize(static_cast<std::size_t>(tokens));
    reductions_.resize(static_cast<std::size_t>(training.bucket_count + 1));
    states_.resize(static_cast<std::size_t>(kernels.states));
  }

  /// One step. Throws what a kernel, the endpoint or an observer throws, with the position kept in instruction().
  void run(const StepInput& input) {
    in_ = &input;
    p_ = input.program;
    stepped_ = false;
    const Range list = p_->lists[role_];
    for (int i = list.begin; i < list.end; ++i) {
      const Instruction& line = p_->instructions[i];
      if (line.when == When::reporting && !input.reporting) continue;
      instruction_ = i;
      micro_batch_ = line.micro_batch;
      observed(-1, [&] { execute(line); });
    }
  }

  [[nodiscard]] int instruction() const { return instruction_; }
  [[nodiscard]] bool stepped() const { return stepped_; }  ///< parameters of this rank were changed in this step
  [[nodiscard]] float loss_sum() const { return loss_sum_; }
  [[nodiscard]] Arena& arena() { return arena_; }
  [[nodiscard]] const Arena& arena() const { return arena_; }
  [[nodiscard]] Rank rank() const { return rank_; }
  [[nodiscard]] int role() const { return role_; }
  [[nodiscard]] float* parameters() { return arena_.floats(map_.parameters, map_.flat_bytes / 4); }
  [[nodiscard]] float* gradients() { return level(final_level(p_ != nullptr ? p_->batch : BatchDivision{})); }
  [[nodiscard]] float* state(int number) { return arena_.floats(map_.states + number * map_.flat_bytes, map_.flat_bytes / 4); }

 private:
  template <class Work> void observed(int entry, Work work) {
    if (in_->observer == nullptr) return work();
    Observation seen{rank_, p_, instruction_, entry, static_cast<std::int16_t>(micro_batch_), in_->step, std::chrono::steady_clock::now(), {}};
    in_->observer->started(seen);
    work();
    seen.end = std::chrono::steady_clock::now();
    in_->observer->finished(seen);
  }

  void execute(const Instruction& line) {
    switch (line.op) {
      case Op::forward: return run_body(p_->forward_bodies[line.chunk]);
      case Op::backward: return run_body(p_->backward_bodies[line.chunk]);
      case Op::send_start: {
        const Transfer& t = p_->transfers[line.transfer];
        ticket(line) = endpoint_.send_start(peer(line), at(t.source, t.elements), t.elements);
        return;
      }
      case Op::send_wait: return endpoint_.send_wait(peer(line), ticket(line));
      case Op::receive_start: {
        const Transfer& t = p_->transfers[line.transfer];
        ticket(line) = endpoint_.receive_start(peer(line), at(t.target, t.elements), t.elements);
        return;
      }
      case Op::receive_wait: return endpoint_.receive_wait(peer(line), ticket(line));
      case Op::reduce_start: return start_reduction(line.bucket, line.axis);
      case Op::reduce_wait: return endpoint_.all_reduce_wait(transport_group(*p_, rank_, line.axis), reduction(line.bucket));
      case Op::report: loss_sum_ = *losses(p_->batch.rank_grains()); return;
      case Op::step: return step(p_->buckets[line.bucket]);
    }
  }
  [[nodiscard]] std::int64_t& ticket(const Instruction& line) { return tickets_[static_cast<std::size_t>(line.token)]; }
  [[nodiscard]] std::int64_t& reduction(int bucket) {
    return bucket == loss_bucket ? reductions_.back() : reductions_[static_cast<std::size_t>(bucket)];
  }
  [[nodiscard]] int peer(const Instruction& line) const { return p_->mesh.moved(rank_, Axis::stage, line.peer).value; }

  void start_reduction(int bucket, Axis axis) {
    const int group = transport_group(*p_, rank_, axis);
    if (bucket == loss_bucket) {
      reduction(bucket) = endpoint_.all_reduce_start(group, losses(p_->batch.rank_grains()), 1);
      return;
    }
    const GradientBucket& b = p_->buckets[bucket];
    reduction(bucket) = endpoint_.all_reduce_start(group, level(final_level(p_->batch)) + b.offset / 4, b.elements);
  }
  void step(const GradientBucket& b) {
    stepped_ = true;
    for (std::size_t s = 0; s < states_.size(); ++s) states_[s] = state(static_cast<int>(s)) + b.offset / 4;
    kernels_.step(in_->constants, b.elements, parameters() + b.offset / 4, level(final_level(p_->batch)) + b.offset / 4, states_.data());
  }

  void run_body(const Range& body) {
    const int last = p_->batch.total_micro_batches() - 1;
    for (int e = body.begin; e < body.end; ++e) {
      const Entry& entry = p_->entries[e];
      if (entry.when == When::last_micro_batch && micro_batch_ != last) continue;
      if (entry.when == When::reporting && !in_->reporting) continue;
      observed(e, [&] { execute(entry); });
    }
  }
  void execute(const Entry& entry) {
    switch (entry.what) {
      case Do::load_input: return load(entry, in_->inputs, true);
      case Do::load_targets: return kernels_.labels ? load_labels(entry) : load(entry, static_cast<const float*>(in_->targets), false);
      case Do::leaf_forward: return forward(entry);
      case Do::leaf_backward: return backward(entry);
      case Do::loss: return loss(entry);
      case Do::store_output: return store(entry);
      case Do::reduce_start: return start_reduction(entry.bucket, entry.axis);
      case Do::add: return kernels_.add(whole(entry.d, entry), whole(entry.a, entry), whole(entry.b, entry), stride(entry.features) * grains());
      case Do::copy: return kernels_.copy(whole(entry.d, entry), whole(entry.a, entry), stride(entry.features) * grains());
    }
  }

  // ---- addresses
  [[nodiscard]] float* at(const Place& place, std::int64_t elements) {
    if (place.pool == Place::scratch) return arena_.floats(map_.scratch + place.offset, elements);
    const Pool& pool = p_->pools[place.pool];
    return arena_.floats(pool.base + p_->slot(place.pool, micro_batch_) * pool.slot_bytes + place.offset, elements);
  }
  [[nodiscard]] float* whole(const Place& place, const Entry& entry) { return at(place, stride(entry.features) * grains()); }
  [[nodiscard]] float* at_grain(const Place& place, std::int64_t features, int grain) {
    return place.set() ? at(place, stride(features) * grains()) + grain * stride(features) : nullptr;
  }
  [[nodiscard]] std::int64_t stride(std::int64_t features) const { return p_->grain_stride(features); }
  [[nodiscard]] int grains() const { return p_->batch.grains(); }
  [[nodiscard]] float* level(int number) { return arena_.floats(map_.gradients + number * map_.flat_bytes, map_.flat_bytes / 4); }
  [[nodiscard]] float* losses(int grain) { return arena_.floats(map_.losses, p_->batch.rank_grains() + 1) + grain; }
  [[nodiscard]] void* workspace() { return workspace_.bytes(0); }

  // ---- rows
  [[nodiscard]] std::int64_t first(int grain) const { return first_row(p_->batch, position_, micro_batch_, grain); }
  [[nodiscard]] std::int64_t rows(int grain) const {
    const std::int64_t there = in_->rows - first(grain);
    return there < 0 ? 0 : there < p_->batch.grain_rows ? there : p_->batch.grain_rows;
  }
  [[nodiscard]] std::int64_t source(std::int64_t row) const {
    if (row >= in_->source_rows) row %= in_->source_rows;
    return in_->order == nullptr ? row : static_cast<std::int64_t>(in_->order[row]);
  }
  /// Index of a grain among all grains of this rank in the step.
  [[nodiscard]] int grain_number(int grain) const { return micro_batch_ * grains() + grain; }
  [[nodiscard]] static int final_level(const BatchDivision& batch) { return batch.levels() - 1; }

  // ---- entries
  void load(const Entry& entry, const float* from, bool) {
    for (int g = 0; g < grains(); ++g) {
      float* const to = at_grain(entry.d, entry.features, g);
      for (std::int64_t r = 0; r < rows(g); ++r)
        std::memcpy(to + r * entry.features, from + source(first(g) + r) * entry.features, static_cast<std::size_t>(entry.features) * sizeof(float));
    }
  }
  void load_labels(const Entry& entry) {
    const auto* const from = static_cast<const std::int32_t*>(in_->targets);
    const std::int64_t classes = p_->graph->output().elements();
    for (int g = 0; g < grains(); ++g) {
      auto* const to = reinterpret_cast<std::int32_t*>(at_grain(entry.d, 1, g));
      for (std::int64_t r = 0; r < rows(g); ++r) {
        to[r] = from[source(first(g) + r)];
        if (to[r] < 0 || to[r] >= classes)
          throw Error(Code{'D', 8}, "row " + std::to_string(first(g) + r) + " of the batch has label " + std::to_string(to[r]) + ", but the model gives " +
                                        std::to_string(classes) + " classes. Fix: use labels from 0 to " + std::to_string(classes - 1) + ".");
      }
    }
  }
  void store(const Entry& entry) {
    for (int g = 0; g < grains(); ++g)
      if (rows(g) > 0)
        std::memcpy(in_->outputs + first(g) * entry.features, at_grain(entry.a, entry.features, g), static_cast<std::size_t>(rows(g) * entry.features) * sizeof(float));
  }
  void find_parameters(const Node& node) {
    for (int k = 0; k < node.parameter_count; ++k) {
      const ParameterPlace& place = p_->parameters[node.first_parameter + k];
      parameter_[k] = arena_.floats(map_.parameters + place.offset, place.elements);
    }
  }
  void forward(const Entry& entry) {
    const Node& node = p_->graph->nodes[entry.node];
    const TracedLeaf& traced = p_->graph->leaves[node.leaf];
    find_parameters(node);
    ForwardCall call{&traced.leaf, 0, nullptr, nullptr, parameter_, workspace()};
    for (int g = 0; g < grains(); ++g) {
      call.rows = rows(g);
      call.input = at_grain(entry.a, traced.leaf.in.elements(), g);
      call.output = at_grain(entry.d, traced.leaf.out.elements(), g);
      kernels_.leaves[node.leaf].forward(call);
    }
  }
  void backward(const Entry& entry) {
    const Node& node = p_->graph->nodes[entry.node];
    const TracedLeaf& traced = p_->graph->leaves[node.leaf];
    const std::int64_t in = traced.leaf.in.elements();
    const std::int64_t out = traced.leaf.out.elements();
    find_parameters(node);
    BackwardCall call{&traced.leaf, 0, nullptr, nullptr, nullptr, nullptr, parameter_, gradient_, false, workspace()};
    for (int g = 0; g < grains(); ++g) {
      const int number = grain_number(g);
      const int counted = p_->batch.tree ? std::countr_one(static_cast<unsigned>(number)) : 0;
      for (int k = 0; k < node.parameter_count; ++k) gradient_[k] = level(counted) + p_->parameters[node.first_parameter + k].offset / 4;
      call.rows = rows(g);
      call.input = at_grain(entry.a, in, g);
      call.output = at_grain(entry.b, out, g);
      call.output_gradient = at_grain(entry.c, out, g);
      call.input_gradient = at_grain(entry.d, in, g);
      call.add = !p_->batch.tree && number > 0;
      kernels_.leaves[node.leaf].backward(call);
      if (p_->batch.tree && node.parameter_count > 0) carry(node, number, counted);
    }
  }
  /// Binary counter: the grain in level `counted` takes up the full levels below it; after the last grain the rest is added, low to high.
  void carry(const Node& node, int number, int counted) {
    const ParameterPlace& begin = p_->parameters[node.first_parameter];
    const ParameterPlace& end = p_->parameters[node.first_parameter + node.parameter_count - 1];
    const std::int64_t offset = begin.offset / 4;
    const std::int64_t n = (end.offset / 4 + end.elements + 15) / 16 * 16 - offset;
    for (int l = 0; l < counted; ++l) kernels_.add(level(counted) + offset, level(l) + offset, level(counted) + offset, n);
    if (number + 1 != p_->batch.rank_grains()) return;
    int held = counted;
    for (int l = counted + 1; l < p_->batch.levels(); ++l) {
      if (((number + 1) >> l & 1) == 0) continue;
      kernels_.add(level(l) + offset, level(l) + offset, level(held) + offset, n);
      held = l;
    }
  }
  void loss(const Entry& entry) {
    for (int g = 0; g < grains(); ++g) {
      LossCall call{rows(g), entry.features, in_->rows, at_grain(entry.a, entry.features, g), at_grain(entry.b, target_features(), g),
                    at_grain(entry.d, entry.features, g)};
      const float sum = kernels_.loss(call);
      if (!std::isfinite(sum))
        throw NonFinite(in_->step, "the loss of step " + std::to_string(in_->step) + " is " + (std::isnan(sum) ? "NaN" : "infinite") + " in rows " +
                                       std::to_string(first(g)) + " to " + std::to_string(first(g) + rows(g) - 1));
      *losses(grain_number(g)) = sum;
    }
    if (grain_number(grains() - 1) + 1 == p_->batch.rank_grains()) sum_losses();
  }
  /// The same tree as for gradients, over one number a grain.
  void sum_losses() {
    const int count = p_->batch.rank_grains();
    float levels[32] = {};
    for (int t = 0; t < count; ++t) {
      const int counted = std::countr_one(static_cast<unsigned>(t));
      float sum = *losses(t);
      for (int l = 0; l < counted; ++l) sum = levels[l] + sum;
      levels[counted] = sum;
    }
    int held = std::countr_zero(static_cast<unsigned>(count));
    for (int l = held + 1; l < 32; ++l)
      if ((static_cast<unsigned>(count) >> l & 1U) != 0) {
        levels[l] = levels[l] + levels[held];
        held = l;
      }
    *losses(count) = levels[held];
  }
  [[nodiscard]] std::int64_t target_features() const { return kernels_.labels ? 1 : p_->graph->output().elements(); }

  const KernelTable& kernels_;
  Rank rank_;
  int role_;
  int position_;  // among the ranks that split the batch
  Endpoint& endpoint_;
  ArenaMap map_;
  Arena arena_;
  Arena workspace_;
  const StepInput* in_ = nullptr;
  const Program* p_ = nullptr;
  int instruction_ = 0;
  int micro_batch_ = 0;
  bool stepped_ = false;
  float loss_sum_ = 0;
  std::vector<std::int64_t> tickets_;     // by token
  std::vector<std::int64_t> reductions_;  // by bucket, then the loss
  std::vector<float*> states_;
  float* parameter_[Leaf::most_parameters]{};
  float* gradient_[Leaf::most_parameters]{};
};

}  // namespace heddle::inline run
