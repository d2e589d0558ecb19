// SPDX-License-Identifier: MIT
// Plans that a seed draws at compile time: a small graph, a policy, a division of the batch. A failure prints the seed and what it drew.
#pragma once

#include <string>
#include <tuple>
#include <utility>

#include "equivalence/training_properties.hpp"

namespace equivalence {

/// What a draw is for; draws of two kinds are independent.
enum Stream : std::uint64_t { of_kinds, of_widths, of_activations, of_repeats, of_policies, of_batches, of_recomputes, of_frozen };

[[nodiscard]] constexpr int draw(int seed, Stream stream, int index, int choices) {
  const std::uint64_t bits = bits64(Seed{static_cast<std::uint64_t>(seed)}, stream, static_cast<std::uint64_t>(index));
  return static_cast<int>(bits % static_cast<std::uint64_t>(choices));
}
template <int Number, class... Types> using Pick = std::tuple_element_t<static_cast<std::size_t>(Number), std::tuple<Types...>>;

// ---- Graphs. Widths are 3 to 9, so that rows end inside a cache line.

template <class...> struct Layers {};

/// A quarter of the pieces is frozen; the last layer of a model is in no piece, so something is left to train.
template <bool frozen, class List> struct FrozenIf { using type = List; };
template <class... L> struct FrozenIf<true, Layers<L...>> { using type = Layers<Frozen<L>...>; };
[[nodiscard]] constexpr bool freezes(int seed, int at) { return draw(seed, of_frozen, at, 4) == 0; }

/// One to four layers after a value of `in` features.
template <int seed, int at, int in> struct Piece {
  static constexpr int kind = draw(seed, of_kinds, at, 10);
  static constexpr int wide = 3 + draw(seed, of_widths, at, 7);
  static constexpr int split = in % 2 == 0 ? 2 : (in % 3 == 0 ? 3 : 1);
  static constexpr int times = 2 + draw(seed, of_repeats, at, 2);
  using Act = Pick<draw(seed, of_activations, at, 4), ReLU, GELU, Tanh, Sigmoid>;
  using Wide = Residual<Linear<in, wide>, Act, Linear<wide, in>>;
  using Early = Residual<Act, Linear<in, in, NoBias>>;  // the first layer inside must not write over the value that is added
  using Whole = Pick<kind, Layers<Linear<in, wide>>, Layers<Act>, Layers<Linear<in, wide, NoBias>, Act>, Layers<Wide>, Layers<Early>,
                     Layers<Residual<Wide, Act>>, Layers<Residual<Act, Wide, Linear<in, in>>>, Layers<Repeat<times, Pick<times - 2, Wide, Early>>>,
                     Layers<Unflatten<split, in / split>, Linear<in / split, 3>, Act, Flatten>, Layers<Residual<Residual<>, Act>>>;
  using type = typename FrozenIf<freezes(seed, at), Whole>::type;
  static constexpr int out = kind == 0 || kind == 2 ? wide : (kind == 8 ? 3 * split : in);
};

/// The first layers: they tell the shape of a row.
template <int seed> struct Start {
  static constexpr int kind = draw(seed, of_kinds, 100, 3);
  static constexpr int wide = 3 + draw(seed, of_widths, 100, 7);
  using First = typename FrozenIf<freezes(seed, 100), Layers<Linear<7, wide>>>::type;
  using type = Pick<kind, First, Layers<Input<2, 4>, Flatten>, Layers<Input<3, 5>, Linear<5, 3>, Flatten>>;
  static constexpr int out = kind == 0 ? wide : (kind == 1 ? 8 : 9);
};

template <class A, class B> struct Joined;
template <class... A, class... B> struct Joined<Layers<A...>, Layers<B...>> { using type = Layers<A..., B...>; };

template <int seed, int left, int in, class Before> struct Chain {
  using Next = Piece<seed, left, in>;
  using type = typename Chain<seed, left - 1, Next::out, typename Joined<Before, typename Next::type>::type>::type;
};
template <int seed, int in, class... Before> struct Chain<seed, 0, in, Layers<Before...>> {
  using type = Sequential<Before..., Linear<in, 3 + draw(seed, of_widths, 101, 5)>>;
};
template <int seed> struct RandomModel : Chain<seed, draw(seed, of_kinds, 101, 6), Start<seed>::out, typename Start<seed>::type>::type {};

// ---- Plans.

/// The numbers and the types of one plan.
template <int seed> struct Drawn {
  static constexpr int which(int index, int choices) { return draw(seed, of_policies, index, choices); }
  static constexpr int kind = which(0, 8);  // 0 Single, 1 and 2 data, 3 and 4 stages, 5 to 7 both
  static constexpr int replicas = kind == 0 || kind == 3 || kind == 4 ? 1 : 2 + which(1, 3);
  static constexpr int stages = kind < 3 ? 1 : 2 + which(2, 2);
  static constexpr int micro_batches = kind < 3 ? 1 : (which(3, 6) == 0 ? 1 : (which(3, 6) < 3 ? 2 : 4));
  static constexpr int order = which(4, 4);
  using Named = Pick<order, GPipe, OneFOneB, Interleaved<2>, ZeroBubbleH1>;
  static constexpr int spread = which(6, 5);  // 0 and 1 replicas, 2 and 3 slices, 4 both
  using What = Pick<which(7, 3), OptimizerState, Gradients, Parameters>;
  static constexpr bool keeps = std::is_same_v<What, Parameters> && which(8, 2) == 1;
  template <int N> using Sliced = Pick<keeps ? 1 : 0, Sharded<N, What>, Sharded<N, Keep::Step>>;
  using Spread = Pick<replicas == 3 ? 0 : spread, DataParallel<replicas>, DataParallel<replicas>, Sliced<replicas>, Sliced<replicas>,
                      Hybrid<Sliced<replicas == 4 ? 2 : 1>, DataParallel<replicas == 4 ? 2 : replicas>>>;
  using Cut = Balanced<stages>;
  static constexpr bool ordered = kind >= 3 && which(5, 3) > 0;
  using Staged = Pick<ordered ? 1 : 0, Pipeline<Cut, Microbatches<micro_batches>>, Pipeline<Cut, Named, Microbatches<micro_batches>>>;
  using Policy = Pick<kind, Single, Spread, Spread, Staged, Staged, Hybrid<Staged, Spread>, Hybrid<Staged, Spread>, Hybrid<Spread, Staged>>;

  static constexpr int of(int index, int choices) { return draw(seed, of_batches, index, choices); }
  static constexpr int rounds = 1 + of(0, 2);
  static constexpr int batch = 16 * (1 + of(1, 3)) + (of(1, 3) == 0 ? 8 : 0);  // 24, 32 or 48
  static constexpr int parts = replicas * rounds * micro_batches;
  /// Mostly a micro-batch halved some times, which is legal on any number of ranks; else any number of rows.
  static constexpr int grain = [] {
    if (of(2, 6) == 0) return 1 + of(3, 8);
    int rows = (batch + parts - 1) / parts;
    for (int halved = of(3, 3); halved > 0 && rows % 2 == 0; --halved) rows /= 2;
    return rows;
  }();
  static constexpr int partial = 2 + of(4, batch - 2);
  static constexpr Bytes bucket{64 << of(5, 7)};

  using Model = RandomModel<seed>;
  using Loss = Pick<of(6, 2), CrossEntropy, MeanSquaredError>;
  using Optimizer = Pick<of(7, 4), SGD, MomentumSGD, Adam, AdamW>;
  template <class... Options>
  using With = Plan<Model, Loss, Optimizer, Batch<batch, KeepLast>, Grain<grain>, Bucket<bucket>, Accumulate<rounds>, Policy, Options...>;
  static constexpr bool has_blocks = [] {
    for (int n = 0; n < graph_of<Model>.node_count; ++n)
      if (graph_of<Model>.nodes[n].block >= 0) return true;
    return false;
  }();
  /// Half of the plans run something again: blocks where there are, else every layer that is the first, the second or one of both where it stands.
  static constexpr int again = draw(seed, of_recomputes, 0, 2) == 0 ? 0 : (has_blocks ? 1 : 2) + draw(seed, of_recomputes, 1, 2);
  using type = Pick<again, With<>, With<Recompute<EveryBlock>>, With<Recompute<Only<"0", "1">>>, With<Recompute<Only<"1">>>>;
  /// One device with the same grains, of which the last may be short.
  using Alone = Plan<Model, Loss, Optimizer, Batch<batch, KeepLast>, Grain<grain>, Single>;

  /// The rule that the drawn numbers break, in the order of the checks; '-' if none.
  static constexpr Code broken() {
    constexpr const Graph& graph = graph_of<Model>;
    int pieces = 1;
    for (int n = 1; n < graph.node_count; ++n) pieces += clean_boundary(graph, n) ? 1 : 0;
    const bool interleaved = ordered && order == 2;
    if (stages * (interleaved ? 2 : 1) > pieces) return {'M', 3};
    if (interleaved && micro_batches % stages != 0) return {'S', 8};
    if (ordered && micro_batches < stages) return {'S', 2};
    if (batch < parts) return {'B', 2};
    const int micro_rows = (batch + parts - 1) / parts;
    const int rank_grains = (micro_rows + grain - 1) / grain * micro_batches * rounds;
    return replicas > 1 && !power_of_two(rank_grains) ? Code{'B', 4} : Code{};
  }

  static std::string text() {
    std::string words = "seed " + std::to_string(seed) + ':';
    for (int n = 0; n < graph_of<Model>.node_count; ++n)
      words += (graph_of<Model>.frozen(n) ? " frozen " : " ") + std::string{graph_of<Model>.leaf(n).spelled.view()};
    words += "; policy kind " + std::to_string(kind) + ", spread " + std::to_string(spread) + ' ' + std::string{type_name<What>().view()} +
             (keeps ? ", kept" : "") + " over " + std::to_string(replicas) + " replicas, " + std::to_string(stages) + " stages, " +
             std::to_string(micro_batches) + " micro-batches" + (ordered ? " in " + std::string{Named::rules().name.view()} : std::string{});
    return words + ", " + std::to_string(rounds) + " rounds, batch " + std::to_string(batch) + ", grain " + std::to_string(grain) + ", bucket " +
           std::to_string(bucket.value) + ", run again " + std::to_string(again) + ", " + std::string{type_name<Loss>().view()} + ", " +
           std::string{type_name<Optimizer>().view()};
  }
};

[[nodiscard]] inline std::string words_of(Code code) { return code.letter + std::to_string(code.number); }

template <int seed> void check_seed() {
  using D = Drawn<seed>;
  INFO(D::text());
  constexpr Diagnosis found = check<typename D::type>();
  static_assert(check<typename D::Alone>().ok());
  CHECK(words_of(found.code) == words_of(D::broken()));
  if constexpr (!found.ok()) {
    MESSAGE("refused: " << found.sentence().view());
  } else {
    MESSAGE("legal");
    static_assert(heddle::same_bits<typename D::type, typename D::Alone>());
    const Trained wanted = train_and_check<typename D::Alone, true>(D::batch, D::partial);
    const Trained got = train_and_check<typename D::type, true>(D::batch, D::partial);
    REQUIRE(wanted.parameters.size() > 1);
    for (const float loss : wanted.losses) CHECK(std::isfinite(loss));
    CHECK_FALSE(same_tensors(wanted.parameters.front()[0], wanted.parameters.back()[0]));
    CHECK(got.parameters[0].size() == static_cast<std::size_t>(D::replicas));
    check_same_training(got, wanted);
  }
}

/// Seeds First .. First + Count - 1, of which at least `legal` are plans that train.
template <int First, int Count, int legal> void check_seeds() {
  MESSAGE("seeds " << First << " to " << First + Count - 1);
  []<int... I>(std::integer_sequence<int, I...>) {
    constexpr int sound = (0 + ... + (check<typename Drawn<First + I>::type>().ok() ? 1 : 0));
    static_assert(sound >= legal, "draw more seeds: too few of these plans are legal");
    constexpr auto freezes_some = []<int seed>(std::integral_constant<int, seed>) {
      return graph_of<typename Drawn<seed>::Model>.frozen_elements() > 0 && check<typename Drawn<seed>::type>().ok();
    };
    constexpr int frozen = (0 + ... + (freezes_some(std::integral_constant<int, First + I>{}) ? 1 : 0));
    static_assert(legal == 0 || frozen > 0, "draw more seeds: no legal plan has frozen layers");
    MESSAGE(frozen << " legal plans with frozen layers");
    MESSAGE(sound << " legal plans");
    (check_seed<First + I>(), ...);
  }
  (std::make_integer_sequence<int, Count>{});
}

}  // namespace equivalence
