// SPDX-License-Identifier: MIT
// Room: compute. A user's kernel in the field, watched: it writes all of its outputs, and computes with Field alone.
// Sees: graph/leaf, seams/concepts, seams/error, compute/field.  Does not see: policies, programs.
// In: a FieldKernel.  Out: FieldWatched<L>, FieldLossWatched<Loss>; R34 of a kernel that computes with floats.
#pragma once

#include <bit>
#include <cfenv>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "heddle/compute/field/field.hpp"
#include "heddle/compute/field/handles.hpp"
#include "heddle/core/type_name.hpp"
#include "heddle/core/written.hpp"
#include "heddle/graph/leaf.hpp"
#include "heddle/seams/error.hpp"

namespace heddle::compute_room {

/// One call of a user's kernel. The kernel works on copies: outputs begin as marks, and in a degree run elements are handles, which show every
/// operation on floats. Of a layer of 6 features and 4 rows the copies are 24 floats of input and 24 of output.
///
/// Errors  R34
/// Tested  compute/field/watched_test
class FieldCallWatch {
 public:
  FieldCallWatch(std::string_view kernel, std::string_view owner, std::string_view function) : kernel_(kernel), owner_(owner), function_(function) {}

  /// Elements that the kernel reads; null stays null.
  [[nodiscard]] const float* reads(const float* elements, std::int64_t count) {
    if (elements == nullptr || !Field::in_degrees()) return elements;
    float* const copy = space(count);
    for (std::int64_t i = 0; i < count; ++i) copy[i] = handles_.of(Field::read(elements[i]));
    return copy;
  }
  /// Elements that the kernel writes, or adds to.
  [[nodiscard]] float* writes(float* elements, std::int64_t count, std::string_view name, bool adds = false) {
    if (elements == nullptr) return nullptr;
    float* const copy = space(count);
    for (std::int64_t i = 0; i < count; ++i) copy[i] = !adds ? mark() : Field::in_degrees() ? handles_.of(Field::read(elements[i])) : elements[i];
    outputs_.push_back({elements, copy, count, name});
    return copy;
  }
  /// Runs the kernel, and takes what it has written into its place.
  template <class Kernel> void run(const Kernel& kernel) {
    {
      const Watching watching{Field::in_degrees() ? &handles_ : nullptr};
      kernel();
      if (watching.floats_were_used()) refuse(" computes with the floats that hold elements");
    }
    for (const Output& output : outputs_)
      for (std::int64_t i = 0; i < output.count; ++i) output.elements[i] = checked(output, i);
  }

 private:
  /// What a kernel writes, and where it stands until it is checked.
  /// A FieldKernel of 4 rows and 6 features has 24 elements in its copy of the output.
  struct Output {
    float* elements;
    float* copy;
    std::int64_t count;
    std::string_view name;
  };
  /// Sets the handles and notes invalid operations: those on signalling NaNs are.
  class Watching {
   public:
    explicit Watching(FieldHandles* handles) : before_(std::exchange(field_handles, handles)) { std::feholdexcept(&environment_); }
    Watching(const Watching&) = delete;
    Watching& operator=(const Watching&) = delete;
    ~Watching() {
      std::fesetenv(&environment_);
      field_handles = before_;
    }
    [[nodiscard]] bool floats_were_used() const {
      asm volatile("" ::: "memory");  // what was computed is stored
      return field_handles != nullptr && std::fetestexcept(FE_INVALID) != 0;
    }

   private:
    FieldHandles* before_;
    std::fenv_t environment_{};
  };

  [[nodiscard]] static float mark() { return std::bit_cast<float>(0xffffffffU); }
  /// In lines of 64 bytes, as kernels are given.
  [[nodiscard]] float* space(std::int64_t count) {
    std::vector<float>& room = copies_.emplace_back(static_cast<std::size_t>(count) + 16);
    return room.data() + (64 - reinterpret_cast<std::uintptr_t>(room.data()) % 64) % 64 / sizeof(float);
  }
  [[nodiscard]] float checked(const Output& output, std::int64_t i) const {
    const float element = output.copy[i];
    const auto bits = std::bit_cast<std::uint32_t>(element);
    if (bits == std::bit_cast<std::uint32_t>(mark())) refuse(written({" leaves element ", i, " of the ", output.name, " unwritten"}));
    if (bits == 0) return 0;
    if (!Field::in_degrees() && bits < Field::modulus) return element;
    if (Field::in_degrees() && handles_.knows(element)) return Field::write(handles_.value(element));
    refuse(written({" writes at element ", i, " of the ", output.name, " what Field::write has not made"}));
  }
  [[noreturn]] HEDDLE_COLD void refuse(const std::string& what) const {
    constexpr const char* fix =
        ", so nothing is proved of it. Fix: let it write every element of every row, take elements out with Field::read, "
        "compute with Field::plus, Field::times and Field::hash alone, and put them back with Field::write.";
    throw Error(Code{'R', 34}, written({"heddle::", kernel_, "<", owner_, ">::", function_, what, fix}));
  }

  std::string_view kernel_, owner_, function_;
  FieldHandles handles_;
  std::deque<std::vector<float>> copies_;
  std::vector<Output> outputs_;
};

/// A user's FieldKernel<L>, watched in every call of a proof.
///
/// Errors  R34
/// Tested  compute/field/watched_test, proof/prove_test
template <class L> struct FieldWatched : FieldKernel<L> {
  using Kernel = FieldKernel<L>;
  static constexpr auto name = type_name<L>();

  static void forward(const ForwardCall& call) requires requires { Kernel::forward(call); }
  {
    const Leaf& leaf = *call.leaf;
    FieldCallWatch watch{"FieldKernel", name.view(), "forward"};
    Parameters parameters{watch, leaf, call.parameters};
    ForwardCall own = call;
    own.input = watch.reads(call.input, call.rows * leaf.in.elements());  // ids and bytes are read as they are
    own.second = watch.reads(call.second, call.rows * leaf.other.elements());
    own.parameters = parameters.all();
    own.output = watch.writes(call.output, call.rows * leaf.out.elements(), "output");
    own.statistics = watch.writes(call.statistics, call.rows * leaf.statistics_elements(), "statistics");
    watch.run([&own] { Kernel::forward(own); });
  }
  static void backward(const BackwardCall& call) requires requires { Kernel::backward(call); }
  {
    const Leaf& leaf = *call.leaf;
    FieldCallWatch watch{"FieldKernel", name.view(), "backward"};
    Parameters parameters{watch, leaf, call.parameters};
    BackwardCall own = call;
    own.input = watch.reads(call.input, call.rows * leaf.in.elements());  // ids and bytes are read as they are
    own.second = watch.reads(call.second, call.rows * leaf.other.elements());
    own.output = watch.reads(call.output, call.rows * leaf.out.elements());
    own.statistics = watch.reads(call.statistics, call.rows * leaf.statistics_elements());
    own.output_gradient = watch.reads(call.output_gradient, call.rows * leaf.out.elements());
    own.parameters = parameters.all();
    own.input_gradient = watch.writes(call.input_gradient, call.rows * leaf.operand(call.operand).elements(), "gradient of its input");
    float* gradients[Leaf::most_parameters]{};
    for (int k = 0; k < leaf.parameter_count && call.parameter_gradients != nullptr; ++k)
      gradients[k] = watch.writes(call.parameter_gradients[k], leaf.parameters[k].shape.elements(), "gradient of a parameter", call.add);
    if (call.parameter_gradients != nullptr) own.parameter_gradients = gradients;
    watch.run([&own] { Kernel::backward(own); });
  }

 private:
  /// The parameters of a call as the kernel is given them.
  /// Of a Linear<4, 3> they would be 12 and 3 elements.
  struct Parameters {
    Parameters(FieldCallWatch& watch, const Leaf& leaf, const float* const* given) : is_given(given != nullptr) {
      for (int k = 0; k < leaf.parameter_count && is_given; ++k) copies[k] = watch.reads(given[k], leaf.parameters[k].shape.elements());
    }
    [[nodiscard]] const float* const* all() const { return is_given ? copies : nullptr; }
    const float* copies[Leaf::most_parameters]{};
    bool is_given;
  };
};

/// A user's FieldLoss<Loss>, watched where the output is whole, as it is on one device. What terms of parts a rank tells is not watched.
///
/// Errors  R34
/// Tested  compute/field/watched_test
template <class Loss> struct FieldLossWatched : FieldLoss<Loss> {
  using Kernel = FieldLoss<Loss>;
  static constexpr auto name = type_name<Loss>();

  static float sum(const LossCall& call) requires requires { Kernel::sum(call); }
  {
    if (call.parts > 1) return Kernel::sum(call);
    FieldCallWatch watch{"FieldLoss", name.view(), "sum"};
    LossCall own = call;
    own.output = watch.reads(call.output, call.rows * call.features);
    if constexpr (std::is_same_v<typename Loss::Target, float>)
      own.targets = watch.reads(static_cast<const float*>(call.targets), call.rows * call.target_features);
    own.gradient = watch.writes(call.gradient, call.rows * call.features, "gradient of the output");
    float result = 0;
    float* const sum = watch.writes(&result, 1, "sum");
    watch.run([&own, sum] { *sum = Kernel::sum(own); });
    return result;
  }
};

}  // namespace heddle::compute_room
