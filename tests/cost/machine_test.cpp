// SPDX-License-Identifier: MIT
#include "heddle/cost/machine.hpp"

#include <doctest/doctest.h>

#include "heddle/cost/simulate.hpp"
#include "heddle/heddle.hpp"

using namespace heddle;

TEST_CASE("a machine that names nothing has free links, so only work takes time") {
  constexpr Machine machine;
  static_assert(machine.alpha == 0 && machine.beta == 0 && machine.per_flop == 1);
  static_assert(machine.level_count() == 0 && !machine.unequal() && machine.speed(7) == 1);
  CHECK(machine.per_flop > 0);
}

TEST_CASE("three numbers in a row are latency, time a byte and time an operation") {
  constexpr Machine machine{50e-6, 1e-9, 1e-10};
  static_assert(machine == Machine{.alpha = 50e-6, .beta = 1e-9, .per_flop = 1e-10});
  CHECK(machine.link(0) == Link{50e-6, 1e-9});
}

TEST_CASE("a level has links of its own; behind the last one are those of the machine") {
  constexpr Machine machine{.alpha = 9, .beta = 3, .levels = {{8, 1, 2}, {32, 4, 5}}};
  static_assert(machine.level_count() == 2);
  CHECK(machine.link(0) == Link{1, 2});
  CHECK(machine.link(1) == Link{4, 5});
  CHECK(machine.link(2) == Link{9, 3});
}

TEST_CASE("ranks that differ have a speed, and a later entry counts") {
  constexpr Machine machine = with_speed(with_speed(Machine{}, 4, 7, 0.5), 6, 6, 0.25);
  static_assert(machine.unequal() && machine.speed(3) == 1 && machine.speed(4) == 0.5 && machine.speed(6) == 0.25 && machine.speed(7) == 0.5);
  CHECK(machine.speed(8) == 1);
}

TEST_CASE("a rate is its reciprocal") {
  static_assert(each_of(4) == 0.25);
  CHECK(each_of(1e9) == doctest::Approx(1e-9));
}

TEST_CASE("what fits a cache is read faster, in a walk as well") {
  constexpr Machine m{.per_flop = 0, .per_memory_byte = 2e-10, .cached = {{{1e6, 4}, {1e8, 1}}}};
  static_assert(with_working_set(m, Bytes{1'000'000}).per_memory_byte == 5e-11 && with_working_set(m, 1_GB).per_memory_byte == 2e-10);
  static_assert(with_working_set(Machine{.per_memory_byte = 3}, 1_GB).per_memory_byte == 3);
  using P = Plan<Sequential<Linear<8, 8>, ReLU>, MeanSquaredError, SGD, Batch<8>, Single>;
  Machine plain = m;
  plain.cached = Efficiency{};
  CHECK(simulate(P::training, m).step.value == doctest::Approx(simulate(P::training, plain).step.value / 4));
}

TEST_CASE("a later entry counts for its ranks, also one that makes rank 0 as fast as the machine says") {
  const Machine slow = with_speed(Machine{}, 0, 7, 0.5);
  CHECK(slow.speed(0) == 0.5);
  CHECK(with_speed(slow, 0, 0, 1).speed(0) == 1);
  CHECK(with_speed(slow, 0, 0, 1).speed(1) == 0.5);
}

TEST_CASE("a rate of a kind of layer is found by its name, which is kept to 24 letters") {
  constexpr Machine m{.layers = {{"GELU", 3, 5}, {"ReLU", 1, 2}}};
  static_assert(m.rate_of("ReLU")->backward == 2 && m.rate_of("Tanh") == nullptr && m.rate_of("") == nullptr);
  static_assert(LayerRate::of("GELU", 3, 5) == m.layers[0] && m.layers[0].name() == "GELU");
  CHECK(LayerRate::of("a name of more than 24 letters", 1, 1).name() == "a name of more than 24 l");
}

TEST_CASE("an element counts 1 operation in ReLU, 8 in GELU and 9 in GELUTanh, forward and backward") {
  const auto operations = []<class Layer>(Layer) {
    const Leaf leaf = Layer::describe(Spec{Shape{10}});
    CHECK(leaf.forward_flops == leaf.backward_flops);
    return leaf.forward_flops;
  };
  CHECK(operations(ReLU{}) == 10);
  CHECK(operations(GELU{}) == 80);
  CHECK(operations(GELUTanh{}) == 90);
}
