// SPDX-License-Identifier: MIT
#include "heddle/run/profile.hpp"

#include <doctest/doctest.h>

#include "heddle/backend/cpu_threads.hpp"
#include "plan/plans.hpp"

using namespace heddle;
using namespace heddle::tests;

namespace {

std::vector<Seconds> seconds(const std::vector<int>& numbers) {
  std::vector<Seconds> out;
  for (const int n : numbers) out.push_back(Seconds{static_cast<double>(n)});
  return out;
}

/// The slowest stage of the best of all cuts, tried one by one.
double best_of_all(const Graph& graph, const std::vector<Seconds>& layers, int first, int stages) {
  double here = 0;
  if (stages == 1) {
    for (int n = first; n < graph.node_count; ++n) here += layers[static_cast<std::size_t>(n)].value;
    return first < graph.node_count ? here : 1e300;
  }
  double best = 1e300;
  for (int end = first + 1; end < graph.node_count; ++end) {
    here += layers[static_cast<std::size_t>(end - 1)].value;
    if (clean_boundary(graph, end)) best = std::min(best, std::max(here, best_of_all(graph, layers, end, stages - 1)));
  }
  return best;
}

/// An entry of the program ran for so many seconds on a rank.
void show(Profile& profile, const Program& program, int rank, int entry, int length) {
  Observation seen{Rank{rank}, &program, 0, entry, 0, 1, {}, {}};
  seen.end = seen.start + std::chrono::seconds{length};
  profile.finished(seen);
}

}  // namespace

TEST_CASE("the proposed cut is the best of all cuts, for any times") {
  constexpr const Graph& chain = graph_of<Chain>;
  constexpr const Graph& skips = graph_of<Skips>;
  std::uint64_t state = 1;
  for (int round = 0; round < 50; ++round) {
    std::vector<int> numbers;
    for (int n = 0; n < skips.node_count; ++n)
      numbers.push_back(static_cast<int>((state = state * 6364136223846793005U + 1442695040888963407U) >> 33) % 20);
    const auto times = seconds(numbers), of_chain = std::vector<Seconds>(times.begin(), times.begin() + chain.node_count);
    for (int stages = 1; stages <= 5; ++stages) {
      const MeasuredCut cut = best_cut(chain, of_chain, stages);
      CHECK(cut.slowest().value == best_of_all(chain, of_chain, 0, stages));  // sums of whole numbers: exact
      CHECK(cut.stages.size() == static_cast<std::size_t>(stages));
      CHECK(cut.first_node.front() == 0);
      CHECK(cut.first_node.back() == chain.node_count);
      CHECK(best_cut(skips, times, stages).slowest().value == best_of_all(skips, times, 0, stages));
    }
  }
}

TEST_CASE("times like the static operations give a cut as good as Balanced") {
  constexpr const Graph& graph = graph_of<Skips>;
  std::vector<Seconds> times;
  for (int n = 0; n < graph.node_count; ++n) times.push_back(Seconds{static_cast<double>(graph.flops(n))});
  using Cut = Trained<Skips, Pipeline<Balanced<3>, OneFOneB, Microbatches<4>>>;
  const MeasuredCut balanced = measure_cut({Cut::training.first_node, Cut::training.first_node + 4}, times);
  CHECK(best_cut(graph, times, 3).slowest() == balanced.slowest());
}

TEST_CASE("the share that stages wait is 1 - mean / slowest") {
  const MeasuredCut cut = measure_cut({0, 1, 3}, seconds({3, 0, 1}));
  CHECK(cut.slowest() == Seconds{3});
  CHECK(cut.waiting() == doctest::Approx(1.0 / 3));
  CHECK(measure_cut({0, 1, 2}, seconds({0, 0})).waiting() == 0);
}

TEST_CASE("a device that has several stages takes the time of all of them") {
  const MeasuredCut back = measure_cut({0, 1, 2, 3}, seconds({1, 4, 1}), {0, 1, 0});
  CHECK(back.stages == seconds({1, 4, 1}));
  CHECK(back.devices == seconds({2, 4}));
  CHECK(back.slowest() == Seconds{4});
  CHECK(back.waiting() == 0.25);  // by stage it would be 0.5
  CHECK(measure_cut({0, 1, 2, 3, 4}, seconds({3, 1, 1, 3}), {0, 1, 0, 1}).waiting() == 0);

  using Part = Sequential<Linear<64, 64>>;
  struct Model : Sequential<Part, Part, Part> {};
  using P = Trained<Model, Pipeline<Stage<Part, On<0>>, Stage<Part, On<1>>, Stage<Part, On<0>>, OneFOneB, Microbatches<4>>>;
  Profile profile{P::training};
  for (int c = 0; c < 3; ++c)
    for (int e = P::training.forward_bodies[c].begin; e < P::training.forward_bodies[c].end; ++e)
      show(profile, P::training, P::training.device_of_chunk[c], e, c == 1 ? 4 : 1);
  CHECK(profile.present_cut().stages == seconds({1, 4, 1}));
  CHECK(profile.present_cut().waiting() == 0.25);
}

TEST_CASE("more stages than places to cut are refused with the most that fit") {
  const auto times = seconds({1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1});
  CHECK_THROWS_WITH_AS(
      (void)best_cut(graph_of<Skips>, times, 6),
      "[heddle.M03] Skips cannot be cut into 6 stages: it has 4 places to cut (never through a skip connection). Fix: ask for 1 to 5 "
      "stages.",
      Error);
  CHECK_THROWS_AS((void)best_cut(graph_of<Skips>, times, 0), Error);
}

TEST_CASE("another number of seconds than layers is refused, and so is what is no cut") {
  for (const int count : {0, 10, 12}) {
    const std::string words =
        "[heddle.M22] a cut has 11 layers, but " + std::to_string(count) + " seconds are given. Fix: give one number for each layer of the model.";
    const std::vector<Seconds> times(static_cast<std::size_t>(count), Seconds{1});
    CHECK_THROWS_WITH_AS((void)best_cut(graph_of<Skips>, times, 2), words.c_str(), Error);
    CHECK_THROWS_WITH_AS((void)measure_cut({0, 4, 11}, times), words.c_str(), Error);
  }
  const std::vector<std::vector<int>> none{{}, {0}, {1, 3}, {0, 2, 1, 3}};
  for (const std::vector<int>& first : none)
    CHECK_THROWS_WITH_AS(
        (void)measure_cut(first, seconds({1, 1, 1})),
        "[heddle.M03] a cut does not name where its stages begin. Fix: begin with layer 0, go up, and end with the number of layers.", Error);
  for (const std::vector<int>& devices : {std::vector<int>{0}, std::vector<int>{0, 1, 0}, std::vector<int>{0, -1}})
    CHECK_THROWS_AS((void)measure_cut({0, 1, 3}, seconds({1, 1, 1}), devices), Error);
}

TEST_CASE("a profile adds up entries of layers over ranks, and nothing else") {
  using P = Trained<Chain, DataParallel<2>>;
  const Program& program = P::training;
  Profile profile{program};
  int layers = 0;
  for (int e = program.forward_bodies[0].begin; e < program.forward_bodies[0].end; ++e) {
    show(profile, program, 0, e, 2);
    show(profile, program, 1, e, 3);
    layers += program.entries[e].what == BodyOp::leaf_forward ? 1 : 0;
  }
  show(profile, program, 0, -1, 100);
  REQUIRE(layers == 5);
  for (const Seconds& s : profile.layers()) CHECK(s == Seconds{5});
  CHECK(profile.present_cut().stages == std::vector<Seconds>{Seconds{25}});
  CHECK(profile.proposed_cut(5).waiting() == 0);
}

TEST_CASE("steps of another plan than that of the profile are not counted") {
  using Alone = Plan<Chain, CrossEntropy, SGD, Batch<8>, Single>;
  using Two = Plan<Chain, CrossEntropy, SGD, Batch<8>, DataParallel<2>>;
  Profile profile{Alone::training};
  for (int e = Two::training.forward_bodies[0].begin; e < Two::training.forward_bodies[0].end; ++e) show(profile, Two::training, 1, e, 3);
  for (const Seconds& layer : profile.layers()) CHECK(layer.value == 0);
}

TEST_CASE("what runs again is in the time of its layer, and told apart") {
  struct Inner : Sequential<Linear<6, 6>, GELU, Linear<6, 6>> {};
  struct Deep : Sequential<Linear<8, 6>, Repeat<2, Inner>, Linear<6, 3>> {};
  using P = Trained<Deep, Single, Recompute<EveryBlock>>;
  constexpr const Program& program = P::training;
  Profile profile{program};
  for (int i = program.lists[0].begin; i < program.lists[0].end; ++i) {
    if (!computes(program.instructions[i].op)) continue;
    const IndexRange body = program.body(program.instructions[i]);
    for (int e = body.begin; e < body.end; ++e) {
      Observation seen{Rank{0}, &program, i, e, 0, 1, {}, {}};
      seen.end = seen.start + std::chrono::seconds{1};
      profile.finished(seen);
    }
  }
  // Of a block the first product and GELU run again: its last product is the input of what follows.
  CHECK(profile.run_again() == seconds({0, 1, 1, 0, 1, 1, 0, 0}));
  CHECK(profile.layers() == seconds({2, 3, 3, 2, 3, 3, 2, 2}));
}

TEST_CASE("every layer of a step that was watched has taken some time, on threads") {
  using P = Trained<Mnist, Pipeline<Balanced<2>, OneFOneB, Microbatches<2>>>;
  Profile profile{P::training};
  Trainer<P, CpuThreads> trainer{{.learning_rate = 1e-3}, Seed{1}};
  const std::vector<float> inputs(16 * 784, 0.5F);
  const std::vector<std::int32_t> labels(16, 3);
  trainer.observe(&profile);
  trainer.step(examples(std::span<const float>{inputs}, std::span<const std::int32_t>{labels}, 784));
  CHECK(profile.layers().size() == 3);
  CHECK(profile.layers()[0].value > 0);  // a product of 8 x 784 x 50 is longer than a tick of the clock
  CHECK(profile.present_cut().first_node == std::vector<int>{0, 1, 3});
}
