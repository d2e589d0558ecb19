// SPDX-License-Identifier: MIT
// Room: run. One leaf with tensors of its own, behind fences, run by the kernels of a backend.
// Sees: graph, seams/concepts, core/random.  Does not see: policies, threads, any backend by name.
// In: a Leaf, rows, a seed.  Out: LeafUnderTest, AnyLeafUnderTest.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <limits>
#include <string>
#include <vector>

#include "heddle/core/host_device.hpp"
#include "heddle/core/random.hpp"
#include "heddle/graph/leaf.hpp"
#include "heddle/run/arena.hpp"
#include "heddle/run/fenced.hpp"
#include "heddle/run/kernel_table.hpp"
#include "heddle/run/said_at_crash.hpp"
#include "heddle/seams/error.hpp"

namespace heddle::run_room {

/// What a LeafUnderTest asks of the kernels of its layer, which are all that differs from layer to layer.
/// Of Linear on EigenCompute workspace_bytes is 0.
struct KernelsUnderTest {
  void (*forward)(const ForwardCall&);
  void (*backward)(const BackwardCall&);
  std::int64_t workspace_bytes;
};

/// A LeafUnderTest whose layer and Compute are forgotten: compiled once for all layers.
/// Of Linear<4, 3> in 8 rows the input has 32 floats and the output 24.
class AnyLeafUnderTest {
 public:
  HEDDLE_COLD AnyLeafUnderTest(const Leaf& leaf, std::int64_t rows, Seed seed, KernelsUnderTest kernels)
      : leaf_(leaf), rows_(rows), kernels_(kernels), workspace_(kernels.workspace_bytes) {
    input = values(rows * leaf_.in.elements(), seed, 0);
    for (std::size_t i = 0; leaf_.in.type == ElementType::int32 && i < input.size(); ++i)
      input[i] = std::bit_cast<float>(static_cast<std::int32_t>((5 * i + i / 3) % tokens()));
    for (std::size_t i = 0; leaf_.in.type == ElementType::uint8 && i < input.size(); ++i)
      reinterpret_cast<std::uint8_t*>(input.data())[i] = static_cast<std::uint8_t>(37 * i + i / 3);
    output.resize(static_cast<std::size_t>(rows * leaf_.out.elements()));
    statistics.resize(static_cast<std::size_t>(rows * leaf_.statistics_elements()));
    output_gradient = values(rows * leaf_.out.elements(), seed, 1);
    input_gradient.resize(input.size());
    second = values(rows * leaf_.other.elements() * (leaf_.operands - 1), seed, 2 + Leaf::most_parameters);
    second_gradient.resize(second.size());
    for (int p = 0; p < leaf_.parameter_count; ++p) {
      parameters.push_back(values(leaf_.parameters[p].shape.elements(), seed, 2 + p));
      gradients.emplace_back(parameters.back().size());
    }
  }
  [[nodiscard]] const Leaf& leaf() const { return leaf_; }
  void forward(std::int64_t first, std::int64_t rows) {
    float* const given = output.data() + first * leaf_.out.elements();
    Fenced in = input_rows(first, rows);
    Fenced out = to_write(given, rows * leaf_.out.elements());
    std::vector<Fenced> held;
    std::vector<const float*> p;
    for (const auto& parameter : parameters) p.push_back(held.emplace_back(to_read(parameter.data(), std::ssize(parameter))).data());
    Fenced also = to_read(second.data() + second_from(first), second_from(rows));
    float* const left = statistics.data() + first * leaf_.statistics_elements();
    Fenced found = to_write(left, rows * leaf_.statistics_elements());
    ForwardCall call{&leaf_, rows, nullptr, out.data(), p.data(), workspace_.bytes(0), part, absent || statistics.empty() ? nullptr : found.data()};
    set_input(call, in.data());
    call.context = context_from(first);
    call.context.rows_together = rows;
    if (!second.empty()) call.second = also.data();
    {
      const SaidAtCrash crash{crashed("forward", {{"input", call.input == nullptr && call.ids == nullptr && call.bytes == nullptr},
                                                  {"statistics", !statistics.empty() && call.statistics == nullptr}})};
      kernels_.forward(call);
    }
    take(out, given, "forward writes beside its output");
    if (!absent) take(found, left, "forward writes beside its statistics");
  }
  /// all_but_input: no part of its own, but a backward whose gradient of the input nobody needs.
  enum class Part { whole, input, parameters, all_but_input };
  /// What is not declared as saved, or as read by the part, is handed over as NaN, or as a Trainer does it: as null. A leaf of two operands is called
  /// for each.
  void backward(std::int64_t first, std::int64_t rows, bool add, Part asked = Part::whole) {
    for (int operand = 0; operand < leaf_.operands; ++operand) hand_back(static_cast<std::int8_t>(operand), first, rows, add, asked);
  }
  /// sum(output x output_gradient) in double: what the gradients are gradients of.
  [[nodiscard]] double objective() {
    forward(0, rows_);
    double sum = 0;
    for (std::size_t i = 0; i < output.size(); ++i) sum += static_cast<double>(output[i]) * static_cast<double>(output_gradient[i]);
    return sum;
  }
  [[nodiscard]] bool has_input_gradient() const { return leaf_.in.type == ElementType::float32; }
  Floats input;  ///< or ids in their places, or bytes from the first on; these have no gradient
  Floats output, output_gradient, input_gradient, statistics;
  Floats second, second_gradient;  ///< of a leaf of two operands
  std::vector<Floats> parameters, gradients;
  int part = 0;                  ///< of a leaf that is split
  CallContext context{};         ///< of its first row
  bool absent = false;           ///< what is not declared is null
  const char* beside = nullptr;  ///< what a kernel wrote outside of its tensors, if it did

 private:
  void hand_back(std::int8_t operand, std::int64_t first, std::int64_t rows, bool add, Part asked) {
    const Floats hidden(std::max({input.size(), second.size(), output.size()}), std::numeric_limits<float>::quiet_NaN());
    const bool reads = asked != Part::input || leaf_.input_part_reads_saved;
    const bool in = reads && (leaf_.saves == Saves::input || leaf_.saves == Saves::both);
    const bool out = reads && (leaf_.saves == Saves::output || leaf_.saves == Saves::both);
    const float nan = std::numeric_limits<float>::quiet_NaN();
    std::vector<Fenced> held, made;
    std::vector<const float*> p;
    std::vector<float*> g;
    for (const auto& parameter : parameters) {
      const bool unread = asked == Part::parameters && !leaf_.weights_read;
      held.push_back(to_read(unread ? Floats(parameter.size(), nan).data() : parameter.data(), std::ssize(parameter)));
      p.push_back(unread && absent ? nullptr : held.back().data());
    }
    for (const auto& gradient : gradients) g.push_back(made.emplace_back(to_write(gradient.data(), std::ssize(gradient))).data());
    const std::int64_t i = first * leaf_.in.elements();
    const std::int64_t o = first * leaf_.out.elements();
    Fenced read_input = in ? input_rows(first, rows) : to_read(hidden.data(), rows * leaf_.in.elements());
    Fenced read_output = to_read(out ? output.data() + o : hidden.data(), rows * leaf_.out.elements());
    const Floats unknown(statistics.size(), std::numeric_limits<float>::quiet_NaN());
    Fenced found = to_read((reads ? statistics : unknown).data() + first * leaf_.statistics_elements(), rows * leaf_.statistics_elements());
    Fenced arrived = to_read(output_gradient.data() + o, rows * leaf_.out.elements());
    Fenced also = to_read(in ? second.data() + second_from(first) : hidden.data(), second_from(rows));
    float* const back_to = operand == 0 ? input_gradient.data() + i : second_gradient.data() + second_from(first);
    Fenced left = to_write(back_to, rows * leaf_.operand(operand).elements());
    const bool wanted = (asked == Part::whole || asked == Part::input) && has_input_gradient();
    BackwardCall call{&leaf_,
                      rows,
                      nullptr,
                      out || !absent ? read_output.data() : nullptr,
                      arrived.data(),
                      wanted ? left.data() : nullptr,
                      p.data(),
                      asked == Part::input ? nullptr : g.data(),
                      add,
                      workspace_.bytes(0),
                      part,
                      statistics.empty() || (absent && !reads) ? nullptr : found.data()};
    set_input(call, in || !absent ? read_input.data() : nullptr);
    call.context = context_from(first);
    call.context.rows_together = rows;
    call.operand = operand;
    if (!second.empty() && (!absent || in)) call.second = also.data();
    {
      const SaidAtCrash crash{crashed("backward", {{"input", call.input == nullptr && call.ids == nullptr && call.bytes == nullptr},
                                                   {"second", !second.empty() && call.second == nullptr},
                                                   {"output", call.output == nullptr},
                                                   {"statistics", !statistics.empty() && call.statistics == nullptr},
                                                   {"input_gradient", call.input_gradient == nullptr},
                                                   {"parameter_gradients", call.parameter_gradients == nullptr},
                                                   {"parameters[0]", !p.empty() && p[0] == nullptr}})};
      kernels_.backward(call);
    }
    take(left, back_to, "backward writes beside the gradient of its input");
    for (std::size_t k = 0; k < made.size(); ++k) take(made[k], gradients[k].data(), "backward writes beside the gradient of a parameter");
  }
  /// What a pointer of a call is named, and whether it is null.
  struct Pointer {
    const char* name;
    bool null;
  };
  /// Said if the kernel ends the program. Errors  G11, on stderr
  [[nodiscard]] std::string crashed(const char* what, std::initializer_list<Pointer> pointers) const {
    std::string null;
    for (const Pointer& here : pointers)
      if (here.null) null += std::string(null.empty() ? "" : ", ") + "call." + here.name;
    return sentence_of(Code{'G', 11}, std::string{leaf_.spelled.view()} + ": its " + what +
                                          " reads or writes where no memory is and ends the program. " +
                                          (null.empty() ? "No pointer of this call is null. Fix: stay within the sizes of call.leaf and call.rows."
                                                        : "Null in this call: " + null +
                                                              ". Fix: make nothing of these, as in a training that hands them "
                                                              "over so."));
  }
  /// Elements of so many rows of the second value, if there is one.
  [[nodiscard]] std::int64_t second_from(std::int64_t rows) const { return leaf_.operands == 1 ? 0 : rows * leaf_.other.elements(); }
  /// Elements of one byte fill fewer floats than there are.
  [[nodiscard]] Fenced input_rows(std::int64_t first, std::int64_t rows) const {
    const std::int64_t row_bytes = leaf_.in.elements() * bytes_of(leaf_.in.type);
    Floats own(static_cast<std::size_t>((rows * row_bytes + float_bytes - 1) / float_bytes));
    if (rows > 0)
      std::memcpy(own.data(), reinterpret_cast<const std::byte*>(input.data()) + first * row_bytes, static_cast<std::size_t>(rows * row_bytes));
    return to_read(own.data(), std::ssize(own));
  }
  [[nodiscard]] CallContext context_from(std::int64_t first) const {
    CallContext here = context;
    here.first_row += first;
    return here;
  }
  [[nodiscard]] Fenced to_read(const float* values, std::int64_t count) const { return {values, count, widest(), Fenced::For::reading}; }
  [[nodiscard]] Fenced to_write(const float* values, std::int64_t count) const { return {values, count, widest(), Fenced::For::writing}; }
  /// Of a fence: enough for a kernel that takes one tensor of the leaf for another.
  [[nodiscard]] std::int64_t widest() const {
    std::int64_t most = rows_ * std::max({leaf_.in.elements(), second_from(1), leaf_.out.elements(), leaf_.statistics_elements()});
    for (int p = 0; p < leaf_.parameter_count; ++p) most = std::max(most, leaf_.parameters[p].shape.elements());
    return most;
  }
  void take(const Fenced& made, float* values, const char* trespass) {
    if (!made.stands() && beside == nullptr) beside = trespass;
    made.copy_to(values);
  }
  [[nodiscard]] std::size_t tokens() const { return static_cast<std::size_t>(leaf_.vocabulary); }
  /// Away from 0 by at least 0.1, where ReLU and its like have a kink.
  static Floats values(std::int64_t n, Seed seed, int stream) {
    Floats out(static_cast<std::size_t>(n));
    for (std::size_t i = 0; i < out.size(); ++i) {
      const float u = uniform(seed, static_cast<std::uint64_t>(stream), i, -1.0F, 1.0F);
      out[i] = u < 0 ? u - 0.1F : u + 0.1F;
    }
    return out;
  }
  Leaf leaf_;
  std::int64_t rows_;
  KernelsUnderTest kernels_;
  Arena workspace_;
};

/// One leaf with tensors of its own; a leaf that is given is run as it is, with the kernels of L.
/// Linear<4, 3> in 8 rows has an input of 32 floats and an output of 24.
template <class L, class Compute> class LeafUnderTest : public AnyLeafUnderTest {
 public:
  LeafUnderTest(const Leaf& leaf, std::int64_t rows, Seed seed = Seed{1})
      : AnyLeafUnderTest(
            leaf, rows, seed,
            {[](const ForwardCall& call) { KernelFor<L, Compute>::forward(call); },
             [](const BackwardCall& call) { KernelFor<L, Compute>::backward(call); }, (Compute::workspace + scratch_of<L, Compute>(leaf)).value}) {}
};

}  // namespace heddle::run_room
