// SPDX-License-Identifier: MIT
// Room: cost. Seconds of layers as someone has measured them, and whether they are those of a model.
// Sees: graph, core, cost/machine_check.  Does not see: programs, files, threads.
// In: a Graph, seconds by layer.  Out: LayerTimes; M22 if they are of another model or cannot be.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "heddle/core/rule.hpp"
#include "heddle/core/text.hpp"
#include "heddle/core/units.hpp"
#include "heddle/core/written.hpp"
#include "heddle/cost/machine_check.hpp"
#include "heddle/graph/graph.hpp"

namespace heddle::cost_room {

/// What one layer takes: layer 4, "h.0.attn.c_attn Linear<768, 2304>", 0.021 s.
struct LayerTime {
  int layer = 0;
  std::string name;
  Seconds seconds;  ///< forward and backward, without what Recompute runs again
  friend bool operator==(const LayerTime&, const LayerTime&) = default;
};

/// What the layers of a model take for so many rows at once, on one device. Of 8 rows of Gpt2 there are 127 layers.
struct LayerTimes {
  std::string model;
  ElementType values = ElementType::float32;  ///< as what they were kept
  std::int64_t rows = 1;                      ///< of one forward and backward
  std::vector<LayerTime> layers;              ///< in any order; none: nothing was measured
  friend bool operator==(const LayerTimes&, const LayerTimes&) = default;
};

/// A layer by what a state_dict calls it and what it is, as profiles name it.
[[nodiscard]] inline std::string layer_name(const Graph& graph, int layer) {
  const auto name = graph.name(layer);
  return written({name.view(), " ", graph.leaf(layer).spelled.view()});
}
/// Of a graph whose layers took these seconds, in the order of its layers. Of another number of seconds than layers there are as many times, and
/// check_times refuses them: of 2 seconds and 3 layers it says that layer 2 is missing.
///
/// Tested  cost/search/layer_times_test
[[nodiscard]] inline LayerTimes layer_times(const Graph& graph, std::int64_t rows, const std::vector<Seconds>& seconds) {
  LayerTimes out{std::string{graph.model.view()}, graph.values, rows, {}};
  for (const Seconds& took : seconds) {
    const auto n = static_cast<int>(out.layers.size());
    out.layers.push_back({n, n < graph.node_count ? layer_name(graph, n) : std::string{"no layer"}, took});
  }
  return out;
}

/// M22 of one layer of a profile, or of a second time of it.
[[nodiscard]] inline Diagnosis check_time(const Graph& graph, const LayerTime& time, std::vector<bool>& seen) {
  constexpr double most = 1e9;
  constexpr std::string_view again = ". Fix: measure the layers of that model again.";
  Diagnosis found{Code{'M', 22}, "a profile "};
  const auto name = core_room::quoted(time.name);
  if (time.layer < 0 || time.layer >= graph.node_count)
    return found << "has layer " << time.layer << ", but those of " << graph.model.view() << " are 0 to " << graph.node_count - 1 << again;
  if (const std::string is = layer_name(graph, time.layer); time.name != is)
    return found << "calls layer " << time.layer << " '" << name.view() << "', that of " << graph.model.view() << " is '"
                 << core_room::quoted(is).view() << '\'' << again;
  found << "has layer " << time.layer << " '" << name.view() << "' ";
  if (seen[static_cast<std::size_t>(time.layer)]) return found << "twice. Fix: keep one of them.";
  seen[static_cast<std::size_t>(time.layer)] = true;
  if (time.seconds.value >= 0 && time.seconds.value <= most) return {};
  return found << "with " << figure_of(time.seconds.value).view() << " seconds. Fix: give it a number from 0 to " << figure_of(most).view() << '.';
}
/// M22: times of another model, of a layer too few, too many or twice, or seconds that cannot be.
///
/// Tested  cost/search/layer_times_test
[[nodiscard]] inline Diagnosis check_times(const Graph& graph, const LayerTimes& times) {
  Diagnosis found{Code{'M', 22}, "a profile "};
  if (times.model != graph.model.view())
    return found << "is of '" << core_room::quoted(times.model).view() << "', but a plan is searched for " << graph.model.view()
                 << ". Fix: measure the layers of " << graph.model.view() << '.';
  if (times.rows < 1 || times.rows > 1'000'000)
    return found << "is of " << times.rows << " rows. Fix: say how many rows its seconds are of, from 1 to 1000000.";
  std::vector<bool> seen(static_cast<std::size_t>(graph.node_count));
  double sum = 0;
  for (const LayerTime& time : times.layers) {
    if (const Diagnosis fault = check_time(graph, time, seen); !fault.ok()) return fault;
    sum += time.seconds.value;
  }
  for (int n = 0; n < graph.node_count; ++n)
    if (!seen[static_cast<std::size_t>(n)])
      return found << "lacks layer " << n << " '" << core_room::quoted(layer_name(graph, n)).view() << "' of " << graph.model.view()
                   << ". Fix: measure the layers of that model again.";
  if (sum > 0) return {};
  return found << "says that no layer takes any time. Fix: measure the layers of that model again.";
}
/// In the order of the model, of times that check_times has found to be of it.
[[nodiscard]] inline std::vector<Seconds> by_layer(const Graph& graph, const LayerTimes& times) {
  std::vector<Seconds> out(static_cast<std::size_t>(graph.node_count));
  for (const LayerTime& time : times.layers) out[static_cast<std::size_t>(time.layer)] = time.seconds;
  return out;
}

}  // namespace heddle::cost_room

namespace heddle::extending {
using cost_room::LayerTime, cost_room::LayerTimes, cost_room::check_times, cost_room::layer_times;
}  // namespace heddle::extending
