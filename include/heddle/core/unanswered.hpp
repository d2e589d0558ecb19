// SPDX-License-Identifier: MIT
// Room: core. What stands for the results of something that is refused, so that the refusal stays the only error.
// Sees: core/refused.  Does not see: every other room.
// In: -.  Out: Unanswered, UnansweredSettings.
#pragma once

#include <cstdint>

#include "heddle/core/refused.hpp"

namespace heddle::core_room {

/// Has the members of a data set, its batches, the result of a step and a proof (tests/house/stand_ins.py compares them), and converts into anything;
/// a comparison with it holds. The compilation has failed where one is made, so nothing here is defined.
///
/// Tested  fail/L09_backend_header_forgotten, fail/L17_synthetic_forgotten
struct Unanswered : RefusedAnswer {
  template <class T> operator T() const;  // NOLINT(google-explicit-constructor): it stands where a T would
  const Unanswered& operator*() const;
  template <class At> const Unanswered& operator[](const At&) const;
  const Unanswered* begin() const;
  const Unanswered* end() const;
  template <class... Given> const Unanswered& operator()(const Given&...) const;  // so that a member stands for a number and for a call
  template <class Stream> friend Stream& operator<<(Stream& stream, const Unanswered&) { return stream; }
  const char* c_str() const;
  int size() const;
  bool empty() const;
  template <auto... Rows, class... Given> const Unanswered& batches(const Given&...) const;
  template <class Part, class... Given> const Unanswered& batches(const Given&...) const;
  // of a step, of a batch, of a data set
  static const Unanswered step, loss, norm, scale, skipped, outputs, counted, losses, counted_of_losses;
  static const Unanswered rows, inputs, targets, input_features, target_features, order, owner, source_row, input, target, slice;
  static const Unanswered more, source_rows, with_input, with_targets, kinds;
  static const Unanswered all, in_order, shuffled, split, training, test, features, classes, images, labels, labels_of_a_row;
  static const Unanswered ok, line, bounded, plan, devices, steps, draws, modulus, log2_of_bound, hash, hash_alone, compared, text, first_process;
  using iterator = const Unanswered*;
  using Order = Unanswered;
};

/// Has the members of what a trainer clips to and scales its loss with; they may be set.
/// trainer.clip().max_norm = 0.5 adds no error to the one that is there.
struct UnansweredSettings {
  double max_norm, max_value, init_scale, growth_factor, backoff_factor;
  std::int64_t growth_interval, growth_tracker;
  template <class... Given> void check(const Given&...) const;
  template <class... Given> void update(const Given&...);
  template <class... Given> void set_scale(const Given&...);
  float scale() const;
};

}  // namespace heddle::core_room
