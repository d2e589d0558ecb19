// SPDX-License-Identifier: MIT
#include "heddle/policy/pipeline.hpp"

#include <doctest/doctest.h>

#include "heddle/policy/schedule/gpipe.hpp"
#include "heddle/policy/schedule/one_f_one_b.hpp"
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

}  // namespace

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
  CHECK(last.text.view().find("layer 3 '2.0' Tanh of Chain is in no stage: the 2 stages hold 3 of 5 layers.") != std::string_view::npos);
  constexpr Diagnosis middle = fault_of<Pipeline<Stage<Part1>, Stage<Part3>>>();
  static_assert(middle.code == Code{'S', 1});
  CHECK(middle.text.view().find("layer 2 '1' Linear<6, 6> of Chain") != std::string_view::npos);
}

TEST_CASE("a layer that is placed twice, out of order or not in the model is refused") {
  static_assert(fault_of<Pipeline<Stage<Part1>, Stage<Part2>, Stage<Part2>, Stage<Part3>>>().code == Code{'S', 1});
  static_assert(fault_of<Pipeline<Stage<Part2>, Stage<Part1>, Stage<Part3>>>().code == Code{'S', 1});
  constexpr Diagnosis more = fault_of<Pipeline<Stage<Part1>, Stage<Part2>, Stage<Part3>, Stage<ReLU>>>();
  static_assert(more.code == Code{'S', 1});
  CHECK(more.text.view().find("Chain ends after its 5 layers") != std::string_view::npos);
}

TEST_CASE("devices without a stage and devices below 0 are refused") {
  constexpr Diagnosis gap = fault_of<Pipeline<Stage<Part1, On<0>>, Stage<Part2, On<2>>, Stage<Part3, On<0>>>>();
  static_assert(gap.code == Code{'M', 3});
  CHECK(gap.text.view().find("device 1 of 3 holds none of the 3 stages") != std::string_view::npos);
  static_assert(fault_of<Pipeline<Stage<Part1, On<1>>, Stage<Part2, On<2>>, Stage<Part3, On<1>>>>().code == Code{'M', 3});
  CHECK(fault_of<Pipeline<Stage<Part1, On<0>>, Stage<Part2, On<-1>>, Stage<Part3, On<0>>>>().code == Code{'M', 3});
}

TEST_CASE("a pipeline without stages, or with two ways to cut, is refused") {
  static_assert(fault_of<Pipeline<>>().code == Code{'M', 3});
  static_assert(fault_of<Pipeline<GPipe, Microbatches<4>>>().code == Code{'M', 3});
  CHECK(fault_of<Pipeline<Balanced<2>, Stage<Part1>>>().code == Code{'M', 3});
}

TEST_CASE("more stages than places to cut are refused with the most that fit") {
  constexpr Diagnosis found = fault_of<Pipeline<Balanced<6>>>();
  static_assert(found.code == Code{'M', 3});
  static_assert(fault_of<Pipeline<Balanced<5>>>().ok());
  static_assert(fault_of<Pipeline<Balanced<1000>, GPipe, Microbatches<1000>>>().code == Code{'M', 3});
  CHECK(found.text.view().find("ask for at most 5 stages") != std::string_view::npos);
}

TEST_CASE("a part that is no part of a pipeline is named") {
  constexpr Diagnosis found = fault_of<Pipeline<Balanced<2>, Stray>>();
  static_assert(found.code == Code{'M', 4});
  CHECK(found.text.view().find("Stray is no part of a Pipeline") != std::string_view::npos);
}

TEST_CASE("an order with fewer micro-batches than stages is refused unless said") {
  constexpr Diagnosis found = fault_of<Pipeline<Balanced<4>, OneFOneB, Microbatches<2>>>();
  static_assert(found.code == Code{'S', 2});
  static_assert(found.numbers[0] == 4 && found.numbers[1] == 2);
  CHECK(found.text.view().find("1F1B over 4 stages has 2 micro-batches, so some stages are always idle.") != std::string_view::npos);
  CHECK(found.text.view().find("Microbatches<4> or more, or FewMicrobatches") != std::string_view::npos);
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
  CHECK(cuts.text.view().find("Pipeline names Balanced 2 times. Fix: keep one of them.") != std::string_view::npos);
  CHECK(fault_of<Pipeline<Stage<Part1>, Stage<Part2>, Stage<Part3>, Balanced<0>>>().code == Code{'M', 3});
}
