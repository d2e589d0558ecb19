// SPDX-License-Identifier: MIT
// Every product of stages and of what splits the batch, up to eight ranks: refused with the code of the rule it breaks, or trained to the bits of
// one device, with the bytes and the memory that it states.
#include <algorithm>
#include <array>
#include <set>
#include <tuple>

#include "equivalence/any_plan.hpp"
#include "heddle/plan/lowered.hpp"
#include "heddle/plan/read/program_hash.hpp"
#include "plan/difference.hpp"

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
struct Product {
  int number, s = number % stage_count, w = number / stage_count % spread_count;
  bool spread_inside = number >= stage_count * spread_count;
  StageFacts stage = stages[s];
  SpreadFacts spread = spreads[w];

  constexpr explicit Product(int i) : number(i) {}
  /// A nesting of one factor is the factor, and there are eight ranks.
  [[nodiscard]] constexpr bool wanted() const { return stage.devices * spread.ranks <= 8 && !(spread_inside && (s == 0 || w == 0)); }

  [[nodiscard]] constexpr int drawn(int what, int choices) const {
    return static_cast<int>(bits64(Seed{17}, static_cast<std::uint64_t>(what), static_cast<std::uint64_t>(number)) %
                            static_cast<std::uint64_t>(choices));
  }
  /// Micro-batches are 2 to this power.
  [[nodiscard]] constexpr int doublings() const {
    return s == 0 || drawn(0, 8) == 0 ? 0 : 1 + (stage.chunks > 2 ? 1 : drawn(1, 2)) + (stage.chunks > 4 ? 1 : 0);
  }
  static constexpr int most_doublings = 3;
  [[nodiscard]] constexpr int micro_batches() const { return 1 << doublings(); }
  [[nodiscard]] constexpr int rounds() const { return 1 + drawn(2, 2); }
  [[nodiscard]] constexpr bool clips() const { return drawn(3, 2) == 1; }
  [[nodiscard]] constexpr Bytes bucket() const { return Bytes{64 << 3 * drawn(4, 4)}; }

  [[nodiscard]] constexpr Code broken_in_stages() const {
    if (stage.chunks > pieces) return {'M', 3};
    if (stage.in_turns && micro_batches() % stage.devices != 0) return {'S', 8};
    return stage.ordered && micro_batches() < (stage.in_turns ? stage.devices : stage.chunks) ? Code{'S', 2} : Code{};
  }
  [[nodiscard]] constexpr Code broken_in_spread() const { return w == spread_count - 1 ? Code{'M', 5} : Code{}; }
  /// The rule that the numbers break, in the order of the checks; '-' if none.
  [[nodiscard]] constexpr Code broken() const {
    for (const Code code : {spread_inside ? broken_in_spread() : broken_in_stages(), spread_inside ? broken_in_stages() : broken_in_spread()})
      if (code.letter != '-') return code;
    const int parts = spread.ranks * rounds() * micro_batches();
    if (batch < parts) return {'B', 2};
    const int micro_rows = (batch + parts - 1) / parts;
    const int rank_grains = (micro_rows + grain - 1) / grain * micro_batches() * rounds();
    return spread.ranks > 1 && !power_of_two(rank_grains) ? Code{'B', 4} : Code{};
  }
  [[nodiscard]] std::string words() const {
    return std::string{stage.words} + " of " + std::to_string(micro_batches()) + " micro-batches, " + spread.words +
           (spread_inside ? " inside, " : " outside, ") + std::to_string(rounds()) + " rounds" + (clips() ? ", clipped" : "");
  }
};

// ---- A product as data: what both policies answer, the inner one first. So hundreds of them cost nothing while the test is compiled.

using Answer = void (*)(const Graph&, Layout&);
template <class Policy> constexpr Answer answer_of = [](const Graph& graph, Layout& layout) { Policy::answer(graph, layout); };
template <int M> [[nodiscard]] Answer staged(int s) {
  return [&]<int... i>(std::integer_sequence<int, i...>) {
    const Answer all[] = {answer_of<typename Stages<M>::template type<i>>...};
    return all[s];
  }
  (std::make_integer_sequence<int, stage_count>{});
}
[[nodiscard]] Answer staged(const Product& p) {
  static_assert(Product::most_doublings == 3);
  constexpr Answer (*by_doublings[])(int) = {staged<1>, staged<2>, staged<4>, staged<8>};
  return by_doublings[p.doublings()](p.s);
}
[[nodiscard]] Answer spread(int w) {
  return [&]<int... i>(std::integer_sequence<int, i...>) {
    const Answer all[] = {answer_of<Spread<i>>...};
    return all[w];
  }
  (std::make_integer_sequence<int, spread_count>{});
}
[[nodiscard]] LoweringRequest request_of_product(const Product& p) {
  const Graph& graph = graph_of<Deep>;
  LoweringRequest request{graph, Layout{graph}, {}};
  request.layout.loss = split_of_loss<CrossEntropy>(graph.output());
  if (p.spread_inside) spread(p.w)(graph, request.layout);
  if (p.s > 0) staged(p)(graph, request.layout);
  if (!p.spread_inside && p.w > 0) spread(p.w)(graph, request.layout);
  const bool regrouped = request.layout.fault.ok() && regroups_a_gradient(graph, request.layout);
  request.batch = divide_batch(request.layout, {batch, Remedy::keep, p.rounds(), grain, false, regrouped});
  request.bucket_bytes = p.bucket();
  request.target_features = CrossEntropy::target_features(graph.output());
  request.states = Adam::states;
  request.clips = p.clips();
  return request;
}

// ---- The same as a type. Some of them are lowered both ways.

template <int i> struct ProductType {
  static constexpr Product p{i};
  using Staged = typename Stages<p.micro_batches()>::template type<p.s>;
  using Nested = std::conditional_t<p.spread_inside, Hybrid<Spread<p.w>, Staged>, Hybrid<Staged, Spread<p.w>>>;
  using Policy = std::conditional_t<p.s == 0, Spread<p.w>, std::conditional_t<p.w == 0, Staged, Nested>>;
  template <class... Options>
  using Of = Plan<Deep, CrossEntropy, Adam, Batch<batch, KeepLast>, Grain<grain>, Bucket<p.bucket()>, Accumulate<p.rounds()>, Policy, Options...>;
  using type = std::conditional_t<p.clips(), Of<Clip<GlobalNorm>>, Of<>>;
};

/// A product, and what the lowering makes of it.
struct Line {
  Product product;
  LoweredPlan lowered;
  Diagnosis found = check(lowered);

  explicit Line(int i) : product(i), lowered(request_of_product(product)) {}
  [[nodiscard]] bool reproducible() const { return lowered.training().batch.tree && !cuts_the_norm(); }
  [[nodiscard]] bool cuts_the_norm() const { return product.clips() && cuts_a_unit(lowered.request().graph, lowered.request().layout); }
};
[[nodiscard]] const std::vector<Line>& lines() {
  static const std::vector<Line> wanted = [] {
    std::vector<Line> all;
    for (int i = 0; i < products; ++i)
      if (Product{i}.wanted()) all.emplace_back(i);
    return all;
  }();
  return wanted;
}
/// What the type of product i asks is what the data asks: refused alike or lowered alike while the test runs.
void same_request(const Line& line, const LoweringRequest& of_type) {
  CAPTURE(line.product.words());
  const LoweredPlan lowered{of_type};
  const Diagnosis found = check(lowered);
  CHECK(found.sentence().view() == line.found.sentence().view());
  if (!found.ok()) return;
  const bool cuts_the_norm = lowered.training().clips && cuts_a_unit(of_type.graph, of_type.layout);
  CHECK(line.reproducible() == (lowered.training().batch.tree && !cuts_the_norm));
  CHECK(tests::Difference(lowered.training(), line.lowered.training()).words() == "");
  CHECK(tests::Difference(lowered.evaluation(), line.lowered.evaluation()).words() == "");
}
/// The compiler refuses or lowers it alike as well.
template <int i> void same_by_compiler() {
  using ThePlan = typename ProductType<i>::type;
  const Line line{i};
  CAPTURE(line.product.words());
  constexpr Diagnosis found = check<ThePlan>();
  CHECK(found.sentence().view() == line.found.sentence().view());
  if constexpr (found.ok()) {
    CHECK(line.reproducible() == is_reproducible<ThePlan>);
    CHECK(tests::Difference(ThePlan::training, line.lowered.training()).words() == "");
    CHECK(tests::Difference(ThePlan::evaluation, line.lowered.evaluation()).words() == "");
  }
}

/// Of every third the compiler is asked, which takes it most of a second for each.
template <int at, int i> void same_as_type() {
  same_request(Line{i}, request_of<plan_room::RequestOf<typename ProductType<i>::type>>());
  if constexpr (at % 3 == 0) same_by_compiler<i>();
}

/// Two dozen of them: every kind of stages and every kind of spread stands in one at least.
constexpr int as_type_count = 24;
constexpr std::array<int, as_type_count> as_types = [] {
  std::array<int, as_type_count> numbers{};
  bool staged_already[stage_count]{}, spread_already[spread_count]{};
  int count = 0;
  for (int turn = 0; turn < 2; ++turn)  // first those in which both are new
    for (int k = 0; k < products && count < as_type_count; ++k) {
      const Product p{(k * 59 + 7) % products};
      if (!p.wanted()) continue;
      const bool some = !staged_already[p.s] || !spread_already[p.w], both = !staged_already[p.s] && !spread_already[p.w];
      if (turn == 0 ? !both : !some) continue;
      staged_already[p.s] = spread_already[p.w] = true;
      numbers[static_cast<std::size_t>(count++)] = p.number;
    }
  for (int i = count; i < as_type_count; ++i) numbers[static_cast<std::size_t>(i)] = numbers[0];
  for (const bool* all : {staged_already, spread_already})
    for (int k = 0; k < (all == staged_already ? stage_count : spread_count); ++k)
      if (!all[k]) numbers[0] = products;  // so that the next line says so
  return numbers;
}();
static_assert(as_types[0] < products, "a kind of stages or of spread stands in no type");

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
    CAPTURE(line.product.words());
    CHECK(words_of(line.found.code) == words_of(line.product.broken()));
    const bool is_legal = line.product.broken().letter == '-';
    legal += is_legal ? 1 : 0;
    false_refusals += is_legal && !line.found.ok() ? 1 : 0;
    if (const std::string code = words_of(line.found.code) + ' '; !is_legal && codes.find(code) == std::string::npos) codes += code;
  }
  MESSAGE(legal << " legal products, " << false_refusals << " of them refused; the others by " << codes);
  CHECK(false_refusals == 0);
  for (const char* const code : {"B4", "M3", "M5", "S2", "S8"}) CHECK(codes.find(code) != std::string::npos);
}

TEST_CASE("a product that is a type is the product that is data: each kind of stages and of what splits the batch, at either place") {
  [&]<int... i>(std::integer_sequence<int, i...>) { (same_as_type<i, as_types[i]>(), ...); }
  (std::make_integer_sequence<int, as_type_count>{});
}

TEST_CASE("at least 200 different plans have the bits of one device, the bytes and the memory that they state") {
  std::set<std::uint64_t> programs;
  for (const Line& line : lines()) {
    if (!line.found.ok()) continue;
    CAPTURE(line.product.words());
    CHECK(line.reproducible());
    check_same_run(train_any(any_plan(line.lowered), work(), batch, partial), alone(line.product.clips()));
    programs.insert(program_hash(line.lowered.training()));
  }
  MESSAGE(programs.size() << " different plans");
  CHECK(programs.size() >= 200);
}
