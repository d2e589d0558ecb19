// SPDX-License-Identifier: MIT
#include "heddle/policy/balanced_pipeline.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <iterator>
#include <string>

#include "heddle/policy/pipeline.hpp"
#include "heddle/policy/schedule/gpipe.hpp"
#include "heddle/policy/schedule/interleaved.hpp"
#include "heddle/policy/schedule/one_f_one_b.hpp"
#include "heddle/policy/schedule/zero_bubble_h1.hpp"
#include "policy/models.hpp"

using namespace heddle;
using extending::CutBefore;
using tests::answer;

namespace {

struct Blocks : Repeat<8, Sequential<Linear<8, 8>, ReLU>> {};

Layout asked(const BalancedPipeline& numbers) {
  Layout layout{graph_of<Blocks>};
  numbers.answer(graph_of<Blocks>, layout);
  return layout;
}

template <class Values> bool equal(const Values& a, const Values& b) { return std::equal(std::begin(a), std::end(a), std::begin(b)); }

void check_alike(const Layout& a, const Layout& b) {
  CHECK(a.fault.sentence().view() == b.fault.sentence().view());
  CHECK(a.micro_batches == b.micro_batches);
  CHECK(a.chunk_count == b.chunk_count);
  CHECK(a.balanced == b.balanced);
  CHECK(a.roles() == b.roles());
  CHECK(equal(a.first_node, b.first_node));
  CHECK(equal(a.device_of_chunk, b.device_of_chunk));
  CHECK(equal(a.in_flight, b.in_flight));
  CHECK(std::equal(std::begin(a.turns), std::end(a.turns), std::begin(b.turns),
                   [](const Turns& x, const Turns& y) { return x.in_flight == y.in_flight && x.delayed == y.delayed; }));
  CHECK(a.order.name.view() == b.order.name.view());
  CHECK(a.order.splits_backward == b.order.splits_backward);
}

}  // namespace

TEST_CASE("numbers ask what the types ask, under every order") {
  check_alike(asked({4, order_as_data<OneFOneB>(), 8}), answer<Blocks, Pipeline<Balanced<4>, OneFOneB, Microbatches<8>>>());
  check_alike(asked({4, order_as_data<GPipe>(), 8}), answer<Blocks, Pipeline<Balanced<4>, GPipe, Microbatches<8>>>());
  check_alike(asked({4, order_as_data<ZeroBubbleH1>(), 8}), answer<Blocks, Pipeline<Balanced<4>, ZeroBubbleH1, Microbatches<8>>>());
  check_alike(asked({4, order_as_data<Interleaved<2>>(), 8}), answer<Blocks, Pipeline<Balanced<4>, Interleaved<2>, Microbatches<8>>>());
}

TEST_CASE("numbers are refused in the words of the types") {
  check_alike(asked({0, order_as_data<OneFOneB>(), 8}), answer<Blocks, Pipeline<Balanced<0>, OneFOneB, Microbatches<8>>>());
  check_alike(asked({40, order_as_data<OneFOneB>(), 80}), answer<Blocks, Pipeline<Balanced<40>, OneFOneB, Microbatches<80>>>());
  check_alike(asked({4, order_as_data<OneFOneB>(), 2}), answer<Blocks, Pipeline<Balanced<4>, OneFOneB, Microbatches<2>>>());
  check_alike(asked({4, order_as_data<OneFOneB>(), 0}), answer<Blocks, Pipeline<Balanced<4>, OneFOneB, Microbatches<0>>>());
  check_alike(asked({4, order_as_data<Interleaved<2>>(), 6}), answer<Blocks, Pipeline<Balanced<4>, Interleaved<2>, Microbatches<6>>>());
  check_alike(asked({4, order_as_data<Interleaved<9>>(), 8}), answer<Blocks, Pipeline<Balanced<4>, Interleaved<9>, Microbatches<8>>>());
  CHECK(asked({4, order_as_data<OneFOneB>(), 2}).fault.code.number == 2);
}

TEST_CASE("layers before which it is cut are those of the type, one chunk a device or several in turn") {
  constexpr int three[] = {2, 6, 14};
  const Layout one = asked({4, order_as_data<OneFOneB>(), 8, three, 3});
  check_alike(one, answer<Blocks, Pipeline<CutBefore<2, 6, 14>, OneFOneB, Microbatches<8>>>());
  CHECK(one.fault.ok());
  CHECK(one.first_node[2] == 6);
  CHECK(one.first_node[4] == 16);
  CHECK(one.roles() == 4);
  CHECK_FALSE(one.balanced);  // no other cut takes its place
  const Layout turns = asked({2, order_as_data<Interleaved<2>>(), 8, three, 3});
  check_alike(turns, answer<Blocks, Pipeline<CutBefore<2, 6, 14>, Interleaved<2>, Microbatches<8>>>());
  CHECK(turns.fault.ok());
  CHECK(turns.roles() == 2);
  CHECK(turns.device_of_chunk[2] == 0);
}

TEST_CASE("a cut that cannot be is refused with the number that is wrong") {
  const auto sentence = [](const Layout& layout) { return std::string{layout.fault.sentence().view()}; };
  constexpr auto range = ", and each stage has some. Fix: name rising numbers from 1 to 15.";
  CHECK(sentence(answer<Blocks, Pipeline<CutBefore<2, 16>, OneFOneB, Microbatches<8>>>()) ==
        std::string{"[heddle.M03] CutBefore names layer 16 as the first of stage 2, but Blocks has layers 0 to 15"} + range);
  CHECK(sentence(answer<Blocks, Pipeline<CutBefore<6, 6>, OneFOneB, Microbatches<8>>>()) ==
        std::string{"[heddle.M03] CutBefore names layer 6 as the first of stage 2, but Blocks has layers 0 to 15"} + range);
  CHECK(sentence(answer<Blocks, Pipeline<CutBefore<0>, OneFOneB, Microbatches<8>>>()).find("CutBefore names layer 0") != std::string::npos);
  CHECK(sentence(answer<Blocks, Pipeline<CutBefore<-1>, OneFOneB, Microbatches<8>>>()).find("CutBefore names layer -1") != std::string::npos);
  CHECK(sentence(answer<Blocks, Pipeline<CutBefore<4, 8>, Interleaved<2>, Microbatches<8>>>()) ==
        "[heddle.M03] CutBefore leaves 3 stages, but they are whole rounds of 2 a device, and at most 64. Fix: name a layer for each stage but the "
        "first.");
  CHECK(sentence(answer<Blocks, Pipeline<CutBefore<4>, Balanced<2>, OneFOneB, Microbatches<8>>>()) ==
        "[heddle.M03] Pipeline names CutBefore and stages or Balanced as well. Fix: keep one of them.");
  CHECK(sentence(answer<Blocks, Pipeline<CutBefore<4>, CutBefore<8>, OneFOneB, Microbatches<8>>>()) ==
        "[heddle.M04] Pipeline names CutBefore 2 times. Fix: keep one of them.");
  constexpr int three[] = {2, 6, 14};
  CHECK(sentence(asked({4, order_as_data<OneFOneB>(), 2, three, 3})).find("[heddle.S02]") == 0);
}
