// SPDX-License-Identifier: MIT
// Room: plan. Parameter groups: each element that is stepped is in one piece, and each parameter in pieces of the group that the plan gives it.
// Sees: plan/check/noted, plan/program.  Does not see: lowering, policies by name, processes, threads.
// In: a Program and what it was made from.  Out: ok, or S18 with what is noted and what follows.
#pragma once

#include <cstdint>

#include "heddle/core/rule.hpp"
#include "heddle/plan/check/noted.hpp"
#include "heddle/plan/check/restated.hpp"
#include "heddle/plan/program/alignment.hpp"
#include "heddle/plan/program/program.hpp"

namespace heddle::plan_room {

/// FlatCheck comes between both parts: parameters lie by the groups that tables() has compared, and pieces by what FlatCheck has. Kernels take whole
/// lines, so a piece begins at one.
///
/// Linear<16, 16> under NoDecay<>: elements 0 to 255 of group 0, elements 256 to 1,023 of group 1.
/// Tested  plan/check/groups_test
struct GroupCheck {
  const Program& p;
  const MadeFrom& from;
  Diagnosis fault{};

  /// Each parameter has the group that the plan gives it, and groups change what they are to change.
  constexpr void tables() {
    const ParameterGroups& is = p.groups;
    if (is.count != from.groups.count) return void(fault = noted_otherwise("the number of groups of parameters", "", is.count, from.groups.count));
    for (int g = 0; g < is.count; ++g) {
      const ParameterGroup& follows = from.groups.list[g];
      const NotedNumber all[] = {{"the numerator of the factor of a group", is.list[g].numerator, follows.numerator},
                                 {"the denominator of the factor of a group", is.list[g].denominator, follows.denominator},
                                 {"whether a group decays", is.list[g].decays, follows.decays}};
      if (fault = differs(all); !fault.ok()) return;
    }
    const Graph& model = from.model;
    for (int n = 0; n < model.node_count && is.any(); ++n)
      for (int k = 0; k < model.nodes[n].parameter_count; ++k)
        if (const int q = model.nodes[n].first_parameter + k; is.of_parameter[q] != from.groups.of_parameter[q])
          return void(
              fault = noted_otherwise("the group of parameter ", model.parameter_name(n, k).view(), is.of_parameter[q], from.groups.of_parameter[q]));
  }
  /// What a step changes in which group.
  constexpr void run() {
    int i = 0;
    for (int b = 0; b < p.bucket_count && fault.ok() && p.groups.any(); ++b)
      if (p.buckets[b].steps()) i = pieces(b, i);
    if (fault.ok() && i != p.piece_count) fault = noted_otherwise("the number of pieces of a step", "", p.piece_count, i);
  }

 private:
  /// Those of one bucket, from piece i on; returns the first piece behind them.
  constexpr int pieces(int b, int i) {
    const FlatBucket& bucket = p.buckets[b];
    const int first = i;
    std::int64_t end = 0;
    for (; i < p.piece_count && p.pieces[i].bucket == b; ++i) {
      const StepPiece& piece = p.pieces[i];
      if (piece.begin != end || piece.begin % line_elements != 0 || piece.elements <= 0) {
        fault = noted_otherwise("where a piece of a step begins or ends in its bucket", "", piece.begin, end);
        return i;
      }
      end += piece.elements;
    }
    if (end != bucket.elements)
      fault = noted_otherwise("the number of elements of a bucket that are stepped", "", end, bucket.elements);
    else
      parameters(bucket, first, i);
    return i;
  }
  /// Parameters of a bucket in pieces begin .. end - 1, which cover it.
  constexpr void parameters(const FlatBucket& bucket, int begin, int end) {
    const Graph& model = from.model;
    for (int n = bucket.lowest_node; n <= bucket.highest_node; ++n)
      for (int k = 0; k < gradients_of(model.nodes[n]); ++k) {
        const int q = model.nodes[n].first_parameter + k;
        const ParameterPlace& place = p.parameters[q];
        if (place.role != bucket.role || place.owner_begin >= 0) continue;
        const std::int64_t at = place.begin - bucket.begin;
        for (int i = begin; i < end; ++i)
          if (p.pieces[i].begin < at + place.elements && at < p.pieces[i].end() && p.pieces[i].group != from.groups.of_parameter[q])
            return void(fault = noted_otherwise("the group in which a step changes ", model.parameter_name(n, k).view(), p.pieces[i].group,
                                                from.groups.of_parameter[q]));
      }
  }
};

}  // namespace heddle::plan_room
