// SPDX-License-Identifier: MIT
// Room: run. Runs the phases of one leaf over two grains, as two ranks do, and holds them against the kernel that is called once for all rows.
// Sees: graph, run/leaf_under_test, run/kernel_table, seams/concepts.  Does not see: policies, threads, any backend by name.
// In: a LeafUnderTest whose forward and backward have run.  Out: empty, or what differs.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "heddle/core/finite.hpp"
#include "heddle/graph/leaf.hpp"
#include "heddle/run/kernel_table.hpp"
#include "heddle/run/leaf_under_test.hpp"

namespace heddle::run_room {

/// Beyond the rounding of a few float sums in another order.
[[nodiscard]] inline bool differs(const Floats& a, const Floats& b) {
  double scale = 1;
  for (const float v : a) scale = std::max(scale, std::fabs(static_cast<double>(v)));
  for (std::size_t i = 0; i < a.size(); ++i)
    if (const double off = std::fabs(static_cast<double>(a[i]) - static_cast<double>(b[i])); !(is_finite(off) && off <= 1e-5 * scale)) return true;
  return false;
}

/// Two grains of a leaf in phases, of which the first may have no rows. What is told begins as NaN, so what a grain does not tell is found; behind
/// the forward the last phase runs again, with nothing told. Of 4 rows the grains have 2 each, and then 0 and 4.
///
/// Tested  run/phases_under_test_test
template <class L, class Compute> class PhasesUnderTest {
 public:
  PhasesUnderTest(LeafUnderTest<L, Compute>& test, std::int64_t rows, std::int64_t first_rows)
      : test_(test), leaf_(test.leaf()), rows_{first_rows, rows - first_rows}, all_(rows),
        workspace_((Compute::workspace + scratch_of<L, Compute>(test.leaf())).value) {
    for (const Floats& parameter : test.parameters) parameters_.push_back(parameter.data());
    output = Floats(test.output.size(), nan);
    statistics = Floats(test.statistics.size(), nan);
    input_gradient = Floats(test.input_gradient.size(), nan);
    for (const Floats& gradient : test.gradients) gradients.emplace_back(gradient.size());
  }
  /// What of both passes is not what one call makes; empty if nothing is.
  [[nodiscard]] std::string run() {
    forward();
    if (differs(test_.output, output)) return "output in phases differs from that of forward";
    if (leaf_.forward_phases.any()) {
      std::fill(output.begin(), output.end(), nan);
      for (int g = 0; g < 2; ++g) forward(leaf_.forward_phases.count(), g, true);
      if (differs(test_.output, output)) return "last forward phase makes another output of the statistics alone, as where it runs again";
    }
    backward();
    if (differs(test_.input_gradient, input_gradient)) return "gradient of the input in phases differs from that of backward";
    for (std::size_t p = 0; p < gradients.size(); ++p)
      if (differs(test_.gradients[p], gradients[p])) return "gradients of parameters in phases do not add up to those of backward";
    return {};
  }
  Floats output, statistics, input_gradient;
  std::vector<Floats> gradients;

 private:
  static constexpr float nan = std::numeric_limits<float>::quiet_NaN();

  void forward() {
    told_.clear();
    for (int phase = 1; phase <= leaf_.forward_phases.count(); ++phase) {
      open(leaf_.forward_phases, phase);
      for (int g = 0; g < 2; ++g) forward(phase, g, false);
      close();
    }
  }
  void backward() {
    told_.clear();
    for (int phase = 1; phase <= leaf_.backward_phases.count(); ++phase) {
      open(leaf_.backward_phases, phase);
      for (int g = 0; g < 2; ++g) backward(phase, g);
      close();
    }
  }
  void forward(int phase, int g, bool again) {
    ForwardCall call{&leaf_, rows_[g], nullptr, output.data() + first(g) * leaf_.out.elements(), parameters_.data(), workspace_.bytes(0)};
    set_input(call, test_.input.data() + first(g) * leaf_.in.elements());
    call.statistics = statistics.data() + first(g) * leaf_.statistics_elements();
    give(call, g, again);
    if constexpr (forward_phases_of<L, Compute>() > 1)
      KernelFor<L, Compute>::forward_phases[phase - 1](call);
    else
      KernelFor<L, Compute>::forward(call);
  }
  void backward(int phase, int g) {
    std::vector<float*> sums;
    for (Floats& gradient : gradients) sums.push_back(gradient.data());
    BackwardCall call{&leaf_,  rows_[g],          nullptr, nullptr, test_.output_gradient.data() + first(g) * leaf_.out.elements(),
                      nullptr, parameters_.data()};
    set_input(call, test_.input.data() + first(g) * leaf_.in.elements());
    call.statistics = statistics.data() + first(g) * leaf_.statistics_elements();
    call.workspace = workspace_.bytes(0);
    if (phase == 1) call.parameter_gradients = sums.data();
    if (phase == leaf_.backward_phases.count()) call.input_gradient = input_gradient.data() + first(g) * leaf_.in.elements();
    call.add = g > 0;
    give(call, g, false);
    if constexpr (backward_phases_of<L, Compute>() > 1)
      KernelFor<L, Compute>::backward_phases[phase - 1](call);
    else
      KernelFor<L, Compute>::backward(call);
  }
  [[nodiscard]] std::int64_t first(int g) const { return g == 0 ? 0 : rows_[0]; }
  template <class Call> void give(Call& call, int g, bool again) {
    call.context.rows_together = all_;
    call.context.first_row = first(g);
    if (again) return;
    if (!tells_[g].empty()) call.tells = tells_[g].data();
    pointers_.clear();
    for (const Floats& told : told_) pointers_.push_back(told.data());
    call.told = pointers_.data();
  }
  void open(const Phases& phases, int phase) {
    const std::int64_t sums = phase < phases.count() ? phases.sums[phase - 1] : 0;
    for (Floats& tells : tells_) tells = Floats(static_cast<std::size_t>(sums), nan);
  }
  void close() {
    if (tells_[0].empty()) return;
    told_.push_back(tells_[0]);
    Compute::add(told_.back().data(), tells_[0].data(), tells_[1].data(), std::ssize(tells_[0]));
  }

  LeafUnderTest<L, Compute>& test_;
  Leaf leaf_;
  std::int64_t rows_[2];
  std::int64_t all_;
  Arena workspace_;
  std::vector<const float*> parameters_;
  Floats tells_[2];
  std::vector<Floats> told_;
  std::vector<const float*> pointers_;
};

}  // namespace heddle::run_room
