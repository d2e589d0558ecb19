// SPDX-License-Identifier: MIT
// Room: run. Finds where a value that is not finite begins, and says what an instruction of a Program is.
// Sees: plan/program, graph, run/kernel_table.  Does not see: policies, threads, any backend.
// In: a batch, parameters.  Out: words for a sentence.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "heddle/core/finite.hpp"
#include "heddle/core/host_device.hpp"
#include "heddle/core/written.hpp"
#include "heddle/plan/program/program.hpp"
#include "heddle/run/arena.hpp"
#include "heddle/run/kernel_table.hpp"
#include "heddle/run/labels.hpp"
#include "heddle/run/step_input.hpp"

namespace heddle::run_room {

[[nodiscard]] HEDDLE_COLD inline std::int64_t first_non_finite(const Floats& values) {
  for (std::size_t i = 0; i < values.size(); ++i)
    if (!is_finite(values[i])) return static_cast<std::int64_t>(i);
  return -1;
}

/// Rows that a leaf may normalise together in one call: a grain, of a leaf in phases a micro-batch, as far as its rows lie side by side.
[[nodiscard]] HEDDLE_COLD inline std::int64_t rows_at_once(const Leaf& leaf, const StepInput& input) {
  const BatchDivision& batch = input.program->batch;
  const std::int64_t all = std::max<std::int64_t>(input.source_rows, 1);
  if (leaf.rows_together == 0) return all;
  if (!leaf.has_phases()) return batch.grain_rows;
  return batch.total_micro_batches() == 1 ? all : batch.micro_rows;
}

/// The first target that is a float and not finite, with its row and, of several losses, the one that reads it; empty if there is none.
[[nodiscard]] HEDDLE_COLD inline std::string non_finite_target(const TargetRanges& ranges, const StepInput& input) {
  std::int64_t of_a_row = 0;
  for (int k = 0; k < ranges.count; ++k) of_a_row = std::max(of_a_row, ranges.all[k].first + ranges.all[k].features);
  for (std::int64_t r = 0; r < input.source_rows && input.targets != nullptr; ++r)
    for (int k = 0; k < ranges.count; ++k)
      for (std::int64_t i = 0; i < ranges.all[k].features && ranges.all[k].classes == 0; ++i) {
        const std::int64_t at = ranges.all[k].first + i;
        if (is_finite(TargetValue{label_at(input.targets, input.source(r) * of_a_row + at)}.value())) continue;
        return written({"; target ", at, " of row ", r, (ranges.several() ? ", of loss '" : ""), ranges.all[k].name, (ranges.several() ? "'," : ""),
                        " is not finite."});
      }
  return {};
}

/// Of a step that is made already, since a card tells its loss after it.
inline constexpr std::string_view remedy_after_step =
    " The step was made before that was known. Fix: make a new trainer and load the parameters of the last good step, or put Guarded into the plan; "
    "and lower the learning rate or repair the data.";
/// Where nobody can look for it: not all parameters are in this process.
[[nodiscard]] HEDDLE_COLD inline std::string unlocated_non_finite(bool stepped) {
  return stepped ? written({".", remedy_after_step}) : ". Fix: lower the learning rate or repair the data.";
}

/// Runs the forward of the whole batch leaf by leaf on one thread and names the first tensor that is not finite. Of a step that is made already only
/// the rows can be looked at.
[[nodiscard]] HEDDLE_COLD inline std::string locate_non_finite(const Graph& graph, const KernelTable& kernels, const StepInput& input,
                                                               const std::vector<Floats>& parameters, bool stepped = false) {
  const std::string_view remedy = stepped ? remedy_after_step
                                  : input.program->training
                                      ? " Fix: lower the learning rate or repair the data; the parameters are those before the step."
                                      : " Fix: lower the learning rate or repair the data; an evaluation changes no parameter.";
  for (int n = 0; n < graph.node_count && !stepped; ++n)
    for (int k = 0; k < graph.nodes[n].parameter_count; ++k)
      if (first_non_finite(parameters[static_cast<std::size_t>(graph.nodes[n].first_parameter + k)]) >= 0)
        return written({"; parameter '", graph.parameter_name(n, k).view(), "' was not finite before it.", remedy});
  std::vector<Floats> values(static_cast<std::size_t>(graph.node_count) + 1);
  const std::int64_t in = graph.input.elements();
  const auto load = [&](Floats& to, int number) {
    to.resize(static_cast<std::size_t>(input.source_rows * graph.input_of(number).elements()));
    const std::int64_t row_bytes = graph.input_of(number).elements() * bytes_of(given_as(graph.input_of(number).type));
    for (std::int64_t r = 0; r < input.source_rows; ++r) {
      const std::int64_t row = input.order == nullptr ? r : static_cast<std::int64_t>(input.order[r]);
      std::memcpy(reinterpret_cast<std::byte*>(to.data()) + r * row_bytes, static_cast<const std::byte*>(input.input(number)) + row * row_bytes,
                  static_cast<std::size_t>(row_bytes));
    }
  };
  load(values[0], 0);
  const auto first_of_value = [&](int value) {
    return !is_real(graph.spec(value).type) ? -1 : first_non_finite(values[static_cast<std::size_t>(value)]);
  };
  if (const std::int64_t at = first_of_value(0); at >= 0)
    return written({"; the input has such a value in row ", at / in, ", feature ", at % in, ".", remedy});
  if (stepped) {
    const std::string target = non_finite_target(kernels.targets, input);
    return written({target.empty() ? std::string_view{"; its inputs and targets are finite."} : target, remedy});
  }
  Floats workspace(static_cast<std::size_t>(kernels.workspace_bytes / float_bytes));
  for (int n = 0; n < graph.node_count; ++n) {
    const Node& node = graph.nodes[n];
    const Floats& from = values[static_cast<std::size_t>(node.operand_count == 0 ? 0 : node.operands[0])];
    Floats& to = values[static_cast<std::size_t>(n) + 1];
    const std::int64_t features = graph.spec(n + 1).elements();
    to.resize(static_cast<std::size_t>(input.source_rows * features));
    const float* pointers[Leaf::most_parameters]{};
    for (int k = 0; k < node.parameter_count; ++k) pointers[k] = parameters[static_cast<std::size_t>(node.first_parameter + k)].data();
    if (node.operand_count == 0) {
      load(to, graph.input_number(n + 1));
    } else if (graph.adds(n)) {
      kernels.add(to.data(), from.data(), values[static_cast<std::size_t>(node.operands[1])].data(), std::ssize(to));
    } else if (graph.leaf(n).reshapes) {
      std::copy(from.begin(), from.end(), to.begin());
    } else {
      const Leaf& leaf = graph.leaf(n);
      const std::int64_t together = rows_at_once(leaf, input);
      for (std::int64_t first = 0; first < input.source_rows; first += together) {
        ForwardCall call{&leaf, std::min(together, input.source_rows - first), nullptr, to.data() + first * features, pointers, workspace.data()};
        set_input(call, reinterpret_cast<const float*>(reinterpret_cast<const std::byte*>(from.data()) +
                                                       first * leaf.in.elements() * bytes_of(given_as(leaf.in.type))));
        if (node.operand_count == 2) call.second = values[static_cast<std::size_t>(node.operands[1])].data();
        call.context = {input.seed, input.step, n, input.program->training && !graph.still(n), first};
        call.context.rows_together = call.rows;
        kernels.leaves[node.leaf].forward(call);
      }
    }
    if (const std::int64_t at = first_of_value(n + 1); at >= 0)
      return written({"; it begins in ", graph.describe(n).view(), ", row ", at / features, ", feature ", at % features, ".", remedy});
  }
  if (const std::string target = non_finite_target(kernels.targets, input); !target.empty()) return written({target, remedy});
  return written({"; all outputs of the model are finite, so it begins in the loss or a backward.", remedy});
}

/// Kernels for another memory do not run on the host: those of its reference do.
template <class Space>
[[nodiscard]] HEDDLE_COLD std::string locate_non_finite(const Graph& graph, const KernelTableIn<Space>& kernels, const StepInput& input,
                                                        const std::vector<Floats>& parameters, bool stepped = false) {
  if (kernels.on_host().leaves == nullptr) return unlocated_non_finite(stepped);
  return locate_non_finite(graph, kernels.on_host(), input, parameters, stepped);
}

[[nodiscard]] constexpr std::string_view name_of(ListOp op) {
  constexpr std::string_view names[] = {
      "forward",     "backward", "input backward", "weight backward", "send start",  "send wait", "receive start", "receive wait", "reduce start",
      "reduce wait", "report",   "step",           "gather start",    "gather wait", "norm",      "clip",          "unscale",      "skip",
      "tie",         "guard"};
  return names[static_cast<int>(op)];
}

/// "instruction 12 (backward of chunk 1, micro-batch 3)"
[[nodiscard]] HEDDLE_COLD inline std::string describe(const Program& p, int instruction) {
  const Instruction& line = p.instructions[instruction];
  int role = 0;
  while (instruction >= p.lists[role].end) ++role;
  std::string words = "instruction " + std::to_string(instruction - p.lists[role].begin) + " (" + std::string{name_of(line.op)};
  if (line.chunk >= 0) words += " of chunk " + std::to_string(line.chunk) + ", micro-batch " + std::to_string(line.micro_batch);
  if (line.bucket >= 0) words += " of gradient bucket " + std::to_string(line.bucket);
  if (line.op == ListOp::report || p.moves(line, Purpose::loss)) words += " of the loss";
  if (p.moves(line, Purpose::norm)) {
    const std::int64_t first = p.collectives[line.collective].target.begin;
    const bool of_loss = p.guards && first >= p.before_step().place(Fact::loss, p.unit_count);
    words += of_loss ? " of the flag of the loss" : p.clips ? " of the norm" : " of the overflow flag";
  }
  return words + ")";
}

/// Whose code ran: "the forward of layer 1 'second' Linear<4, 2>". `entry` is that of the body, -1 outside of one.
///
/// Tested  run/locate_test
[[nodiscard]] inline std::string describe_code(const Program& p, int instruction, int entry) {
  if (entry < 0) return p.instructions[instruction].op == ListOp::step ? "the step of the optimizer" : describe(p, instruction);
  const Entry& at = p.entries[entry];
  switch (at.what) {
    case BodyOp::leaf_forward: return "the forward of " + std::string{p.graph->describe(at.node).view()};
    case BodyOp::leaf_backward:
    case BodyOp::leaf_backward_input:
    case BodyOp::leaf_backward_weight: return "the backward of " + std::string{p.graph->describe(at.node).view()};
    case BodyOp::loss_terms:
    case BodyOp::loss: return "the loss";
    default: return describe(p, instruction);
  }
}

/// What a rank was doing when it threw something that is no Error of Heddle, what it threw, and what helps. `whose` is described code, or "the
/// observer".
///
/// Tested  run/locate_test
[[nodiscard]] inline std::string describe_throw(const std::string& whose, const std::string& thrown) {
  const std::string words = whose + " threw: " + thrown;
  return thrown.find("Fix: ") != std::string::npos ? words : words + ". Fix: look there for what it says; Heddle throws nothing of this kind.";
}

/// As describe_throw, of std::bad_alloc: whoever threw it, the cause is not there. Heddle takes memory under `whose` as well.
///
/// Tested  run/locate_test, run/trainer_test
[[nodiscard]] inline std::string describe_no_memory(const std::string& whose) {
  return "the system gave no memory" + (whose.empty() ? whose : " to " + whose) + ". Fix: free memory, or raise the limit (ulimit -v).";
}

}  // namespace heddle::run_room

namespace heddle::extending {
using run_room::describe;
}  // namespace heddle::extending
