// SPDX-License-Identifier: MIT
#include "heddle/policy/pipeline.hpp"

#include <doctest/doctest.h>

#include <utility>

#include "heddle/policy/schedule/gpipe.hpp"
#include "heddle/policy/schedule/interleaved.hpp"
#include "heddle/policy/schedule/one_f_one_b.hpp"
#include "heddle/policy/schedule/zero_bubble_h1.hpp"
#include "policy/models.hpp"

using namespace heddle;
using tests::answer;
using tests::Chain;
using tests::Part1;
using tests::Part2;
using tests::Part3;

namespace {

template <class P> constexpr Diagnosis fault_of() { return answer<Chain, P>().fault; }

struct Stray {};

template <int> using Copy = Linear<8, 8>;
template <class Numbers> struct Many;
template <int... Numbers> struct Many<std::integer_sequence<int, Numbers...>> {
  using Model = Sequential<Copy<Numbers>...>;
  using Stages = Pipeline<Stage<Copy<Numbers>>...>;
};

}  // namespace

TEST_CASE("more stages than a compiler folds are refused with their number") {
  using ThreeHundred = Many<std::make_integer_sequence<int, 300>>;
  CHECK(answer<ThreeHundred::Model, ThreeHundred::Stages>().fault.sentence().view() ==
        "[heddle.M03] Pipeline has 300 stages, possible are 1 to 64. Fix: name stages, or Balanced<S>.");
}

TEST_CASE("three parts on two devices: the third goes back to device 0") {
  using Back = Pipeline<Stage<Part1, On<0>>, Stage<Part2, On<1>>, Stage<Part3, On<0>>>;
  constexpr Layout layout = answer<Chain, Back>();
  static_assert(layout.fault.ok());
  static_assert(layout.chunk_count == 3 && layout.roles() == 2 && layout.mesh.ranks() == 2);
  static_assert(layout.first_node[1] == 2 && layout.first_node[2] == 3 && layout.first_node[3] == 5);
  static_assert(layout.device_of_chunk[0] == 0 && layout.device_of_chunk[1] == 1 && layout.device_of_chunk[2] == 0);
  CHECK_FALSE(layout.order.named);  // sequential, one micro-batch
  CHECK(layout.micro_batches == 1);
}

TEST_CASE("without On a stage lives on the device of its number") {
  constexpr Layout layout = answer<Chain, Pipeline<Stage<Part1>, Stage<Part2>, Stage<Part3>>>();
  static_assert(layout.fault.ok() && layout.roles() == 3);
  for (int c = 0; c < 3; ++c) CHECK(layout.device_of_chunk[c] == c);
}

TEST_CASE("without an order micro-batches pass one at a time, with one each chunk has its limit") {
  constexpr Layout plain = answer<Chain, Pipeline<Balanced<3>, Microbatches<4>>>();
  constexpr Layout all = answer<Chain, Pipeline<Balanced<3>, GPipe, Microbatches<4>>>();
  constexpr Layout few = answer<Chain, Pipeline<Microbatches<4>, OneFOneB, Balanced<3>>>();
  static_assert(plain.fault.ok() && all.fault.ok() && few.fault.ok());
  static_assert(plain.micro_batches == 4 && all.micro_batches == 4 && few.micro_batches == 4);
  for (int c = 0; c < 3; ++c) {
    CHECK(plain.in_flight[c] == 1);
    CHECK(all.in_flight[c] == 4);
    CHECK(few.in_flight[c] == 3 - c);
  }
}

TEST_CASE("a layer in no stage is named") {
  constexpr Diagnosis last = fault_of<Pipeline<Stage<Part1>, Stage<Part2>>>();
  static_assert(last.code == Code{'S', 1});
  CHECK(last.words.view().find("layer 3 '2.0' Tanh of Chain is in no stage: the 2 stages hold 3 of 5 layers.") != std::string_view::npos);
  constexpr Diagnosis middle = fault_of<Pipeline<Stage<Part1>, Stage<Part3>>>();
  static_assert(middle.code == Code{'S', 1});
  CHECK(middle.words.view().find("layer 2 '1' Linear<6, 6> of Chain") != std::string_view::npos);
}

TEST_CASE("a layer that is placed twice, out of order or not in the model is refused") {
  static_assert(fault_of<Pipeline<Stage<Part1>, Stage<Part2>, Stage<Part2>, Stage<Part3>>>().code == Code{'S', 1});
  static_assert(fault_of<Pipeline<Stage<Part2>, Stage<Part1>, Stage<Part3>>>().code == Code{'S', 1});
  constexpr Diagnosis more = fault_of<Pipeline<Stage<Part1>, Stage<Part2>, Stage<Part3>, Stage<ReLU>>>();
  static_assert(more.code == Code{'S', 1});
  CHECK(more.words.view().find("Chain ends after its 5 layers") != std::string_view::npos);
}

TEST_CASE("devices without a stage and devices below 0 are refused") {
  constexpr Diagnosis gap = fault_of<Pipeline<Stage<Part1, On<0>>, Stage<Part2, On<2>>, Stage<Part3, On<0>>>>();
  static_assert(gap.code == Code{'M', 3});
  CHECK(gap.words.view().find("device 1 of 3 holds none of the 3 stages") != std::string_view::npos);
  static_assert(fault_of<Pipeline<Stage<Part1, On<1>>, Stage<Part2, On<2>>, Stage<Part3, On<1>>>>().code == Code{'M', 3});
  CHECK(fault_of<Pipeline<Stage<Part1, On<0>>, Stage<Part2, On<-1>>, Stage<Part3, On<0>>>>().code == Code{'M', 3});
}

TEST_CASE("a pipeline without stages, or with two ways to cut, is refused") {
  static_assert(fault_of<Pipeline<Balanced<1>>>().ok() && fault_of<Pipeline<Balanced<0>>>().code == Code{'M', 3});
  static_assert(fault_of<Pipeline<>>().code == Code{'M', 3});
  static_assert(fault_of<Pipeline<GPipe, Microbatches<4>>>().code == Code{'M', 3});
  CHECK(fault_of<Pipeline<Balanced<2>, Stage<Part1>>>().code == Code{'M', 3});
}

TEST_CASE("a stage that names two devices is refused") {
  CHECK(fault_of<Pipeline<Stage<Part1, On<0>, On<1>>, Stage<Part2>, Stage<Part3>>>().sentence().view() ==
        "[heddle.M12] stage 0 names 2 devices, but it lives on one. Fix: keep one of them.");
}

TEST_CASE("more stages than places to cut are refused with the most that fit") {
  constexpr Diagnosis found = fault_of<Pipeline<Balanced<6>>>();
  static_assert(found.code == Code{'M', 3});
  static_assert(fault_of<Pipeline<Balanced<5>>>().ok());
  static_assert(fault_of<Pipeline<Balanced<1000>, GPipe, Microbatches<1000>>>().code == Code{'M', 3});
  CHECK(found.words.view().find("ask for at most 5 stages") != std::string_view::npos);
  CHECK(fault_of<Pipeline<Balanced<0>>>().sentence().view() == "[heddle.M03] Balanced<0> leaves no stage. Fix: ask for at least 1.");
  CHECK(fault_of<Pipeline<Balanced<-1>, Interleaved<2>, Microbatches<2>>>().sentence().view() ==
        "[heddle.M03] Balanced<-1> leaves no stage. Fix: ask for at least 1.");
}

TEST_CASE("a part that is no part of a pipeline is named") {
  constexpr Diagnosis found = fault_of<Pipeline<Balanced<2>, Stray>>();
  static_assert(found.code == Code{'M', 4});
  CHECK(found.words.view().find("Stray is no part of a Pipeline") != std::string_view::npos);
}

TEST_CASE("an order with fewer micro-batches than stages is refused unless said") {
  constexpr Diagnosis found = fault_of<Pipeline<Balanced<4>, OneFOneB, Microbatches<2>>>();
  static_assert(found.code == Code{'S', 2});
  static_assert(found.numbers[0] == 4 && found.numbers[1] == 2);
  CHECK(found.words.view().find("1F1B over 4 stages has 2 micro-batches, so some stages are always idle.") != std::string_view::npos);
  CHECK(found.words.view().find("Microbatches<4> or more, or FewMicrobatches") != std::string_view::npos);
  static_assert(fault_of<Pipeline<Balanced<4>, OneFOneB, Microbatches<2>, FewMicrobatches>>().ok());
  static_assert(fault_of<Pipeline<Balanced<4>, OneFOneB, Microbatches<4>>>().ok());
  static_assert(fault_of<Pipeline<Balanced<4>, Microbatches<2>>>().ok());
  static_assert(fault_of<Pipeline<Balanced<4>, GPipe>>().code == Code{'S', 2});
  CHECK(fault_of<Pipeline<Balanced<2>, Microbatches<0>>>().code == Code{'S', 2});
}

TEST_CASE("batch 4 on eight ranks that do not split it: eight stages, one part of the batch") {
  struct Long : Sequential<Linear<4, 4>, Repeat<7, Linear<4, 4>>> {};
  constexpr Layout layout = answer<Long, Pipeline<Balanced<8>>>();
  static_assert(layout.fault.ok());
  static_assert(layout.mesh.ranks() == 8 && layout.batch_ranks() == 1);
  CHECK(layout.batch_ranks() * layout.micro_batches == 1);
}

TEST_CASE("a cut, an order or a number of micro-batches that stands twice is refused, never added up or overruled") {
  constexpr Diagnosis cuts = fault_of<Pipeline<Balanced<2>, Balanced<2>>>();
  constexpr Diagnosis counts = fault_of<Pipeline<Balanced<2>, GPipe, Microbatches<2>, Microbatches<8>>>();
  constexpr Diagnosis orders = fault_of<Pipeline<Balanced<2>, GPipe, OneFOneB, Microbatches<2>>>();
  static_assert(cuts.code == Code{'M', 4} && counts.code == Code{'M', 4} && orders.code == Code{'M', 4});
  CHECK(cuts.words.view().find("Pipeline names Balanced 2 times. Fix: keep one of them.") != std::string_view::npos);
  CHECK(fault_of<Pipeline<Stage<Part1>, Stage<Part2>, Stage<Part3>, Balanced<0>>>().code == Code{'M', 3});
}

TEST_CASE("Balanced<S> and Interleaved<V> make S V chunks, chunk c on device c mod S") {
  struct Long : Sequential<Linear<4, 4>, Repeat<7, Linear<4, 4>>> {};
  constexpr Layout layout = answer<Long, Pipeline<Balanced<4>, Interleaved<2>, Microbatches<4>>>();
  static_assert(layout.fault.ok() && layout.chunk_count == 8 && layout.roles() == 4 && layout.mesh.ranks() == 4);
  for (int c = 0; c < 8; ++c) {
    CHECK(layout.device_of_chunk[c] == c % 4);
    CHECK(layout.first_node[c] == c);
  }
  for (int d = 0; d < 4; ++d) CHECK(layout.turns[d].in_flight == Interleaved<2>::turns(d, 4).in_flight);
  constexpr Diagnosis more = answer<Long, Pipeline<Balanced<4>, Interleaved<3>, Microbatches<4>>>().fault;
  static_assert(more.code == Code{'M', 3});
  CHECK(more.words.view().find("a balanced cut into 12 needs 11 cuts") != std::string_view::npos);
}

TEST_CASE("explicit stages may be interleaved on any devices, as long as they come in turn") {
  using Turn = Pipeline<Stage<Linear<8, 6>, On<1>>, Stage<ReLU, On<0>>, Stage<Part2, On<1>>, Stage<Part3, On<0>>, Interleaved<2>, Microbatches<2>>;
  constexpr Layout layout = answer<Chain, Turn>();
  static_assert(layout.fault.ok() && layout.chunk_count == 4 && layout.roles() == 2);
  CHECK(layout.turns[1].in_flight == Interleaved<2>::turns(0, 2).in_flight);  // device 1 comes first
  CHECK(layout.turns[0].in_flight == Interleaved<2>::turns(1, 2).in_flight);
  using BackAndForth =
      Pipeline<Stage<Linear<8, 6>, On<0>>, Stage<ReLU, On<1>>, Stage<Part2, On<1>>, Stage<Part3, On<0>>, Interleaved<2>, Microbatches<2>>;
  constexpr Diagnosis found = fault_of<BackAndForth>();
  static_assert(found.code == Code{'M', 3});
  CHECK(found.words.view().find("Interleaved takes the 2 devices in turn, each with 2 stages, but the 4 stages lie otherwise.") !=
        std::string_view::npos);
  static_assert(fault_of<Pipeline<Stage<Part1>, Stage<Part2>, Stage<Part3>, Interleaved<2>, Microbatches<3>>>().code == Code{'M', 3});
  static_assert(fault_of<Pipeline<Stage<Part1>, Stage<Part2>, Stage<Part3>, Interleaved<1>, Microbatches<3>>>().ok());
  static_assert(fault_of<Pipeline<Balanced<2>, Interleaved<0>, Microbatches<2>>>().code == Code{'M', 3});
  CHECK(fault_of<Pipeline<Balanced<2>, Interleaved<-1>, Microbatches<2>>>().code == Code{'M', 3});
}

TEST_CASE("interleaved micro-batches come in whole groups of the devices") {
  constexpr Diagnosis found = fault_of<Pipeline<Balanced<2>, Interleaved<2>, Microbatches<5>>>();
  static_assert(found.code == Code{'S', 8});
  static_assert(found.numbers[0] == 2 && found.numbers[1] == 5 && found.numbers[2] == 6);
  CHECK(found.words.view().find("in groups of 2, one for each device, but 5 are no whole groups. Fix: name Microbatches<6>.") !=
        std::string_view::npos);
  static_assert(fault_of<Pipeline<Balanced<2>, Interleaved<2>>>().code == Code{'S', 8});  // one micro-batch
  static_assert(fault_of<Pipeline<Balanced<2>, Interleaved<2>, Microbatches<1>, FewMicrobatches>>().code == Code{'S', 8});
  static_assert(fault_of<Pipeline<Balanced<2>, Interleaved<2>, Microbatches<2>>>().ok());  // fewer than chunks, as many as devices
  CHECK(fault_of<Pipeline<Balanced<2>, Interleaved<1>, Microbatches<5>>>().ok());          // nothing is interleaved
}

TEST_CASE("ZB-H1 has one stage a device, on any devices, and as many micro-batches as stages") {
  constexpr Layout layout = answer<Chain, Pipeline<Stage<Part1, On<2>>, Stage<Part2, On<0>>, Stage<Part3, On<1>>, ZeroBubbleH1, Microbatches<4>>>();
  static_assert(layout.fault.ok());
  for (int c = 0; c < 3; ++c) CHECK(layout.turns[layout.device_of_chunk[c]].delayed == c);
  using Back = Pipeline<Stage<Part1, On<0>>, Stage<Part2, On<1>>, Stage<Part3, On<0>>, ZeroBubbleH1, Microbatches<4>>;
  static_assert(fault_of<Back>().code == Code{'M', 3});
  CHECK(fault_of<Back>().words.view().find("each with 1 stage, but the 3 stages lie otherwise.") != std::string_view::npos);
  static_assert(fault_of<Pipeline<Balanced<3>, ZeroBubbleH1, Microbatches<2>>>().code == Code{'S', 2});
  static_assert(fault_of<Pipeline<Balanced<3>, ZeroBubbleH1, Microbatches<2>, FewMicrobatches>>().ok());
  CHECK(fault_of<Pipeline<Balanced<3>, ZeroBubbleH1, Microbatches<3>>>().ok());
}

TEST_CASE("as many stages as there may be chunks are named, and not one more") {
  const auto named = []<int... I>(std::integer_sequence<int, I...>) {
    struct Long : Repeat<sizeof...(I), Linear<4, 4>> {};
    return answer<Long, Pipeline<Stage<Linear<4, 4>, On<0 * I>>...>>().fault;
  };
  CHECK(named(std::make_integer_sequence<int, Layout::most_chunks>{}).ok());
  CHECK(named(std::make_integer_sequence<int, Layout::most_chunks + 1>{}).code == Code{'M', 3});
}
