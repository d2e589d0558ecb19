// SPDX-License-Identifier: MIT
// Room: run. Profile: the time that each layer really takes, and the cut into stages that balances it.
// Sees: seams, plan/program, policy/timed_cut, run/observer.  Does not see: threads, compute, transport.
// In: observations of steps.  Out: seconds by layer, MeasuredCut.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "heddle/policy/timed_cut.hpp"
#include "heddle/run/observer.hpp"
#include "heddle/seams/error.hpp"

namespace heddle::run_room {

/// Where stages begin, and what each takes.
struct MeasuredCut {
  std::vector<int> first_node;   ///< of each stage, then the number of layers
  std::vector<Seconds> stages;   ///< in the order of the model
  std::vector<Seconds> devices;  ///< the stages of each device together

  /// Of the device that takes longest.
  [[nodiscard]] Seconds slowest() const { return *std::max_element(devices.begin(), devices.end()); }
  /// Share of the slowest device's time that the devices on average wait for it: stages of 1, 4 and 1 s on devices 0, 1 and 0 wait for 25 %.
  [[nodiscard]] double waiting() const {
    double sum = 0;
    for (const Seconds& s : devices) sum += s.value;
    return slowest().value > 0 ? 1 - sum / (static_cast<double>(devices.size()) * slowest().value) : 0;
  }
};

/// M22 of so many seconds for so many layers.
inline void need_seconds(std::size_t seconds, int layers) {
  if (layers < 0 || seconds != static_cast<std::size_t>(layers))
    throw Error(Diagnosis{Code{'M', 22}, "a cut has "} << layers << (layers == 1 ? " layer, but " : " layers, but ")
                                                       << static_cast<std::int64_t>(seconds)
                                                       << " seconds are given. Fix: give one number for each layer of the model.");
}

/// The stages of a cut under given times by layer. Each stage has a device of its own, unless the devices of the stages are given.
///
/// Errors  M22 if there are other seconds than the cut has layers, M03 if it is no cut or its stages have other devices
/// Tested  run/profile_test
[[nodiscard]] inline MeasuredCut measure_cut(std::vector<int> first_node, const std::vector<Seconds>& layers,
                                             const std::vector<int>& device_of_stage = {}) {
  const std::size_t stages = first_node.size() < 2 ? 0 : first_node.size() - 1;
  if (stages == 0 || first_node[0] != 0 || !std::is_sorted(first_node.begin(), first_node.end()))
    throw Error(
        Diagnosis{Code{'M', 3}, "a cut does not name where its stages begin. Fix: begin with layer 0, go up, and end with the number of layers."});
  const bool named = device_of_stage.size() == stages && *std::min_element(device_of_stage.begin(), device_of_stage.end()) >= 0;
  if (!device_of_stage.empty() && !named)
    throw Error(Diagnosis{Code{'M', 3}, "a cut of "} << static_cast<std::int64_t>(stages) << " stages is given "
                                                     << static_cast<std::int64_t>(device_of_stage.size())
                                                     << " devices. Fix: give one for each stage, counted from 0, or none.");
  need_seconds(layers.size(), first_node.back());
  MeasuredCut cut{std::move(first_node), {}, {}};
  for (std::size_t c = 0; c + 1 < cut.first_node.size(); ++c) {
    Seconds sum;
    for (int n = cut.first_node[c]; n < cut.first_node[c + 1]; ++n) sum.value += layers[static_cast<std::size_t>(n)].value;
    cut.stages.push_back(sum);
    const auto device = device_of_stage.empty() ? c : static_cast<std::size_t>(device_of_stage[c]);
    if (device >= cut.devices.size()) cut.devices.resize(device + 1);
    cut.devices[device].value += sum.value;
  }
  return cut;
}

/// The cut whose slowest stage is fastest, each on a device of its own, never through a skip connection.
///
/// Errors  M22 if there are other seconds than the graph has layers, M03 if there are fewer places to cut than stages ask for
/// Tested  run/profile_test
[[nodiscard]] inline MeasuredCut best_cut(const Graph& graph, const std::vector<Seconds>& layers, int stages) {
  need_seconds(layers.size(), graph.node_count);
  TimedCuts cuts{graph, layers};
  if (stages < 1 || stages > cuts.most())
    throw Error(Diagnosis{Code{'M', 3}, ""} << graph.model.view() << " cannot be cut into " << stages << " stages: it has " << cuts.most() - 1
                                            << " places to cut (never through a skip connection). Fix: ask for 1 to " << cuts.most() << " stages.");
  return measure_cut(cuts.first_node(stages), layers);
}

/// Watches steps: trainer.observe(&profile). Layers of all replicas and both directions are added up, what runs again with them, over all steps that
/// it has seen. Steps of another plan than the one that it was made of are not counted.
///
/// Tested  run/profile_test
class Profile : public Observer {
 public:
  explicit Profile(const Program& program)
      : program_(program),
        seconds_(static_cast<std::size_t>(program.mesh.ranks()), std::vector<double>(static_cast<std::size_t>(program.graph->node_count))),
        again_(seconds_) {}

  void finished(const Observation& seen) override {
    if (seen.program != &program_ || seen.entry < 0) return;
    const Entry& entry = program_.entries[seen.entry];
    if (entry.node < 0 || entry.node >= program_.graph->node_count || entry.what == BodyOp::loss) return;
    const double took = std::chrono::duration<double>(seen.end - seen.start).count();
    seconds_[static_cast<std::size_t>(seen.rank.value)][static_cast<std::size_t>(entry.node)] += took;
    const bool forward = entry.what == BodyOp::leaf_forward || entry.what == BodyOp::add;
    if (forward && program_.instructions[seen.instruction].op != ListOp::forward)
      again_[static_cast<std::size_t>(seen.rank.value)][static_cast<std::size_t>(entry.node)] += took;
  }
  [[nodiscard]] std::vector<Seconds> layers() const { return over_ranks(seconds_); }
  /// The part of that which plans with Recompute spend on forwards a second time.
  [[nodiscard]] std::vector<Seconds> run_again() const { return over_ranks(again_); }
  /// The chunks of the plan as they are, on their devices.
  [[nodiscard]] MeasuredCut present_cut() const {
    return measure_cut({program_.first_node, program_.first_node + program_.chunks + 1}, layers(),
                       {program_.device_of_chunk, program_.device_of_chunk + program_.chunks});
  }
  [[nodiscard]] MeasuredCut proposed_cut(int stages) const { return best_cut(*program_.graph, layers(), stages); }

 private:
  [[nodiscard]] std::vector<Seconds> over_ranks(const std::vector<std::vector<double>>& by_rank) const {
    std::vector<Seconds> sums(static_cast<std::size_t>(program_.graph->node_count));
    for (const auto& rank : by_rank)
      for (std::size_t n = 0; n < sums.size(); ++n) sums[n].value += rank[n];
    return sums;
  }
  const Program& program_;
  std::vector<std::vector<double>> seconds_;  // (ranks, layers): ranks write at once
  std::vector<std::vector<double>> again_;
};

}  // namespace heddle::run_room

namespace heddle::extending {
using run_room::MeasuredCut, run_room::Profile, run_room::best_cut, run_room::measure_cut;
}  // namespace heddle::extending
