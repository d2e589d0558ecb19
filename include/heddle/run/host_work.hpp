// SPDX-License-Identifier: MIT
// Room: run. What an entry does to the memory of the host: sums, copies, rows of the batch, losses. A device of another memory has its own.
// Sees: run/kernel_table, run/step_input, seams/concepts, core.  Does not see: programs, policies, threads, transports, any backend.
// In: pointers into an arena.  Out: HostWork.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>

#include "heddle/core/bfloat16.hpp"
#include "heddle/core/finite.hpp"
#include "heddle/run/arena.hpp"
#include "heddle/run/kernel_table.hpp"
#include "heddle/run/square_sum.hpp"
#include "heddle/run/step_input.hpp"
#include "heddle/run/wide_tensors.hpp"
#include "heddle/seams/concepts.hpp"

namespace heddle::run_room {

/// The memory of the host at work. What it is asked for is done when the call returns; that of a card queues it, in the same order.
/// Of a grain of 2 rows of 3 floats load() copies 24 bytes, or 12 where they are rounded.
///
/// Errors  R02 a loss that is not finite
/// Tested  run/body_runner_test, run/wide_tensors_test, equivalence/
class HostWork {
 public:
  using Space = HostMemory;
  using Kernels = KernelTable;
  explicit HostWork(const KernelTable& kernels) : kernels_(kernels) {}

  [[nodiscard]] static Arena room(std::int64_t bytes, const char* /*what*/ = "") { return Arena{bytes}; }
  [[nodiscard]] static HostMemory space() { return {}; }

  [[nodiscard]] static const float* class_weights(const StepInput& in) { return in.class_weights; }

  void add(float* target, const float* a, const float* b, std::int64_t n) const { kernels_.add(target, a, b, n); }
  void copy(float* target, const float* source, std::int64_t n) const { kernels_.copy(target, source, n); }
  static void widen(float* to, const float* lies, std::int64_t elements) { run_room::widen(to, lies, elements); }
  static void round(float* lies, const float* from, std::int64_t elements) { run_room::round(lies, from, elements); }
  /// As floats again.
  static void round_floats(float* to, const float* from, std::int64_t elements) {
    for (std::int64_t i = 0; i < elements; ++i) to[i] = widened(rounded(from[i]));
  }
  static void upload(float* there, const float* here, std::int64_t elements) { std::copy_n(here, elements, there); }
  static void download(float* here, const float* there, std::int64_t elements) { std::copy_n(there, elements, here); }
  /// So many runs of bytes, which lie strides of bytes apart.
  static void move(float* to, std::int64_t to_stride, const float* from, std::int64_t from_stride, std::int64_t bytes, std::int64_t runs) {
    auto* target = reinterpret_cast<std::byte*>(to);
    const auto* source = reinterpret_cast<const std::byte*>(from);
    for (std::int64_t r = 0; r < runs; ++r, target += to_stride, source += from_stride) std::memcpy(target, source, static_cast<std::size_t>(bytes));
  }

  /// Rows of the batch, row r from row(r), `elements` of a type; floats are rounded where values are bfloat16.
  template <class Row> static void load(float* to, std::int64_t rows, std::int64_t elements, ElementType type, Row row) {
    auto* target = reinterpret_cast<std::byte*>(to);
    for (std::int64_t r = 0; r < rows; ++r, target += elements * bytes_of(type)) load_row(target, row(r), elements, type);
  }
  /// One row as it lies in an arena.
  static void load_row(std::byte* to, const void* row, std::int64_t elements, ElementType type) {
    if (type == ElementType::bfloat16)
      run_room::round(reinterpret_cast<float*>(to), static_cast<const float*>(row), elements);
    else
      std::memcpy(to, row, static_cast<std::size_t>(elements * bytes_of(type)));
  }
  /// What looks at the batch of a step.
  template <class Look> static void each_step(Look look) { look(); }
  /// Hands floats to place(const float*), on the host and while the call that asked for them lasts.
  template <class Use> static void store(const float* from, std::int64_t /*elements*/, Use place) { place(from); }

  /// The loss of a grain to where it is kept; `words()` says of which rows.
  template <class Words> void loss(const LossCall& call, float* kept, bool scales, const StepInput& in, Words words) const {
    const float sum = kernels_.loss(call);
    if (!is_finite(sum)) refuse_loss(in, sum, words());
    *kept = sum;
    if (scales && call.gradient != nullptr) kernels_.arithmetic.multiply(call.gradient, call.rows * call.features, in.loss_scale);
  }
  /// The sum of those of all grains, along the tree of gradients, behind them.
  void sum_losses(float* losses, int count, const StepInput& in) const {
    const auto plus = kernels_.arithmetic.plus;
    float levels[32] = {};
    for (int t = 0; t < count; ++t) {
      const int counted = std::countr_one(static_cast<unsigned>(t));
      float sum = losses[t];
      for (int l = 0; l < counted; ++l) sum = plus(levels[l], sum);
      levels[counted] = sum;
    }
    int held = std::countr_zero(static_cast<unsigned>(count));
    for (int l = held + 1; l < 32; ++l)
      if ((static_cast<unsigned>(count) >> l & 1U) != 0) {
        levels[l] = plus(levels[l], levels[held]);
        held = l;
      }
    if (!is_finite(levels[held])) refuse_loss(in, levels[held], "all rows of a rank together");
    losses[count] = levels[held];
  }

  // ---- of the arithmetic of a step
  static void zero(float* values, std::int64_t n) { std::fill_n(values, n, 0.0F); }
  /// Squares of a unit in equal parts, neighbours first, after prepare(part, count) of each; each_other(part, count, visit) visits the ranges that
  /// count.
  template <class Prepare, class EachOther>
  void sum_squares(float* to, float* values, std::int64_t elements, int parts, Prepare prepare, EachOther each_other) const {
    const Arithmetic& a = kernels_.arithmetic;
    const auto of_part = [&](const float* part, std::int64_t count) {
      float sum = 0;
      bool first_range = true;
      each_other(part, count, [&](std::int64_t first, std::int64_t n) {
        const float squares = a.square_sum(part + first, n);
        sum = std::exchange(first_range, false) ? squares : a.plus(sum, squares);
      });
      return sum;
    };
    *to = square_sum(values, elements, parts, prepare, of_part, a.plus);
  }
  /// Squares of the ranges of a unit that each(visit) visits, in their order.
  template <class Each> void add_squares(float* to, const float* values, std::int64_t /*elements*/, int /*parts*/, Each each) const {
    const Arithmetic& a = kernels_.arithmetic;
    each([&](std::int64_t first, std::int64_t n) { *to = a.plus(*to, a.square_sum(values + first, n)); });
  }
  /// Divides by the scale of the loss; the flag becomes 1 if one is not finite.
  void unscale(float* values, std::int64_t n, float scale, float* flag) const {
    if (!kernels_.arithmetic.multiply(values, n, static_cast<float>(1 / static_cast<double>(scale)))) *flag = 1;
  }
  /// A loss that is not finite is refused when it is made, so a flag that was set to 0 stays.
  static void guard(const float* /*losses*/, int /*count*/, float* /*flag*/) {}
  void clip(float* values, std::int64_t n, float factor) const { kernels_.arithmetic.clip(values, n, factor); }
  void clip_values(float* values, const float* parameters, std::int64_t n, float limit) const {
    kernels_.arithmetic.clip_values(values, parameters, n, limit);
  }
  void fold(float* values, const float* sums, std::int64_t n, float momentum, std::int64_t counted) const {
    kernels_.arithmetic.fold(values, sums, n, momentum, counted);
  }
  /// With the constants of one group of parameters.
  void step(const StepInput& in, int group, std::int64_t n, float* parameters, const float* gradients, float* const* states) const {
    kernels_.step(static_cast<const std::byte*>(in.constants) + static_cast<std::size_t>(group) * in.constants_bytes, n, parameters, gradients,
                  states);
  }

 private:
  const KernelTable& kernels_;
};

}  // namespace heddle::run_room
