// SPDX-License-Identifier: MIT
// Room: tests. Entries that nobody asked for: over what an entry of a body has just written they write something else that lies there.
// Sees: plan/program.  Does not see: policies, processes, the checks.
// In: a Program and one of its bodies.  Out: the entries that may be inserted behind one entry.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "heddle/plan/program/program.hpp"

namespace heddle::tests {

/// A tensor that an entry writes, whole or in parts. The forward of Linear<7, 6> in two parts of its outputs writes 3 elements a row.
struct Written {
  Place place;
  std::int64_t features = 0;
  ElementType type = ElementType::float32;
};
/// The terms of a loss stand for what it writes; what it leaves for its gradient lies where the loss writes too.
[[nodiscard]] inline Written written_by(const Program& p, const Entry& entry) {
  switch (entry.what) {
    case BodyOp::leaf_forward: return {entry.d, p.graph->leaf(entry.node).out.elements()};
    case BodyOp::sum_grains:
    case BodyOp::reduce_phase: return {};  // not of so many a row
    case BodyOp::leaf_backward:
    case BodyOp::leaf_backward_input: return {entry.d, p.graph->leaf(entry.node).in.elements()};
    case BodyOp::loss_terms: return {entry.c, p.loss.terms};
    case BodyOp::scatter_value:
    case BodyOp::slice_value: return {entry.d, entry.features / p.graph->split.ranks};
    default: return {entry.d, entry.features, entry.type};
  }
}

/// Behind entry e, over what it has written: of each of the last two tensors that lie elsewhere the sum with itself, of the last one also a copy; and
/// entry e itself, reading that one.
[[nodiscard]] inline std::vector<Entry> insertions(const Program& p, const std::vector<Entry>& body, std::size_t e) {
  std::vector<Entry> all;
  const Entry& before = body[e];
  if (!before.d.set()) return all;
  std::vector<Written> sources;
  for (std::size_t i = e; i-- > 0 && sources.size() < 2;) {
    const Written found = written_by(p, body[i]);
    const bool known = std::any_of(sources.begin(), sources.end(), [&](const Written& s) { return s.place == found.place; });
    if (found.place.set() && found.place != before.d && found.features > 0 && !known) sources.push_back(found);
  }
  for (const Written& source : sources) {
    Entry more;
    more.what = BodyOp::add;
    more.features = source.features;
    more.a = more.b = source.place;
    more.d = before.d;
    all.push_back(more);
    if (&source != &sources.front()) continue;
    more.what = BodyOp::copy;
    more.type = source.type;
    more.b = Place{};
    all.push_back(more);
    if (!before.a.set() || before.a == source.place) continue;
    all.push_back(before);
    all.back().a = source.place;
  }
  return all;
}

}  // namespace heddle::tests
