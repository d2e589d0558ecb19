// SPDX-License-Identifier: MIT
// Room: core. What stands for the results of something that is refused, so that the refusal stays the only error.
// Sees: core/refused.  Does not see: every other room.
// In: -.  Out: Unanswered.
#pragma once

#include "heddle/core/refused.hpp"

namespace heddle::inline core_room {

/// Has the members of a data set, its batches and the result of a step, and converts into anything; a comparison with it holds. The compilation has
/// failed where one is made, so nothing here is defined.
///
/// Tested  fail/L09_backend_header_forgotten, fail/L17_synthetic_forgotten
struct Unanswered : RefusedAnswer {
  template <class T> operator T() const;  // NOLINT(google-explicit-constructor): it stands where a T would
  const Unanswered& operator*() const;
  template <class At> const Unanswered& operator[](const At&) const;
  const Unanswered* begin() const;
  const Unanswered* end() const;
  int size() const;
  bool empty() const;
  template <class... Given> const Unanswered& in_order(const Given&...) const;
  template <class... Given> const Unanswered& shuffled(const Given&...) const;
  template <auto... Rows, class... Given> const Unanswered& batches(const Given&...) const;
  template <class Part, class... Given> const Unanswered& batches(const Given&...) const;
  static const Unanswered rows, step, loss, norm, scale, skipped, outputs;
};

}  // namespace heddle::inline core_room
