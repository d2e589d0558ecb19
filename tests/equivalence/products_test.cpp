// SPDX-License-Identifier: MIT
// Every product of stages and of what splits the batch, up to eight ranks: refused with the code of the rule it breaks, or trained to the bits of
// one device, with the bytes and the memory that it states.
#include <algorithm>
#include <array>
#include <set>
#include <tuple>

#include "equivalence/any_plan.hpp"
#include "heddle/plan/read/program_hash.hpp"

using namespace equivalence;

namespace {

template <int Number, class... Types> using Pick = std::tuple_element_t<static_cast<std::size_t>(Number), std::tuple<Types...>>;

struct Bend : Residual<Linear<6, 5>, GELU, Linear<5, 6, NoBias>> {};
struct Deep : Sequential<Linear<7, 6>, Named<"blocks", Repeat<5, Bend>>, Sigmoid, Linear<6, 5>> {};
constexpr int pieces = 8;  // between which Deep may be cut
using Head = Sequential<Linear<7, 6>>;
using Body = Named<"blocks", Repeat<5, Bend>>;
using Tail = Sequential<Sigmoid, Linear<6, 5>>;

// ---- One axis of the product: what lies where along the stages, and in which order micro-batches pass.

template <int M> struct Stages {
  using Micro = Microbatches<M>;
  template <int s>
  using type =
      Pick<s, Single, Pipeline<Balanced<2>, Micro>, Pipeline<Balanced<2>, GPipe, Micro>, Pipeline<Balanced<2>, OneFOneB, Micro>,
           Pipeline<Balanced<2>, Interleaved<2>, Micro>, Pipeline<Balanced<2>, ZeroBubbleH1, Micro>, Pipeline<Balanced<2>, Interleaved<4>, Micro>,
           Pipeline<Stage<Head, On<0>>, Stage<Body, On<1>>, Stage<Tail, On<0>>, OneFOneB, Micro>,
           Pipeline<Stage<Head, On<0>>, Stage<Body, On<1>>, Stage<Tail, On<0>>, GPipe, Micro>,
           Pipeline<Stage<Sequential<Head, Body>, On<1>>, Stage<Tail, On<0>>, ZeroBubbleH1, Micro>, Pipeline<Balanced<3>, OneFOneB, Micro>,
           Pipeline<Balanced<4>, Micro>, Pipeline<Balanced<4>, GPipe, Micro>, Pipeline<Balanced<4>, OneFOneB, Micro>,
           Pipeline<Balanced<4>, Interleaved<2>, Micro>, Pipeline<Balanced<4>, ZeroBubbleH1, Micro>, Pipeline<Balanced<8>, OneFOneB, Micro>,
           Pipeline<Balanced<3>, Interleaved<4>, Micro>>;
};
struct StageFacts {
  const char* words;
  int devices, chunks;
  bool ordered = true, in_turns = false;
};
constexpr StageFacts stages[] = {{"no stages", 1, 1, false},
                                 {"2 stages", 2, 2, false},
                                 {"2 stages, GPipe", 2, 2},
                                 {"2 stages, 1F1B", 2, 2},
                                 {"2 devices, interleaved twice", 2, 4, true, true},
                                 {"2 stages, ZB-H1", 2, 2},
                                 {"2 devices, interleaved four times", 2, 8, true, true},
                                 {"3 stages, the last back on device 0, 1F1B", 2, 3},
                                 {"3 stages, the last back on device 0, GPipe", 2, 3},
                                 {"2 stages on devices 1 and 0, ZB-H1", 2, 2},
                                 {"3 stages, 1F1B", 3, 3},
                                 {"4 stages", 4, 4, false},
                                 {"4 stages, GPipe", 4, 4},
                                 {"4 stages, 1F1B", 4, 4},
                                 {"4 devices, interleaved twice", 4, 8, true, true},
                                 {"4 stages, ZB-H1", 4, 4},
                                 {"8 stages, 1F1B", 8, 8},
                                 {"3 devices, interleaved four times", 3, 12, true, true}};

// ---- The other: what splits the batch, and what is sliced along it.

template <int w>
using Spread = Pick<w, Single, DataParallel<2>, DataParallel<3>, DataParallel<4>, DataParallel<8>, Sharded<2, OptimizerState>, Sharded<2, Gradients>,
                    Sharded<2, Parameters>, Sharded<4, OptimizerState>, Sharded<4, Gradients>, Sharded<4, Parameters>, Sharded<8, Parameters>,
                    Hybrid<Sharded<2, OptimizerState>, DataParallel<2>>, Hybrid<DataParallel<2>, Sharded<2, Gradients>>,
                    Hybrid<Sharded<2, Parameters>, DataParallel<2>>, Hybrid<Sharded<4, Parameters>, DataParallel<2>>, Sharded<3, Parameters>>;
struct SpreadFacts {
  const char* words;
  int ranks;
};
constexpr SpreadFacts spreads[] = {{"one replica", 1},
                                   {"2 replicas", 2},
                                   {"3 replicas", 3},
                                   {"4 replicas", 4},
                                   {"8 replicas", 8},
                                   {"2 slices of states", 2},
                                   {"2 slices of gradients", 2},
                                   {"2 slices of parameters", 2},
                                   {"4 slices of states", 4},
                                   {"4 slices of gradients", 4},
                                   {"4 slices of parameters", 4},
                                   {"8 slices of parameters", 8},
                                   {"2 slices of states x 2 replicas", 4},
                                   {"2 replicas x 2 slices of gradients", 4},
                                   {"2 slices of parameters x 2 replicas", 4},
                                   {"4 slices of parameters x 2 replicas", 8},
                                   {"3 slices of parameters", 3}};

constexpr int stage_count = std::size(stages), spread_count = std::size(spreads), products = stage_count * spread_count * 2;
constexpr int batch = 64, grain = 2, partial = 37;
constexpr double max_norm = 0.3;  // exceeded in some steps and not in others

/// The numbers of product i; those that do not tell products apart are drawn.
template <int i> struct Product {
  static constexpr int s = i % stage_count, w = i / stage_count % spread_count;
  static constexpr bool spread_inside = i >= stage_count * spread_count;
  static constexpr StageFacts stage = stages[s];
  static constexpr SpreadFacts spread = spreads[w];
  /// A nesting of one factor is the factor, and there are eight ranks.
  static constexpr bool wanted = stage.devices * spread.ranks <= 8 && !(spread_inside && (s == 0 || w == 0));

  static constexpr int drawn(int what, int choices) {
    return static_cast<int>(bits64(Seed{17}, static_cast<std::uint64_t>(what), static_cast<std::uint64_t>(i)) % static_cast<std::uint64_t>(choices));
  }
  static constexpr int micro_batches =
      s == 0 ? 1 : 1 << (drawn(0, 8) == 0 ? 0 : 1 + (stage.chunks > 2 ? 1 : drawn(1, 2)) + (stage.chunks > 4 ? 1 : 0));
  static constexpr int rounds = 1 + drawn(2, 2);
  static constexpr bool clips = drawn(3, 2) == 1;
  static constexpr Bytes bucket{64 << 3 * drawn(4, 4)};

  using Staged = typename Stages<micro_batches>::template type<s>;
  using Policy =
      std::conditional_t<s == 0, Spread<w>,
                         std::conditional_t<w == 0, Staged, std::conditional_t<spread_inside, Hybrid<Spread<w>, Staged>, Hybrid<Staged, Spread<w>>>>>;
  template <class... Options>
  using Of = Plan<Deep, CrossEntropy, Adam, Batch<batch, KeepLast>, Grain<grain>, Bucket<bucket>, Accumulate<rounds>, Policy, Options...>;
  using type = std::conditional_t<clips, Of<Clip<GlobalNorm>>, Of<>>;

  static constexpr Code broken_in_stages() {
    if (stage.chunks > pieces) return {'M', 3};
    if (stage.in_turns && micro_batches % stage.devices != 0) return {'S', 8};
    return stage.ordered && micro_batches < (stage.in_turns ? stage.devices : stage.chunks) ? Code{'S', 2} : Code{};
  }
  static constexpr Code broken_in_spread() { return w == spread_count - 1 ? Code{'M', 5} : Code{}; }
  /// The rule that the numbers break, in the order of the checks; '-' if none.
  static constexpr Code broken() {
    for (const Code code : {spread_inside ? broken_in_spread() : broken_in_stages(), spread_inside ? broken_in_stages() : broken_in_spread()})
      if (code.letter != '-') return code;
    const int parts = spread.ranks * rounds * micro_batches;
    if (batch < parts) return {'B', 2};
    const int micro_rows = (batch + parts - 1) / parts;
    const int rank_grains = (micro_rows + grain - 1) / grain * micro_batches * rounds;
    return spread.ranks > 1 && !power_of_two(rank_grains) ? Code{'B', 4} : Code{};
  }
};

/// What the loop over products reads.
struct Line {
  bool wanted = false;
  Code expected, found;
  AnyPlan plan;
  bool reproducible = false;
  int number = 0, micro_batches = 0, rounds = 0;
  bool clips = false;

  [[nodiscard]] std::string words() const {
    return std::string{stages[number % stage_count].words} + " of " + std::to_string(micro_batches) + " micro-batches, " +
           spreads[number / stage_count % spread_count].words + (number >= stage_count * spread_count ? " inside, " : " outside, ") +
           std::to_string(rounds) + " rounds" + (clips ? ", clipped" : "");
  }
};
template <int i> [[nodiscard]] Line line() {
  using P = Product<i>;
  Line out;
  out.wanted = P::wanted;
  out.number = i;
  if constexpr (P::wanted) {
    constexpr Diagnosis found = check<typename P::type>();
    out.expected = P::broken();
    out.found = found.code;
    out.micro_batches = P::micro_batches;
    out.rounds = P::rounds;
    out.clips = P::clips;
    if constexpr (found.ok()) {
      out.plan = any_plan<typename P::type>();
      out.reproducible = is_reproducible<typename P::type>;
    }
  }
  return out;
}
[[nodiscard]] std::vector<Line> lines() {
  return []<int... i>(std::integer_sequence<int, i...>) { return std::vector<Line>{line<i>()...}; }
  (std::make_integer_sequence<int, products>{});
}

template <class... Options> using Alone = Plan<Deep, CrossEntropy, Adam, Batch<batch, KeepLast>, Grain<grain>, Single, Options...>;

[[nodiscard]] const Work& work() {
  static const Work made = work_of<Deep, CrossEntropy, Adam>(2 * batch, max_norm);
  return made;
}
[[nodiscard]] const AnyRun& alone(bool clips) {
  static const AnyRun plain = train_any(any_plan<Alone<>>(), work(), batch, partial);
  static const AnyRun clipped = train_any(any_plan<Alone<Clip<GlobalNorm>>>(), work(), batch, partial);
  return clips ? clipped : plain;
}
[[nodiscard]] std::string words_of(Code code) { return code.letter + std::to_string(code.number); }

}  // namespace

TEST_CASE("what everything is compared with trains, and clips in some steps") {
  for (const bool clips : {false, true}) {
    for (const float number : alone(clips).numbers) CHECK(std::isfinite(number));
    for (std::size_t p = 0; p < alone(clips).held[0][0].size(); ++p)
      CHECK_FALSE(equal_bits(alone(clips).held.front()[0][p], alone(clips).held.back()[0][p]));
  }
  int above = 0;
  for (int step = 0; step < 4; ++step) above += alone(true).numbers[static_cast<std::size_t>(2 * step + 1)] > max_norm ? 1 : 0;
  CHECK(above > 0);
  CHECK(above < 4);
}

TEST_CASE("no legal product is refused, and every other by the code of its rule") {
  int legal = 0, false_refusals = 0;
  std::string codes;
  for (const Line& line : lines()) {
    if (!line.wanted) continue;
    CAPTURE(line.words());
    CHECK(words_of(line.found) == words_of(line.expected));
    const bool is_legal = line.expected.letter == '-';
    legal += is_legal ? 1 : 0;
    false_refusals += is_legal && line.found.letter != '-' ? 1 : 0;
    if (const std::string code = words_of(line.found) + ' '; !is_legal && codes.find(code) == std::string::npos) codes += code;
  }
  MESSAGE(legal << " legal products, " << false_refusals << " of them refused; the others by " << codes);
  CHECK(false_refusals == 0);
  for (const char* const code : {"B4", "M3", "M5", "S2", "S8"}) CHECK(codes.find(code) != std::string::npos);
}

TEST_CASE("at least 200 different plans have the bits of one device, the bytes and the memory that they state") {
  std::set<std::uint64_t> programs;
  for (const Line& line : lines()) {
    if (line.plan.training == nullptr) continue;
    CAPTURE(line.words());
    CHECK(line.reproducible);
    CHECK(check(*line.plan.training).ok());
    CHECK(check(*line.plan.evaluation).ok());
    check_same_run(train_any(line.plan, work(), batch, partial), alone(line.clips));
    programs.insert(program_hash(*line.plan.training));
  }
  MESSAGE(programs.size() << " different plans");
  CHECK(programs.size() >= 200);
}
