// SPDX-License-Identifier: MIT
// Room: policy. Cuts of a graph by seconds of its layers, measured or of any other origin: the slowest stage is the fastest that any cut leaves.
// Sees: graph, policy/cut.  Does not see: memory, processes, instructions.
// In: a Graph, seconds by layer.  Out: TimedCuts.
#pragma once

#include <algorithm>
#include <cstddef>
#include <limits>
#include <utility>
#include <vector>

#include "heddle/core/units.hpp"
#include "heddle/graph/graph.hpp"
#include "heddle/policy/cut.hpp"

namespace heddle::policy_room {

/// The best cuts of one graph into any number of stages, never through a skip connection. Layers of 3, 1, 1 and 3 seconds are cut into 3, 2 and 3.
/// Whoever makes them gives one number for each layer: best_cut and check_times have refused any other.
///
/// Tested  policy/timed_cut_test, run/profile_test
class TimedCuts {
 public:
  TimedCuts(const Graph& graph, const std::vector<Seconds>& layers) {
    for (int b = 0; b < graph.node_count; ++b)
      if (b == 0 || clean_boundary(graph, b)) places_.push_back(b);
    count_ = places_.size();
    places_.push_back(graph.node_count);
    before_.resize(count_ + 1);
    for (std::size_t b = 1; b <= count_; ++b) {
      before_[b] = before_[b - 1];
      for (int n = places_[b - 1]; n < places_[b]; ++n) before_[b] += layers[static_cast<std::size_t>(n)].value;
    }
    slowest_.push_back(before_);
    from_.emplace_back(count_ + 1);
  }
  /// How many stages there can be.
  [[nodiscard]] int most() const { return static_cast<int>(count_); }

  /// Where so many stages begin, from 1 to most(), then the number of layers.
  [[nodiscard]] std::vector<int> first_node(int stages) {
    while (slowest_.size() < static_cast<std::size_t>(stages)) add_a_stage();
    std::vector<int> first{places_.back()};
    std::size_t end = count_;
    for (auto s = static_cast<std::size_t>(stages) - 1; s > 0; --s) first.push_back(places_[end = from_[s][end]]);
    first.push_back(0);
    std::reverse(first.begin(), first.end());
    return first;
  }

 private:
  void add_a_stage() {
    const std::size_t s = slowest_.size();
    std::vector<double> slowest(count_ + 1, std::numeric_limits<double>::infinity());
    std::vector<std::size_t> from(count_ + 1);
    for (std::size_t b = s + 1; b <= count_; ++b)
      for (std::size_t a = s; a < b; ++a)
        if (const double most = std::max(slowest_[s - 1][a], before_[b] - before_[a]); most < slowest[b]) {
          slowest[b] = most;
          from[b] = a;
        }
    slowest_.push_back(std::move(slowest));
    from_.push_back(std::move(from));
  }

  std::vector<int> places_;  // where a stage may begin, then the end
  std::size_t count_ = 0;
  std::vector<double> before_;                  // seconds of all layers before a place
  std::vector<std::vector<double>> slowest_;    // [s][b]: of the best s + 1 stages that end at place b
  std::vector<std::vector<std::size_t>> from_;  // [s][b]: where the last of them begins
};

}  // namespace heddle::policy_room
