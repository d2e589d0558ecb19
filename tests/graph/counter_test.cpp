// SPDX-License-Identifier: MIT
#include "heddle/graph/counter.hpp"

#include <doctest/doctest.h>

#include "heddle/graph/layers/linear.hpp"
#include "heddle/graph/layers/relu.hpp"
#include "heddle/graph/repeat.hpp"
#include "heddle/graph/residual.hpp"
#include "heddle/graph/sequential.hpp"

using namespace heddle;

namespace {

template <class Model> constexpr Counter count() {
  Counter counter;
  counter.layer<Model>(0);
  return counter;
}
using Block = Residual<Sequential<Linear<4, 4>, ReLU>>;
struct NoLayer {};

}  // namespace

TEST_CASE("a block that is repeated has its leaves once and its nodes as often as it runs") {
  constexpr Counter once = count<Block>();
  CHECK(once.leaves == 3);  // the sum is one
  CHECK(once.nodes == 3);
  constexpr Counter often = count<Sequential<Linear<2, 4>, Repeat<5, Block>>>();
  CHECK(often.leaves == 1 + once.leaves);
  CHECK(often.nodes == 1 + 5 * once.nodes);
}

TEST_CASE("a layer that does not come with Heddle is noticed wherever it stands") {
  CHECK_FALSE(count<Sequential<Block, Repeat<2, Block>>>().own);
  CHECK(count<Repeat<2, Sequential<Block, NoLayer>>>().own);
}

TEST_CASE("a type that is no layer is noticed wherever it stands") {
  CHECK(count<Block>().sound);
  CHECK_FALSE(count<NoLayer>().sound);
  CHECK_FALSE(count<Sequential<ReLU, NoLayer>>().sound);
  CHECK_FALSE(count<Repeat<2, Sequential<NoLayer>>>().sound);
}
