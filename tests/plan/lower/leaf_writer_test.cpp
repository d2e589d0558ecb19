// SPDX-License-Identifier: MIT
#include "heddle/plan/lower/leaf_writer.hpp"

#include <doctest/doctest.h>

#include "heddle/policy/tensor_parallel.hpp"
#include "plan/plans.hpp"

using namespace heddle;
using namespace heddle::tests;

namespace {

struct Wide : Sequential<Linear<8, 16>, GELU, Linear<16, 8>> {};
using Request = Trained<Wide, TensorParallel<2>>::Request;
using Input = Lowered<Request, true>;

struct Written {
  BodyTables<3, 1, 0, 8> bodies{};
  ScratchSpace scratch{};
};
constexpr Written write(int node) {
  Written w;
  const Place here[4] = {{0, 0}, {0, 4096}, {0, 8192}, {0, 12288}};
  Bodies open = w.bodies.open();
  LeafWriter writer{Input::body_input, open, w.scratch, here};
  writer.write(node, {}, {});
  w.bodies.close(open);
  return w;
}

}  // namespace

TEST_CASE("a leaf that takes and gives values as they lie is one entry, without scratch") {
  constexpr Written w = write(1);
  static_assert(w.bodies.entry_count == 1 && w.scratch.peak == 0);
  static_assert(w.bodies.entries[0].what == BodyOp::leaf_forward && w.bodies.entries[0].node == 1);
  CHECK(w.bodies.entries[0].a == Place{0, 4096});
  CHECK(w.bodies.entries[0].d == Place{0, 8192});
}

TEST_CASE("a term of a sum is summed where it lies, right behind its leaf") {
  constexpr Written w = write(2);
  static_assert(w.bodies.entry_count == 2);
  static_assert(w.bodies.entries[1].what == BodyOp::reduce_value && w.bodies.entries[1].node == 2);
  CHECK(w.bodies.entries[1].d == w.bodies.entries[0].d);
}
