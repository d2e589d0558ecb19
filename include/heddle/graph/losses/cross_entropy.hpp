// SPDX-License-Identifier: MIT
// Room: graph. The loss of a classifier: softmax and negative log likelihood in one.
// Sees: core, graph.  Does not see: policies, devices, memory.
// In: logits and class numbers.  Out: a LossDescription.
#pragma once

#include <cstdint>
#include <string_view>
#include <type_traits>

#include "heddle/core/host_device.hpp"
#include "heddle/graph/loss.hpp"

namespace heddle::graph_room {

/// log(sum_j exp(x_j)) - x_target, mean over rows and positions, as torch.nn.CrossEntropyLoss with the classes last.
///
/// Where the last layer gives each rank of axis tensor a part of the classes, the loss takes these parts. A rank tells the others three floats of a
/// position: its largest logit m, sum_j exp(x_j - m) and the target's logit if it has it. One gather of these costs 12 (N-1) bytes a position and
/// N-1 messages; three all-reduces, the second of which waits for the first, would cost 24 (N-1)/N bytes and 6 (N-1) messages: fewer bytes for N > 2,
/// but of both kinds a rank sends next to nothing, so messages count. The parts are added in the order of the ranks, so all ranks have the same bits.
///
/// Shape   logits (B, ..., Classes), targets (B, ...) class numbers from 0: a row has one for each position, for example of a sequence
/// Moves   12 (N-1) x rows x positions where logits lie in parts, whatever the number of classes   [bytes per rank]
/// Errors  G03 if the last dimension of the output is not at least 2 float32 classes
/// Source  sources.md#megatron, sec. 3
/// Tested  graph/losses/cross_entropy_test, compute/eigen/losses_test, equivalence/vocabulary_parallel_test
struct CrossEntropy {
  using Target = std::int32_t;
  static constexpr double smoothing = 0;  ///< share of a target that all classes have alike

  static constexpr std::string_view name() { return "CrossEntropy"; }
  static constexpr std::string_view applies = "Softmax";  ///< a model that ends with it is advised against (A12)
  static constexpr Diagnosis accepts(const Spec& output) {
    if (output.type != ElementType::float32) {
      return Diagnosis{Code{'G', 3}, name()} << " takes float32 but the model gives " << name_of(output.type)
                                             << ". Fix: end the model with a layer that gives float32.";
    }
    if (output.shape.last() < 2) {
      return Diagnosis{Code{'G', 3}, name()}
             << " takes at least 2 classes but the model gives " << output.shape.last()
             << ". Fix: give the last Linear layer one output per class; of one question with two answers name BinaryCrossEntropy.";
    }
    return {};
  }
  static constexpr std::int64_t target_features(const Spec& output) { return output.elements() / output.shape.last(); }
  static constexpr std::int64_t flops(const Spec& output) { return 6 * output.elements(); }
  static constexpr Laid splits(const Spec& output) { return laid::shard(output.shape.dimensions - 1); }
  static constexpr std::int64_t terms(const Spec& output) { return 3 * target_features(output); }
};

/// Targets of this number count nothing: no loss, no gradient, and no share of the mean. PyTorch's ignore_index is Ignored<-100> unless it is told
/// otherwise; padding of sequences has it.
template <std::int32_t Target> struct Ignored { static constexpr std::int32_t target = Target; };

/// Classes have weights, as rare ones often do: trainer.class_weights({1, 1, 5}) of three. A target has the weight of its class in the loss, in the
/// gradient and in the mean, which divides by the sum of the weights of all targets that count.
struct ClassWeights {
  static constexpr bool weighs = true;
};

/// A target is taken for its class but for a share Numerator / Denominator, which all classes have alike: PyTorch's label_smoothing=0.1 is
/// LabelSmoothing<1, 10>. Classes that have weights have a part of it by their weight.
template <auto Numerator, auto Denominator = 1> struct LabelSmoothing {
  static constexpr bool whole = std::is_integral_v<decltype(Numerator)> && std::is_integral_v<decltype(Denominator)>;
  static constexpr bool sound = whole && Numerator >= 0 && Denominator >= 1 && Numerator <= Denominator;
  static constexpr double smooths = sound ? static_cast<double>(Numerator) / static_cast<double>(Denominator) : 0;
};

/// CrossEntropy with options, as torch.nn.CrossEntropyLoss(weight=..., ignore_index=-100, label_smoothing=...): the mean is that over the targets of
/// all ranks that count. They are counted in the batch before a step, which every rank is given whole, so it costs no message, and the bits are those
/// of one device. Of 3 targets of which one is ignored the loss is the sum of two losses, divided by 2.
///
/// Shape   as CrossEntropy; targets are class numbers, or the ignored number
/// Moves   as CrossEntropy; with LabelSmoothing a rank tells a fourth float of a position: the sum of its logits
/// Errors  G03 an option that is none, or one twice, or a share that is not from 0 to 1; D10 at run time, before anything changes, of a batch all of
///         whose targets are ignored
/// Source  sources.md#ignored-targets, sources.md#label-smoothing
/// Tested  graph/losses/cross_entropy_test, compute/eigen/losses_test, conformance/compute_eigen_test, golden/ignored_test, golden/losses_test,
///         equivalence/ignored_test, equivalence/losses_test, fail/G03_no_option_of_a_loss
template <class... Options> struct CrossEntropyWith : CrossEntropy {
 private:
  template <class Option> static constexpr double share_of() {
    if constexpr (requires { Option::smooths; })
      return Option::smooths;
    else
      return 0;
  }
  template <class Option> static constexpr std::int32_t ignored_by() {
    if constexpr (requires { Option::target; })
      return Option::target;
    else
      return 0;
  }
  template <class Option> static constexpr bool is_sound() {
    if constexpr (requires { Option::smooths; })
      return Option::sound;
    else
      return true;
  }

 public:
  template <class Option> static constexpr bool is_ignored = requires { Option::target; };
  template <class Option> static constexpr bool is_weights = requires { Option::weighs; };
  template <class Option> static constexpr bool is_smoothing = requires { Option::smooths; };
  static constexpr bool weighs_classes = (false || ... || is_weights<Options>);
  static constexpr bool leaves_out = (false || ... || is_ignored<Options>);
  static constexpr std::int32_t ignored_target = (0 | ... | ignored_by<Options>());  ///< of one that leaves targets out
  static constexpr double smoothing = (0.0 + ... + share_of<Options>());

  static constexpr std::string_view name() { return "CrossEntropyWith"; }
  static constexpr Diagnosis accepts(const Spec& output) {
    constexpr int ignored = (0 + ... + (is_ignored<Options> ? 1 : 0)), weights = (0 + ... + (is_weights<Options> ? 1 : 0));
    constexpr int smoothed = (0 + ... + (is_smoothing<Options> ? 1 : 0));
    constexpr bool twice = ignored > 1 || weights > 1 || smoothed > 1;
    if (twice || ignored + weights + smoothed != static_cast<int>(sizeof...(Options)))
      return Diagnosis{Code{'G', 3}, name()} << (twice ? " names an option twice" : " names what is no option of a loss")
                                             << ". Fix: write CrossEntropyWith<Ignored<-100>, ClassWeights, LabelSmoothing<1, 10>>, some of them, or "
                                                "CrossEntropy.";
    if (!(true && ... && is_sound<Options>()))
      return Diagnosis{Code{'G', 3}, name()}
             << " has a LabelSmoothing that is no fraction from 0 to 1. Fix: write LabelSmoothing<1, 10> for a tenth.";
    return CrossEntropy::accepts(output);
  }
  static constexpr std::int64_t terms(const Spec& output) { return (smoothing > 0 ? 4 : 3) * target_features(output); }
  /// Whether a target has a loss.
  HEDDLE_HOST_DEVICE static constexpr bool counts([[maybe_unused]] std::int32_t target) { return (true && ... && !ignores<Options>(target)); }

 private:
  template <class Option> HEDDLE_HOST_DEVICE static constexpr bool ignores([[maybe_unused]] std::int32_t target) {
    if constexpr (is_ignored<Option>)
      return target == Option::target;
    else
      return false;
  }
};

}  // namespace heddle::graph_room

namespace heddle {
using graph_room::ClassWeights, graph_room::CrossEntropy, graph_room::CrossEntropyWith, graph_room::Ignored, graph_room::LabelSmoothing;
}  // namespace heddle
