// SPDX-License-Identifier: MIT
// Room: tests. The words in which a dump names operations, places and options.
// Sees: graph, plan.  Does not see: policies, processes, kernels.
// In: an enumerator.  Out: words that stay when the enumerator is renamed.
#pragma once

#include <string_view>

#include "heddle/plan/program/program.hpp"

namespace heddle::tests {

// Switches without a default: the compiler asks for a word for every enumerator that is added.

[[nodiscard]] constexpr std::string_view word_of(ListOp op) {
  switch (op) {
    case ListOp::forward: return "forward";
    case ListOp::backward: return "backward";
    case ListOp::backward_input: return "backward of the input";
    case ListOp::backward_weight: return "backward of the weights";
    case ListOp::send_start: return "start of a send";
    case ListOp::send_wait: return "end of a send";
    case ListOp::receive_start: return "start of a receive";
    case ListOp::receive_wait: return "end of a receive";
    case ListOp::reduce_start: return "start of a reduction";
    case ListOp::reduce_wait: return "end of a reduction";
    case ListOp::report: return "report of the loss";
    case ListOp::step: return "step";
    case ListOp::gather_start: return "start of a gather";
    case ListOp::gather_wait: return "end of a gather";
    case ListOp::norm: return "squares of the gradients";
    case ListOp::clip: return "factor of the norm";
    case ListOp::unscale: return "division by the loss scale";
    case ListOp::skip: return "decision to skip";
    case ListOp::guard: return "look at the losses";
    case ListOp::tie: return "sum of the uses";
  }
  return "";
}

[[nodiscard]] constexpr std::string_view word_of(Purpose purpose) {
  switch (purpose) {
    case Purpose::gradient: return "gradient";
    case Purpose::parameters: return "parameters";
    case Purpose::value: return "value";
    case Purpose::parameter_term: return "term of a parameter";
    case Purpose::loss: return "loss";
    case Purpose::norm: return "norm";
    case Purpose::phase: return "phase";
  }
  return "";
}

[[nodiscard]] constexpr std::string_view word_of(CollectiveKind kind) {
  switch (kind) {
    case CollectiveKind::all_reduce: return "all-reduce";
    case CollectiveKind::reduce_scatter: return "reduce-scatter";
    case CollectiveKind::all_gather: return "all-gather";
  }
  return "";
}

/// Of regions; the bytes of an arena follow one another in this order.
inline constexpr std::string_view region_words[region_kinds] = {"parameters",
                                                                "frozen parameters",
                                                                "gathered parameters",
                                                                "gathered frozen parameters",
                                                                "gradients",
                                                                "unreduced gradients",
                                                                "arrived slices",
                                                                "gradients of uses",
                                                                "states",
                                                                "losses",
                                                                "norms",
                                                                "zeros",
                                                                "pools",
                                                                "scratch"};

[[nodiscard]] constexpr std::string_view word_of(When when) {
  switch (when) {
    case When::always: return "";
    case When::last_micro_batch: return ", in the last micro-batch";
    case When::reporting: return ", if the loss is reported";
    case When::first_micro_batch: return ", in the first micro-batch";
    case When::later_micro_batches: return ", in later micro-batches";
  }
  return "";
}

[[nodiscard]] constexpr std::string_view word_of(Remedy remedy) {
  switch (remedy) {
    case Remedy::none: return "never smaller";
    case Remedy::drop: return "a smaller one is dropped";
    case Remedy::pad: return "a smaller one is filled up";
    case Remedy::keep: return "a smaller one is taken as it is";
    case Remedy::other: return "another remedy";
  }
  return "";
}

[[nodiscard]] constexpr std::string_view word_of(PoolKind kind) {
  switch (kind) {
    case PoolKind::frame: return "frame";
    case PoolKind::gradient_in: return "gradients in";
    case PoolKind::gradient_out: return "gradients out";
    case PoolKind::gradient_reread: return "kept gradients";
  }
  return "";
}

[[nodiscard]] constexpr std::string_view word_of(Saves saves) {
  switch (saves) {
    case Saves::nothing: return "nothing";
    case Saves::input: return "its input";
    case Saves::output: return "its output";
    case Saves::both: return "its input and output";
  }
  return "";
}

/// What an entry does, and what four of its places are to it; the fifth are statistics.
struct EntryWords {
  std::string_view does;
  std::string_view places[4] = {"unused a", "unused b", "unused c", "unused d"};
};
[[nodiscard]] constexpr EntryWords words_of(BodyOp what) {
  switch (what) {
    case BodyOp::load_input: return {"load the input", {"", "", "", "to"}};
    case BodyOp::load_targets: return {"load the targets", {"", "", "", "to"}};
    case BodyOp::leaf_forward: return {"forward", {"input", "second input", "", "output"}};
    case BodyOp::add: return {"add", {"term", "term", "", "sum"}};
    case BodyOp::copy: return {"copy", {"from", "", "", "to"}};
    case BodyOp::loss: return {"loss", {"output", "targets", "terms", "gradient"}};
    case BodyOp::leaf_backward: return {"backward", {"input", "output", "gradient of the output", "gradient of the input"}};
    case BodyOp::leaf_backward_input: return {"backward of the input", {"input", "output", "gradient of the output", "gradient of the input"}};
    case BodyOp::leaf_backward_weight: return {"backward of the weights", {"input", "output", "gradient of the output", "gradient of the input"}};
    case BodyOp::store_output: return {"store the output", {"from", "", "", ""}};
    case BodyOp::reduce_start: return {"start of a reduction", {}};
    case BodyOp::reduce_wait: return {"end of a reduction", {}};
    case BodyOp::gather_start: return {"start of a gather", {}};
    case BodyOp::gather_wait: return {"end of a gather", {}};
    case BodyOp::reduce_value: return {"sum of a value", {"", "", "", "in place"}};
    case BodyOp::gather_value: return {"gather of a value", {"part", "parts as they arrive", "", "whole"}};
    case BodyOp::scatter_value: return {"sum and scatter of a value", {"term", "parts as they leave", "", "part"}};
    case BodyOp::slice_value: return {"slice of a value", {"whole", "", "", "part"}};
    case BodyOp::reduce_parameter: return {"sum of the gradient of a parameter", {}};
    case BodyOp::loss_terms: return {"terms of the loss", {"output", "targets", "terms", "gradient"}};
    case BodyOp::zero_gaps: return {"zeros between tensors", {}};
    case BodyOp::add_slice: return {"sum of slices", {}};
    case BodyOp::sum_grains: return {"sum over grains between phases", {"", "", "", "in place"}};
    case BodyOp::reduce_phase: return {"sum over ranks between phases", {"", "", "", "in place"}};
  }
  return {};
}

}  // namespace heddle::tests
