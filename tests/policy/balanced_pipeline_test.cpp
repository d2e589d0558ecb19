// SPDX-License-Identifier: MIT
#include "heddle/policy/balanced_pipeline.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <iterator>

#include "heddle/policy/pipeline.hpp"
#include "heddle/policy/schedule/gpipe.hpp"
#include "heddle/policy/schedule/interleaved.hpp"
#include "heddle/policy/schedule/one_f_one_b.hpp"
#include "heddle/policy/schedule/zero_bubble_h1.hpp"
#include "policy/models.hpp"

using namespace heddle;
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
