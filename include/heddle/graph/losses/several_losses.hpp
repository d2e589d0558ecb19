// SPDX-License-Identifier: MIT
// Room: graph. Several losses of one model: each reads its part of the output and its targets, and their weighted sum is trained.
// Sees: core, graph/loss, graph/named.  Does not see: policies, devices, memory.
// In: losses with names, sizes and weights.  Out: Losses<LossOf<...>, ...>, a LossDescription.
#pragma once

#include <concepts>
#include <cstdint>
#include <string_view>
#include <type_traits>

#include "heddle/core/rule.hpp"
#include "heddle/core/text.hpp"
#include "heddle/core/type_name.hpp"
#include "heddle/graph/loss.hpp"
#include "heddle/graph/named.hpp"

namespace heddle::graph_room {

/// What one of several losses reads of the output: so many of the last dimension. Of an output without further dimensions it may have several sizes,
/// as Outputs<8, 65> of 8 positions with 65 classes each, which lie there one behind the other.
template <std::int64_t... Sizes> struct Outputs {
  [[nodiscard]] static constexpr Shape shape() {
    Shape all;
    (all.append(Sizes), ...);
    return all;
  }
};

/// Multiplies one of several losses: LossWeight<3, 10> of an auxiliary loss. Without it each weighs 1.
template <auto Numerator, auto Denominator = 1> struct LossWeight {
  static constexpr bool whole = std::is_integral_v<decltype(Numerator)> && std::is_integral_v<decltype(Denominator)>;
  static constexpr bool sound = whole && Numerator > 0 && Denominator > 0;
  static constexpr double multiplies = sound ? static_cast<double>(Numerator) / static_cast<double>(Denominator) : 1;
};

/// One of several losses has the targets of an earlier one, as an auxiliary classifier has the labels of the main one: TargetsOf<"digit">.
template <Name Label> struct TargetsOf { static constexpr auto shared_with = Label; };

/// One of several losses: LossOf<"digit", Outputs<10>, CrossEntropy>, LossOf<"angle", Outputs<1>, MeanSquaredError, LossWeight<1, 2>>,
/// LossOf<"early", Outputs<10>, CrossEntropy, TargetsOf<"digit">, LossWeight<3, 10>>.
/// It tells its arguments by members: nvcc 13.0 matches no partial specialisation of a template whose parameter is a Name.
template <Name Label, class Reads = void, class Loss = void, class... Options> struct LossOf {
  static constexpr bool is_loss_of = true;
  static constexpr auto label = Label;
  using ReadOutputs = Reads;
  using ReadLoss = Loss;
  template <class Read> static constexpr void each_option([[maybe_unused]] Read read) { (read(std::type_identity<Options>{}), ...); }
};

/// What a LossOf says, as plain numbers; anything else is no loss. LossOf<"digit", Outputs<10>, CrossEntropy> reads (10) and weighs 1.
struct SaidOfLoss {
  bool is_one = false;   ///< a LossOf with Outputs
  bool is_loss = false;  ///< that names a loss
  bool is_known = true;  ///< whose options are some, once each
  bool is_sound = true;  ///< and whose weight is above 0
  std::string_view label{};
  std::string_view shares{};  ///< whose targets; empty: its own
  Shape reads{};
  double weight = 1;
  int target = 0;  ///< class numbers 1, real numbers 2, several 0
};
/// The loss that a LossOf names, and what it says; of anything else void, and nothing. Of LossOf<"x", Outputs<3>, Huber<>> it is Huber<>, and
/// reads 3.
template <class T> struct ReadLossOf {
  using Loss = void;
  static constexpr SaidOfLoss said{};
};
template <class One>
requires requires {
  One::is_loss_of;
  One::ReadOutputs::shape();
}
struct ReadLossOf<One> {
  using Loss = typename One::ReadLoss;
  static constexpr SaidOfLoss said = [] {
    SaidOfLoss out{.is_one = true, .is_loss = LossDescription<Loss>, .label = One::label.view(), .reads = One::ReadOutputs::shape()};
    if constexpr (LossDescription<Loss> && !requires(const Spec& output) { Loss::target_ranges(output); })
      out.target = std::same_as<typename Loss::Target, std::int32_t> ? 1 : std::same_as<typename Loss::Target, float> ? 2 : 0;
    int weights = 0, owners = 0;
    [[maybe_unused]] const auto read = [&]<class Option>(std::type_identity<Option>) {
      if constexpr (requires { Option::multiplies; }) {
        out.weight = Option::multiplies;
        out.is_sound = Option::sound;
        out.is_known = out.is_known && ++weights == 1;
      } else if constexpr (requires { Option::shared_with; }) {
        out.shares = Option::shared_with.view();
        out.is_known = out.is_known && ++owners == 1;
      } else {
        out.is_known = false;
      }
    };
    One::each_option(read);
    return out;
  }();
};

/// Where one of several losses lies in an output and in a row of targets. Of (8, 14), of which it reads (10) from 4 on, there are 8 positions, 14
/// elements apart; each is a row of its own.
struct PlaceOfLoss {
  Spec reads;              ///< of one position
  std::int64_t first = 0;  ///< of its elements, in the first position
  std::int64_t positions = 1;
  std::int64_t stride = 0;  ///< elements from one position to the next
  std::int64_t first_target = 0;
  std::int64_t targets = 0;  ///< of one position
};

/// Several losses of one model, as a classifier and a regression that share their first layers, or a main loss and auxiliary ones of earlier layers.
/// The model ends with what all of them read, joined: Branches<Concat, Digit, Angle>. The loss of a step is the sum of their means, each times its
/// weight, and its gradient that of the sum. Each is the mean over the targets that count for it. A row of targets has those of the first loss, then
/// those of the next, and so on; what has the targets of another has none of its own. examples(images, labels, 784).with_targets(angles, 1) joins
/// labels and angles.
///
/// trainer.evaluate(batch).losses has the mean of each in their order, without the weights, and trainer.accuracy<"digit">(rows) is that of one of
/// them. One of them may have ClassWeights.
///
/// Shape   output (B, ..., sum of Outputs); targets (B, targets of the first + targets of the next + ...), class numbers, floats, or TargetValue if
///         there are both
/// Errors  G03 fewer than 2 or more than 8 losses, what is no LossOf, a name that stands twice, a size or a weight that is not above 0, other outputs
///         than the model gives, TargetsOf of no earlier loss or of other targets; two with ClassWeights; what a loss says itself
/// Tested  graph/losses/several_losses_test, compute/eigen/several_losses_test, golden/several_losses_test, equivalence/several_losses_test,
///         fail/G03_losses_of_other_outputs, fail/G03_targets_of_no_loss
template <class... Each> struct Losses {
  static constexpr int count = static_cast<int>(sizeof...(Each));
  static constexpr SaidOfLoss said[sizeof...(Each) + 1] = {ReadLossOf<Each>::said..., {}};

  static constexpr bool all_of(int target) {
    for (int k = 0; k < count; ++k)
      if (said[k].target != target) return false;
    return true;
  }
  using Target = std::conditional_t<all_of(1), std::int32_t, std::conditional_t<all_of(2), float, TargetValue>>;

  static constexpr std::string_view name() { return "Losses"; }
  static constexpr bool weighs_classes = (false || ... || graph_room::weighs_classes<typename ReadLossOf<Each>::Loss>());

  /// The number of the loss with this name, -1 if there is none.
  static constexpr int number_of(std::string_view label) {
    for (int k = 0; k < count; ++k)
      if (said[k].label == label) return k;
    return -1;
  }
  static constexpr PlaceOfLoss place_of(int number, const Spec& output) {
    PlaceOfLoss place;
    place.reads = Spec{said[number].reads, output.type};
    place.targets = targets_of(number, place.reads);
    place.positions = output.shape.dimensions == 1 ? 1 : output.elements() / output.shape.last();
    place.stride = output.shape.last();
    for (int k = 0; k < number; ++k) place.first += said[k].reads.elements();
    for (int k = 0; k < owner_of(number); ++k)
      if (said[k].shares.empty()) place.first_target += place.positions * targets_of(k, Spec{said[k].reads, output.type});
    return place;
  }

  static constexpr Diagnosis accepts(const Spec& output) {
    if (const Diagnosis found = check_list(); !found.ok()) return found;
    std::int64_t sum = 0;
    for (int k = 0; k < count; ++k) {
      if (!said[k].reads.sound() || said[k].reads.dimensions < 1)
        return broken(k) << " reads " << said[k].reads << " outputs. Fix: write Outputs<10> for 10.";
      if (said[k].reads.dimensions > 1 && output.shape.dimensions > 1)
        return broken(k) << " reads " << said[k].reads << " of an output of " << output.shape
                         << ", of whose positions each has a part. Fix: write Outputs<N>, or let the model end with Flatten.";
      sum = counted_sum(sum, said[k].reads.elements());
    }
    if (sum != output.shape.last()) {
      auto found = Diagnosis{Code{'G', 3}, name()} << " read ";
      for (int k = 0; k < count; ++k) found << (k > 0 ? " + " : "") << said[k].reads.elements();
      return found << " = " << sum << " outputs, but the model gives " << output.shape.last()
                   << ". Fix: end the model with Branches<Concat, ...> of what they read, in their order, or change Outputs<...>.";
    }
    Diagnosis found;
    int number = 0;
    (..., (found.ok() ? static_cast<void>(found = accepts_one<Each>(number++, output)) : static_cast<void>(0)));
    if (!found.ok()) return found;
    return check_shared(output);
  }
  static constexpr std::int64_t target_features(const Spec& output) {
    std::int64_t sum = 0;
    for (int k = 0; k < count; ++k)
      if (const PlaceOfLoss place = place_of(k, output); said[k].shares.empty()) sum = counted_sum(sum, place.positions * place.targets);
    return sum;
  }
  static constexpr std::int64_t flops(const Spec& output) {
    std::int64_t sum = 0;
    int number = 0;
    (..., (sum = counted_sum(sum, flops_of<Each>(place_of(number++, output)))));
    return sum;
  }
  static constexpr TargetRanges target_ranges(const Spec& output) {
    TargetRanges all;
    (..., all.append(range_of<Each>(place_of(all.count, output))));
    return all;
  }

 private:
  template <class One> using LossIn = typename ReadLossOf<One>::Loss;

  static constexpr Diagnosis broken(int number) { return Diagnosis{Code{'G', 3}, "'"} << quoted(said[number].label).view() << "' of Losses"; }
  /// What the losses say, whatever the output is.
  static constexpr Diagnosis check_list() {
    if (count < 2 || count > TargetRanges::most)
      return Diagnosis{Code{'G', 3}, name()} << " names " << count << (count == 1 ? " loss" : " losses") << ". Fix: name 2 to " << TargetRanges::most
                                             << " of them" << (count == 1 ? ", or write the loss itself." : ".");
    Diagnosis found;
    int number = 0, weighing = 0;
    (..., (found.ok() ? static_cast<void>(found = check_one<Each>(number++, weighing)) : static_cast<void>(0)));
    if (found.ok() && weighing > 1)
      return Diagnosis{Code{'G', 3}, name()} << " name ClassWeights " << weighing
                                             << " times, but a trainer has one list of them. Fix: leave all but "
                                                "one out.";
    return found;
  }
  template <class One> static constexpr Diagnosis check_one(int number, int& weighing) {
    const SaidOfLoss& one = said[number];
    if (!one.is_one)
      return Diagnosis{Code{'G', 3}, name()} << " names " << type_name<One>().view()
                                             << ", which is none of several losses. Fix: write LossOf<\"digit\", Outputs<10>, CrossEntropy>.";
    if (!one.is_loss || one.target == 0)
      return broken(number) << " has " << type_name<LossIn<One>>().view()
                            << ", which is no loss of a part of the output. Fix: name a loss as "
                               "CrossEntropy.";
    if constexpr (LossDescription<LossIn<One>>) weighing += graph_room::weighs_classes<LossIn<One>>() ? 1 : 0;
    if (!one.is_known)
      return broken(number) << " names what is no option of LossOf, or one twice. Fix: name LossWeight<3, 10> for 0.3 and TargetsOf<\"digit\"> once; "
                               "options of the loss stand inside it, as CrossEntropyWith<Ignored<-100>>.";
    if (!one.is_sound)
      return broken(number) << " has a LossWeight that is no whole number or fraction above 0. Fix: write LossWeight<3, 10> for 0.3.";
    if (!is_name(one.label)) return broken(number) << " is no name: it is empty or has a dot or a star. Fix: use letters, digits and underscores.";
    if (number_of(one.label) < number) return broken(number) << " names two losses. Fix: rename one of them.";
    const int owner = one.shares.empty() ? 0 : number_of(one.shares);
    if (!one.shares.empty() && (owner < 0 || owner >= number || !said[owner].shares.empty()))
      return broken(number) << " has the targets of '" << quoted(one.shares).view()
                            << "', which is no earlier loss with targets of its own. Fix: name one that is.";
    return {};
  }
  template <class One> static constexpr Diagnosis accepts_one(int number, const Spec& output) {
    Diagnosis found;
    if constexpr (LossDescription<LossIn<One>>) {
      const Diagnosis own = LossIn<One>::accepts(place_of(number, output).reads);
      if (!own.ok()) found = Diagnosis{own.code, ""} << "in '" << quoted(said[number].label).view() << "' of Losses " << own.words.view();
    }
    return found;
  }
  /// Who has the targets of another one reads as many, of as many classes.
  static constexpr Diagnosis check_shared(const Spec& output) {
    for (int k = 0; k < count; ++k) {
      const int owner = owner_of(k);
      const PlaceOfLoss mine = place_of(k, output), its = place_of(owner, output);
      const bool same = said[k].target == said[owner].target && mine.targets == its.targets &&
                        (said[k].target != 1 || mine.reads.shape.last() == its.reads.shape.last());
      if (!same)
        return broken(k) << " reads " << mine.targets << (said[k].target == 1 ? " class numbers of " : " real numbers of ") << mine.reads.shape
                         << " outputs, but '" << quoted(said[owner].label).view() << "', whose targets it has, " << its.targets
                         << (said[owner].target == 1 ? " class numbers of " : " real numbers of ") << its.reads.shape
                         << ". Fix: let both read the same, or give it targets of its own.";
    }
    return {};
  }
  static constexpr int owner_of(int number) {
    const int owner = said[number].shares.empty() ? number : number_of(said[number].shares);
    return owner < 0 ? number : owner;
  }
  static constexpr std::int64_t targets_of(int number, const Spec& reads) {
    std::int64_t targets = 0;
    int k = 0;
    (..., (k++ == number ? static_cast<void>(targets = targets_of_one<Each>(reads)) : static_cast<void>(0)));
    return targets;
  }
  template <class One> static constexpr std::int64_t targets_of_one(const Spec& reads) {
    if constexpr (LossDescription<LossIn<One>>)
      return LossIn<One>::target_features(reads);
    else
      return (static_cast<void>(reads), 0);
  }
  template <class One> static constexpr std::int64_t flops_of(const PlaceOfLoss& place) {
    if constexpr (LossDescription<LossIn<One>>)
      return counted_product(place.positions, LossIn<One>::flops(place.reads));
    else
      return (static_cast<void>(place), 0);
  }
  template <class One> static constexpr TargetRange range_of(const PlaceOfLoss& place) {
    if constexpr (LossDescription<LossIn<One>>) {
      TargetRange range = target_ranges_of<LossIn<One>>(place.reads).all[0];
      range.first = place.first_target;
      range.features *= place.positions;
      range.name = ReadLossOf<One>::said.label;
      return range;
    } else {
      return (static_cast<void>(place), TargetRange{});
    }
  }
};

}  // namespace heddle::graph_room

namespace heddle {
using graph_room::Losses, graph_room::LossOf, graph_room::LossWeight, graph_room::Outputs, graph_room::TargetsOf;
}  // namespace heddle
