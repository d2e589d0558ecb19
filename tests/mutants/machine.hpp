// SPDX-License-Identifier: MIT
// Room: tests. Runs a Program as it stands, legal or not, on the executor that users have, and says what came of it.
// Sees: plan/program, run/executor, tests/mutants.  Does not see: policies, the checks.
// In: a Program and rows.  Out: an Ending, and every bit that users could read.
#pragma once

#include <algorithm>
#include <cstdint>
#include <exception>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "heddle/run/conductor.hpp"
#include "heddle/run/executor.hpp"
#include "heddle/run/transport_needs.hpp"
#include "mutants/exact_kernels.hpp"
#include "mutants/world.hpp"

namespace heddle::tests {

/// What a run leaves: how it ended, and what every rank holds then.
struct Outcome {
  Ending ending = Ending::fine;
  std::vector<float> result;

  [[nodiscard]] bool same_result(const Outcome& other) const {
    return result.size() == other.result.size() && std::equal(result.begin(), result.end(), other.result.begin(), [](float a, float b) {
             return std::bit_cast<std::uint32_t>(a) == std::bit_cast<std::uint32_t>(b);
           });
  }
};

/// What a Machine has to know of a plan beside its Programs.
struct MachineFacts {
  std::int64_t target_features = 0;
  int states = 0;       ///< of the optimizer
  bool labels = false;  ///< targets are class numbers
  bool reports = true;  ///< a loss is asked for: not of what is only applied
  [[nodiscard]] TargetRanges targets_of(const Graph& whole) const {
    return TargetRanges{}.append({0, target_features, labels ? whole.output().shape.last() : 0});
  }
};

/// Two Programs of a plan, of which one is run; made once for all of its mutants.
class Machine {
 public:
  /// `mode` runs; `training` is where parameters lie, `whole` the model as one device has it.
  Machine(const Program& training, const Program& mode, const Graph& whole, const MachineFacts& facts)
      : training_(training), whole_(whole), kernels_(*mode.graph, facts.states, facts.targets_of(whole)), reports_(facts.reports),
        groups_(transport_needs(training, mode).groups), rows_(mode.batch.capacity()), arenas_(training.arenas, training.arenas + training.roles) {
    std::int64_t most = 0;
    for (const ArenaMap& map : arenas_) most = std::max(most, map.total);
    for (ArenaMap& map : arenas_) map.total += most + slack_bytes;
    std::int64_t most_elements = 0;  // a load of another input stays within it
    for (int k = 0; k < whole.input_count; ++k) most_elements = std::max(most_elements, whole.input_of(k).elements());
    for (int k = 0; k < whole.input_count; ++k) {
      const std::int64_t vocabulary = vocabulary_of(whole, k);
      for (std::int64_t i = 0; i < 3 * rows_ * most_elements; ++i)
        inputs_[k].push_back(vocabulary > 0 ? std::bit_cast<float>(static_cast<std::int32_t>(((5 + 2 * k) * i + i / 4) % vocabulary))
                                            : Exact::hash({11, k, i}));
    }
    for (std::int64_t i = 0; i < 3 * rows_ * facts.target_features; ++i)
      targets_.push_back(facts.labels ? std::bit_cast<float>(static_cast<std::int32_t>((7 * i + i / 3) % whole.output().shape.last()))
                                      : Exact::hash({12, i}));
    if (mode.scales_loss && mode.training) targets_[static_cast<std::size_t>((2 * rows_ + 1) * facts.target_features)] = HUGE_VALF;
  }

  /// Steps of different rows: one whole and reported; one of fewer rows, if the plan takes fewer, and not reported; and if the plan scales its loss,
  /// or is guarded, one in which a gradient of one row overflows, and a loss of one rank is not finite.
  [[nodiscard]] Outcome run(const Program& changed) {
    Program training = training_;
    Program mode = changed;
    arenas_now_.assign(changed.arenas, changed.arenas + changed.roles);
    for (std::size_t r = 0; r < arenas_.size(); ++r) arenas_now_[r].total = arenas_[r].total;
    training.arenas = mode.arenas = arenas_now_.data();
    training.parameters = mode.parameters;
    training.units = mode.units;
    Outcome out;
    if (!places_are_inside(mode) || reads_absent_targets(mode) || fuses_no_layer(mode)) return {Ending::address, {}};
    run(training, mode, out);
    if (out.ending != Ending::fine) return out;
    if (!fuses(mode)) {  // the same once more
      const std::vector<float> once = out.result;
      out.result.insert(out.result.end(), once.begin(), once.end());
      return out;
    }
    Nobody nobody;
    watching_ = &nobody;
    run(training, mode, out);
    watching_ = nullptr;
    return out;
  }

 private:
  using RankExecutor = Executor<WorldEndpoint>;
  static constexpr std::int64_t slack_bytes = 8192;
  /// Where somebody watches, entries that may run at once run one after another: either way gives what is wanted.
  struct Nobody : Observer {};

  /// A loss of one rank that is not finite, as a card has it: the host refuses it where it is made, so its flag stays 0. What each rank knows of it
  /// when it steps is noted: the flag as it was when the rank last decided whether to skip.
  class OddLoss : public Observer {
   public:
    OddLoss(std::vector<std::unique_ptr<RankExecutor>>& executors, const Program& mode)
        : executors_(executors), decided_(executors.size(), unwritten()), told_(executors.size()) {
      for (std::size_t r = 0; r < executors.size(); ++r)
        if (executors[r]->role() == mode.loss_role()) odd_ = static_cast<int>(r);
    }
    void finished(const Observation& of) override {
      if (of.entry >= 0) return;
      const ListOp line = of.program->instructions[of.instruction].op;
      const auto rank = static_cast<std::size_t>(of.rank.value);
      if (line == ListOp::guard && of.rank.value == odd_) flag(of) = 1;
      if (line == ListOp::skip) decided_[rank] = flag(of);
      if (line == ListOp::step) told_[rank].push_back(decided_[rank]);
    }
    [[nodiscard]] const std::vector<float>& told(std::size_t rank) const { return told_[rank]; }

   private:
    [[nodiscard]] float& flag(const Observation& of) {
      auto& executor = *executors_[static_cast<std::size_t>(of.rank.value)];
      const std::int64_t norms = of.program->arenas[executor.role()][RegionKind::norms].begin;
      return *reinterpret_cast<float*>(executor.arena().bytes(norms + 4 * of.program->before_step().place(Fact::loss, of.program->unit_count)));
    }
    std::vector<std::unique_ptr<RankExecutor>>& executors_;
    std::vector<float> decided_;  // by rank
    std::vector<std::vector<float>> told_;
    int odd_ = 0;
  };

  void run(const Program& training, const Program& mode, Outcome& out) {
    World world{mode.mesh.ranks(), groups_};
    Ranks ranks = make(training, mode, world);
    outputs_.assign(static_cast<std::size_t>(3 * rows_ * whole_.output().elements()), unwritten());
    OddLoss odd{ranks.executors, mode};
    for (int step = 1; step <= (mode.before_step().may_skip() && mode.training ? 3 : 2) && out.ending == Ending::fine; ++step) {
      poison(ranks);
      Exact::read_unwritten() = false;
      StepInput input = input_of(mode, step);
      if (step == 3 && mode.guards) input.observer = &odd;
      out.ending = end_of(ranks, input);
      if (out.ending == Ending::fine && !world.at_rest()) out.ending = Ending::misuse;
      if (out.ending == Ending::fine && (Exact::read_unwritten() || wrote_outside(ranks))) out.ending = Ending::address;
      if (out.ending == Ending::fine) take_result(mode, ranks, step, out.result);
      for (std::size_t r = 0; r < ranks.executors.size() && step == 3; ++r)
        out.result.insert(out.result.end(), odd.told(r).begin(), odd.told(r).end());
    }
  }
  struct Ranks {
    std::vector<std::unique_ptr<WorldEndpoint>> endpoints;
    std::vector<std::unique_ptr<RankExecutor>> executors;
  };

  /// How a step of all ranks ends: the first that throws ends it for all.
  [[nodiscard]] static Ending end_of(Ranks& ranks, const StepInput& input) {
    InTurn order;
    std::vector<std::exception_ptr> errors;
    try {
      for (auto& executor : ranks.executors) executor->begin(input);
      conduct(ranks.executors, order, errors, [&](int rank) { std::rethrow_exception(errors[static_cast<std::size_t>(rank)]); });
    } catch (const Ended& ended) {
      return ended.how;
    } catch (const std::exception&) {
      return Ending::misuse;
    }
    const bool stuck = std::any_of(errors.begin(), errors.end(), [](const std::exception_ptr& error) { return error != nullptr; });
    return stuck ? Ending::deadlock : Ending::fine;
  }
  [[nodiscard]] StepInput input_of(const Program& mode, int step) {
    StepInput input;
    input.program = &mode;
    for (int k = 0; k < whole_.input_count; ++k)
      (k == 0 ? input.inputs : input.more_inputs[k - 1]) = inputs_[k].data() + (step - 1) * rows_ * whole_.input_of(k).elements();
    input.targets = targets_.data() + (step - 1) * static_cast<std::int64_t>(targets_.size()) / 3;
    const bool fewer = step == 2 && (mode.batch.remedy == Remedy::keep || !mode.training);
    input.source_rows = input.rows = std::min<std::int64_t>(rows_, mode.batch.batch) - (fewer ? 3 : 0);
    input.step = step;
    input.reporting = reports_ && step == 1;
    input.outputs = mode.training ? nullptr : outputs_.data() + (step - 1) * rows_ * whole_.output().elements();
    input.max_norm = 64;
    input.loss_scale = mode.scales_loss ? 2 : 1;
    input.observer = watching_;
    return input;
  }
  [[nodiscard]] Ranks make(const Program& training, const Program& mode, World& world) const {
    Ranks ranks;
    for (int r = 0; r < mode.mesh.ranks(); ++r) {
      ranks.endpoints.push_back(std::make_unique<WorldEndpoint>(world, r));
      ranks.executors.push_back(std::make_unique<RankExecutor>(training, mode, kernels_.table(), Rank{r}, *ranks.endpoints.back()));
      RankExecutor& executor = *ranks.executors.back();
      auto* const begin = reinterpret_cast<float*>(executor.arena().bytes(0));
      world.set_memory(r, {begin, begin + arenas_[static_cast<std::size_t>(executor.role())].total / 4});
      for (int p = 0; p < mode.graph->parameter_count; ++p) {
        const ParameterPlace& place = training_.parameters[p];
        if (place.role != executor.role()) continue;
        const HeldPart part = executor.held_parameter(p);
        const int part_of = !place.split.sharded() ? 0 : mode.mesh.coordinate(Rank{r}, Axis::tensor);
        const int owner = mode.graph->nodes[mode.graph->owner(place.node)].first_parameter + place.index;
        for (std::int64_t i = 0; i < part.elements; ++i) part.values[i] = Exact::hash({13, owner, part_of, part.begin + i});
      }
    }
    return ranks;
  }
  /// Everything that a step writes before it reads it: what is left of the step before must not be mistaken for it.
  void poison(Ranks& ranks) const {
    for (auto& executor : ranks.executors) {
      const ArenaMap& map = arenas_[static_cast<std::size_t>(executor->role())];
      const auto fill = [&](std::int64_t begin, std::int64_t end) {
        std::fill(reinterpret_cast<float*>(executor->arena().bytes(begin)), reinterpret_cast<float*>(executor->arena().bytes(0)) + end / 4,
                  unwritten());
      };
      fill(map[RegionKind::gathered].begin, map[RegionKind::gradients].begin);
      fill(map[RegionKind::fresh].begin, map[RegionKind::states].begin);
      fill(map[RegionKind::losses].begin, map[RegionKind::zeros].begin);
      fill(map[RegionKind::pools].begin, map.total);
    }
  }
  [[nodiscard]] bool wrote_outside(Ranks& ranks) const {
    for (auto& executor : ranks.executors) {
      const auto role = static_cast<std::size_t>(executor->role());
      const auto* const values = reinterpret_cast<const float*>(executor->arena().bytes(0));
      for (std::int64_t i = training_.arenas[role].total / 4; i < arenas_[role].total / 4; ++i)
        if (std::bit_cast<std::uint32_t>(values[i]) != unwritten_bits) return true;
    }
    return false;
  }
  /// Parameters, gradients and the norm of every rank, the loss where it is reported, all outputs.
  void take_result(const Program& mode, Ranks& ranks, int step, std::vector<float>& result) const {
    for (auto& executor : ranks.executors) {
      for (int p = 0; p < mode.graph->parameter_count && mode.training; ++p) {
        if (training_.parameters[p].role != executor->role()) continue;
        for (const HeldPart& part : {executor->held_parameter(p), executor->held_gradient(p)})
          result.insert(result.end(), part.values, part.values + part.elements);
      }
      if (mode.clips && mode.training) result.push_back(executor->norm());
      if (reports_ && step == 1 && executor->role() == mode.loss_role()) result.push_back(executor->loss_sum());
    }
    if (!mode.training) result.insert(result.end(), outputs_.begin(), outputs_.end());
  }

  /// Outputs that are asked for without a loss have no targets beside them.
  [[nodiscard]] static bool reads_absent_targets(const Program& p) {
    for (int c = 0; c < p.chunks && !p.training; ++c)
      for (int e = p.forward_bodies[c].begin; e < p.forward_bodies[c].end; ++e)
        if (p.entries[e].what == BodyOp::load_targets && p.entries[e].features > 0 && p.entries[e].when != When::reporting) return true;
    return false;
  }
  [[nodiscard]] static bool fuses(const Program& p) {
    for (int c = 0; c < p.chunks; ++c)
      for (const IndexRange* bodies : {p.forward_bodies, p.backward_bodies})
        for (int e = bodies[c].begin; e < bodies[c].end; ++e)
          if (p.entries[e].fused) return true;
    return false;
  }
  /// An entry that may run at once with one that has no layer: whatever lies there is taken for one.
  [[nodiscard]] static bool fuses_no_layer(const Program& p) {
    for (int c = 0; c < p.chunks; ++c)
      for (const IndexRange* bodies : {p.forward_bodies, p.backward_bodies, p.weight_bodies})
        for (int e = bodies[c].begin; e < bodies[c].end; ++e) {
          if (!p.entries[e].fused) continue;
          if (e + 1 == bodies[c].end || p.entries[e].node < 0 || p.entries[e].node >= p.graph->node_count) return true;
          if (p.entries[e + 1].node < 0 || p.entries[e + 1].node >= p.graph->node_count) return true;
        }
    return false;
  }
  /// What a layer has saved is named also by the part of a backward that does not read it.
  [[nodiscard]] static bool used(const Program& p, const Entry& entry, const Place* place) {
    return place == &entry.c || place == &entry.d || entry.what != BodyOp::leaf_backward_input || p.graph->leaf(entry.node).input_part_reads_saved;
  }
  /// No place of an entry or transfer begins before the arena or ends behind the memory that stands for what follows it.
  [[nodiscard]] bool places_are_inside(const Program& p) const {
    const auto inside = [&](int role, const Place& place) {
      if (!place.set()) return true;
      const ArenaMap& map = arenas_now_[static_cast<std::size_t>(role)];
      const std::int64_t end = training_.arenas[role].total;
      if (place.pool == Place::scratch)
        return map[RegionKind::scratch].begin + place.offset >= 0 && map[RegionKind::scratch].begin + place.offset < end;
      for (int m = 0; m < p.batch.total_micro_batches(); ++m) {
        const Pool& pool = p.pools[place.pool];
        const std::int64_t at = pool.base + p.slot(place.pool, m) * pool.slot_bytes + place.offset;
        if (pool.role != role || pool.slots == 0 || at < 0 || at >= end) return false;
      }
      return true;
    };
    for (int c = 0; c < p.chunks; ++c)
      for (const IndexRange* bodies : {p.forward_bodies, p.backward_bodies, p.weight_bodies})
        for (int e = bodies[c].begin; e < bodies[c].end; ++e)
          for (const Place* place : {&p.entries[e].a, &p.entries[e].b, &p.entries[e].c, &p.entries[e].d, &p.entries[e].e})
            if (used(p, p.entries[e], place) && !inside(p.device_of_chunk[c], *place)) return false;
    for (int t = 0; t < p.transfer_count; ++t)
      if (p.transfers[t].use < 0 &&
          (!inside(p.transfers[t].from_role, p.transfers[t].source) || !inside(p.transfers[t].to_role, p.transfers[t].target)))
        return false;
    return true;
  }

  const Program& training_;
  const Graph& whole_;
  ExactKernels kernels_;
  bool reports_;
  std::vector<std::vector<int>> groups_;
  std::int64_t rows_;
  std::vector<ArenaMap> arenas_;      // with memory behind each, in which a write is seen
  std::vector<ArenaMap> arenas_now_;  // those of the Program that runs
  std::vector<float> inputs_[Graph::most_inputs];
  std::vector<float> targets_;
  Observer* watching_ = nullptr;
  std::vector<float> outputs_;
};

}  // namespace heddle::tests
