// SPDX-License-Identifier: MIT
// Room: compute. CrossEntropy on a card: loss and gradient of a position by one warp or block, whole or of classes in parts. No power is stored.
// Sees: graph/losses/cross_entropy, seams/concepts, compute/cuda.  Does not see: policies, programs.
// In: LossCallIn<CudaMemory>.  Out: LossKernel<CrossEntropy, CudaCompute>.
#pragma once

#include <cmath>
#include <concepts>
#include <cstdint>

#include "heddle/compute/cuda/functions_on_card.hpp"
#include "heddle/compute/cuda/loss_sums.hpp"
#include "heddle/compute/cuda/softmax.hpp"
#include "heddle/graph/losses/cross_entropy.hpp"

namespace heddle::compute_room {

/// The weight of a class, 1 if none are given.
[[nodiscard]] HEDDLE_DEVICE inline double weight_of_class(const float* weights, std::int64_t j) {
  return weights == nullptr ? 1 : static_cast<double>(weights[j]);
}
/// What a thread adds up while it reads logits: of its classes the sum of weights, and of weights times logits, with smoothing
/// alone: of the weights 1 and 2 and the logits 3 and 4 they are 3 and 11.
template <class Rule> struct WeighedLogits {
  double weights = 0, logits = 0;
  HEDDLE_DEVICE void add(const float* class_weights, std::int64_t j, float logit) {
    if constexpr (Rule::smooths) {
      const double weight = weight_of_class(class_weights, j);
      weights += weight;
      logits += weight * static_cast<double>(logit);
    }
  }
  /// The sum of weight times (most - logit).
  [[nodiscard]] HEDDLE_DEVICE double below(float most) const { return weights * static_cast<double>(most) - logits; }
};
[[nodiscard]] HEDDLE_DEVICE inline bool is_class(std::int64_t target, std::int64_t classes) { return target >= 0 && target < classes; }

/// The gradient of one position, from exp(x - m) of each of its classes. Of logits (0, 0) and target 1 it is (0.5, -0.5) over what the mean divides
/// by.
struct GradientOfPosition {
  float scale, own, factor;  // of powers, of the target, of one of several losses
  double each;               // what smoothing gives a class that weighs 1
  std::int64_t target;
  const float* class_weights;

  HEDDLE_DEVICE GradientOfPosition(const SharesOfTarget& of, double sum_of_powers, double total, float factor_given, std::int64_t target_given,
                                   const float* weights)
      : scale(static_cast<float>(of.of_sum / (sum_of_powers * total))), own(static_cast<float>(of.of_target / total)), factor(factor_given),
        each(of.of_logit / total), target(target_given), class_weights(weights) {}
  template <bool Smooths> [[nodiscard]] HEDDLE_DEVICE float of_class(std::int64_t j, float power) const {
    float gradient = power * scale;
    if constexpr (Smooths) gradient -= static_cast<float>(each * weight_of_class(class_weights, j));
    if (j == target) gradient -= own;
    return gradient * factor;
  }
};

/// Positions of whole classes: log(sum_j exp(x_j - m)) + m - x_target, gradient (softmax - one_hot) / total. A class number outside the classes makes
/// the loss NaN, and the gradient of its position. Logits are read once for the loss and, beyond 8192, once more for the gradient, which may lie
/// where they do: a thread writes what it alone reads.
template <class Rule, class Value, class Way> struct CrossEntropyPositions {
  using Given = Rule;
  static constexpr const char* name = "CrossEntropyPositions";
  static constexpr bool cooperative = true;
  template <BlockOfThreads B>
  HEDDLE_DEVICE void operator()(B& b, Rule rule, LossPlaces where, LossDivisor divisor, float factor, bool packed, std::int64_t vectors,
                                const Value* logits, const std::int32_t* targets, Value* gradient, const float* class_weights,
                                const CudaNumbers* numbers, double* sums) const {
    const Team<Way::whole, B> team(b);
    const Places<Way> places(team, where.length, packed);
    const double total = divisor.of(*numbers);
    double loss = 0;
    for (std::int64_t v = team.first(); v < vectors; v += team.teams()) {
      const std::int64_t begin = where.output_of(v);
      const std::int32_t target = targets[where.target_of(v)];
      const bool counts = rule.counts(target), known = is_class(target, where.length);
      if (!counts || !known) {
        if (gradient != nullptr) places.fill(gradient + begin, counts ? not_a_number : 0.0F);
        if (counts && team.thread() == 0) loss += static_cast<double>(not_a_number);
        continue;
      }
      TileValues<Value, Way> x{};
      WeighedLogits<Rule> weighed;
      float own = 0;
      bool has = false;
      const SumOfPowers powers = sum_of_powers(team, places, logits + begin, x, [&](float logit, int j) {
        weighed.add(class_weights, j, logit);
        if (j != target) return;
        own = logit;
        has = true;
      });
      const double together = Rule::smooths ? team.template folded<Added>(weighed.weights) : 0;
      const SharesOfTarget of(rule.smoothing(), where.length, weight_of_class(class_weights, target), together);
      if (team.thread() == 0) loss += of.of_sum * std::log(powers.sum);
      if (has) loss += of.of_target * (static_cast<double>(powers.most) - static_cast<double>(own));
      if (Rule::smooths) loss += of.of_logit * weighed.below(powers.most);
      if (gradient == nullptr) continue;
      const GradientOfPosition made(of, powers.sum, total, factor, target, class_weights);
      places.each_tile([&](int tile) {
        if (!places.one_tile()) read_tile<Value, Way>(places, tile, logits + begin, x);
        places.of_tile(tile, [&](int k, const FourPlaces& at) {
          Pack<float> four = as_floats(x[k]);
          for (int e = 0; e < Pack<float>::count; ++e)
            if (at.has(e)) four.values[e] = made.template of_class<Rule::smooths>(at.place(e), power_of(four.values[e], powers.most));
          at.put(four, gradient + begin);
        });
      });
    }
    loss = team.sum_of_block(loss);
    if (b.thread() == 0) sums[b.index()] = loss;
  }
};

/// Positions of one part of the classes, as cross_entropy_terms of Eigen: (largest logit m, sum_j exp(x_j - m), logit of the target or 0), and with
/// smoothing the sum of m - x_j by the weights of the classes. The powers stay in gradient. A part of logits that are all -infinity has no share.
template <class Rule, class Value, class Way> struct CrossEntropyTerms {
  using Given = Rule;
  static constexpr const char* name = "CrossEntropyTerms";
  static constexpr bool cooperative = true;
  template <BlockOfThreads B>
  HEDDLE_DEVICE void operator()(B& b, std::int64_t vectors, std::int64_t classes, std::int64_t first, const Value* logits,
                                const std::int32_t* targets, Value* gradient, const float* class_weights, float* terms) const {
    const Team<Way::whole, B> team(b);
    const Places<Way> places(team, classes, classes % Pack<float>::count == 0);
    for (std::int64_t v = team.first(); v < vectors; v += team.teams()) {
      const std::int64_t begin = v * classes, target = targets[v] - first;
      float* const told = terms + v * floats_of_position<Rule>;
      TileValues<Value, Way> x{};
      WeighedLogits<Rule> weighed;
      const SumOfPowers powers = sum_of_powers(team, places, logits + begin, x, [&](float logit, int j) {
        weighed.add(class_weights, first + j, logit);
        if (j == target) told[2] = logit;
      });
      if constexpr (Rule::smooths) {
        const double below = team.template folded<Added>(weighed.below(powers.most));
        if (team.thread() == 0) told[3] = static_cast<float>(below);
      }
      if (team.thread() == 0) {
        told[0] = powers.most;
        told[1] = static_cast<float>(powers.sum);
        if (!is_class(target, classes)) told[2] = 0;
      }
      if (gradient == nullptr) continue;
      places.each_tile([&](int tile) {
        if (!places.one_tile()) read_tile<Value, Way>(places, tile, logits + begin, x);
        places.of_tile(tile, [&](int k, const FourPlaces& at) {
          Pack<float> four = as_floats(x[k]);
          for (float& value : four.values) value = power_of(value, powers.most);
          at.put(four, gradient + begin);
        });
      });
    }
  }
};

/// What a position has of the terms of all parts: of (2, 1.5, 0) and (3, 1, 3) the largest logit 3 and the sum 1.5 exp(2 - 3) + 1.
struct SumOfTerms {
  double most, sum, below;  // of the target's logit
  double weights = 0, below_all = 0;
};

/// Positions from the terms of all parts, which lie (rows, parts, positions); `gradient` holds the powers of the own part.
template <class Rule, class Value, class Way> struct CrossEntropyOfTerms {
  using Given = Rule;
  static constexpr const char* name = "CrossEntropyOfTerms";
  static constexpr bool cooperative = true;
  template <BlockOfThreads B>
  HEDDLE_DEVICE void operator()(B& b, Rule rule, LossDivisor divisor, std::int64_t vectors, std::int64_t positions, std::int64_t classes, int part,
                                int parts, const std::int32_t* targets, const float* terms, Value* gradient, const float* class_weights,
                                const CudaNumbers* numbers, double* sums) const {
    const Team<Way::whole, B> team(b);
    const Places<Way> places(team, classes, classes % Pack<float>::count == 0);
    const double total = divisor.of(*numbers);
    const std::int64_t first = part * classes, all_classes = parts * classes, stride = positions * floats_of_position<Rule>;
    double loss = 0;
    for (std::int64_t v = team.first(); v < vectors; v += team.teams()) {
      Value* const to = gradient == nullptr ? nullptr : gradient + v * classes;
      const std::int32_t target = targets[v];
      const bool counts = rule.counts(target), known = is_class(target, all_classes);
      if (!counts || !known) {
        if (to != nullptr) places.fill(to, counts ? not_a_number : 0.0F);
        if (counts && team.thread() == 0) loss += static_cast<double>(not_a_number);
        continue;
      }
      const float* const told = terms + (v / positions * parts * positions + v % positions) * floats_of_position<Rule>;
      const SumOfTerms all = together(team, told, stride, parts, classes, target, class_weights);
      const SharesOfTarget of(rule.smoothing(), all_classes, weight_of_class(class_weights, target), all.weights);
      if (team.thread() == 0) loss += of.of_sum * std::log(all.sum) + of.of_target * all.below + of.of_logit * all.below_all;
      if (to == nullptr) continue;
      const double share = std::exp(static_cast<double>(told[part * stride]) - all.most);
      const GradientOfPosition made(of, all.sum / share, total, 1, target, class_weights);
      places.each([&](int, const FourPlaces& at) {
        Pack<float> powers = at.of(to);
        for (int e = 0; e < Pack<float>::count; ++e)
          if (at.has(e)) powers.values[e] = made.template of_class<Rule::smooths>(first + at.place(e), powers.values[e]);
        at.put(powers, to);
      });
    }
    loss = team.sum_of_block(loss);
    if (b.thread() == 0) sums[b.index()] = loss;
  }

 private:
  /// The threads of a team share the parts, and with smoothing the classes. All ranks add in one order, so they have the same bits.
  template <class Team>
  HEDDLE_DEVICE static SumOfTerms together(const Team& team, const float* told, std::int64_t stride, int parts, std::int64_t classes,
                                           std::int64_t target, const float* class_weights) {
    float most = -infinity;
    for (int p = team.thread(); p < parts; p += team.threads()) most = told[p * stride] > most ? told[p * stride] : most;
    SumOfTerms all{static_cast<double>(team.template folded<Larger>(most)), 0, 0};
    for (int p = team.thread(); p < parts; p += team.threads()) {
      all.sum += static_cast<double>(told[p * stride + 1]) * std::exp(static_cast<double>(told[p * stride]) - all.most);
      if constexpr (Rule::smooths) all.below_all += static_cast<double>(told[p * stride + 3]);
    }
    all.sum = team.template folded<Added>(all.sum);
    all.below = all.most - static_cast<double>(told[target / classes * stride + 2]);
    if constexpr (Rule::smooths) {
      for (std::int64_t j = team.thread(); j < parts * classes; j += team.threads()) {
        const double weight = weight_of_class(class_weights, j);
        all.weights += weight;
        all.below_all += weight * (all.most - static_cast<double>(told[j / classes * stride]));
      }
      all.weights = team.template folded<Added>(all.weights);
      all.below_all = team.template folded<Added>(all.below_all);
    }
    return all;
  }
};

/// CrossEntropy as the kernels of Eigen have it; what counts is read on the card.
///
/// Law     deterministic, and the same bits whether the gradient is asked for, and where it lies
/// Errors  R36; rows may be 0
/// Tested  compute/cuda/cross_entropy_test
template <class Loss> struct CudaCrossEntropy {
  using Rule = decltype(RuleOfLoss<Loss>::rule());
  static constexpr Diagnosis refused = RefusedHere<CrossEntropyPositions<Rule, float, TeamWay<true, 8>>>::found;
  static constexpr Bytes scratch() { return loss_scratch; }

  template <class Value = float> static void sum(const LossCallIn<CudaMemory>& call) {
    const std::int64_t blocks = call.parts > 1
                                    ? sum_of_terms<Value>(call)
                                    : sum_part<Value>(call, whole_output(call, call.positions), {.sums = static_cast<double*>(call.workspace)});
    finish_loss(call, blocks, call.positions);
  }
  /// By what the mean of one of several losses divides.
  static LossDivisor divisor(const LossCallIn<CudaMemory>& call, const PlaceOfLoss& place, int number) {
    return {static_cast<double>(place.positions * place.targets), number, true, weights_of(call) != nullptr};
  }
  /// Queues the sums of one of several losses, or of the one there is. Returns how many.
  template <class Value> static std::int64_t sum_part(const LossCallIn<CudaMemory>& call, const PlaceOfLoss& place, const AskedOfLoss& asked) {
    const LossPlaces where(call, place, place.targets);
    std::int64_t blocks = 0;
    with_team(where.length, where.packed(), [&](auto way) {
      const Extents extents = extents_of_teams(way, where.vectors(), most_loss_blocks);
      launch<CrossEntropyPositions<Rule, Value, decltype(way)>>(
          call.space.queue->stream, extents, RuleOfLoss<Loss>::rule(), where, divisor(call, place, asked.number), asked.weight, where.packed(),
          where.vectors(), values_at<Value>(call.output), static_cast<const std::int32_t*>(call.targets), values_at<Value>(call.gradient),
          weights_of(call), call.space.queue->numbers, asked.sums);
      blocks = extents.blocks;
    });
    return blocks;
  }
  template <class Value = float> static void terms(const LossCallIn<CudaMemory>& call) {
    const std::int64_t classes = call.features / call.positions, vectors = call.rows * call.positions;
    with_team(classes, [&](auto way) {
      launch<CrossEntropyTerms<Rule, Value, decltype(way)>>(
          call.space.queue->stream, extents_of_teams(way, vectors), vectors, classes, call.part * classes, values_at<Value>(call.output),
          static_cast<const std::int32_t*>(call.targets), values_at<Value>(call.gradient), weights_of(call), call.terms);
    });
  }

 private:
  static const float* weights_of(const LossCallIn<CudaMemory>& call) { return graph_room::weighs_classes<Loss>() ? call.class_weights : nullptr; }
  template <class Value> static std::int64_t sum_of_terms(const LossCallIn<CudaMemory>& call) {
    const std::int64_t classes = call.features / call.positions, vectors = call.rows * call.positions;
    std::int64_t blocks = 0;
    with_team(classes, [&](auto way) {
      const Extents extents = extents_of_teams(way, vectors, most_loss_blocks);
      launch<CrossEntropyOfTerms<Rule, Value, decltype(way)>>(
          call.space.queue->stream, extents, RuleOfLoss<Loss>::rule(), divisor(call, whole_output(call, call.positions), 0), vectors, call.positions,
          classes, call.part, call.parts, static_cast<const std::int32_t*>(call.targets), static_cast<const float*>(call.terms),
          values_at<Value>(call.gradient), weights_of(call), call.space.queue->numbers, static_cast<double*>(call.workspace));
      blocks = extents.blocks;
    });
    return blocks;
  }
};

}  // namespace heddle::compute_room

namespace heddle {

template <std::derived_from<graph_room::CrossEntropy> Loss, std::derived_from<compute_room::CudaCompute> C>
struct LossKernel<Loss, C> : compute_room::CudaCrossEntropy<Loss> {
  using TakesBFloat16 = LossKernel;
};

}  // namespace heddle
