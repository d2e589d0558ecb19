// SPDX-License-Identifier: MIT
// Collective counts of tensor-parallel layers (PyTorch's own tests) and volumes (Megatron-LM, arXiv 2104.04473): sources.md#megatron.
#include <doctest/doctest.h>

#include "heddle/heddle.hpp"

using namespace heddle;

namespace {

template <class Model, class Policy> using Of = Plan<Model, MeanSquaredError, SGD, Batch<4>, Policy>;

/// Column and row; the input of the model needs no gradient.
struct Mlp : Sequential<Linear<16, 64>, GELU, Linear<64, 16>> {};
/// The same where the input needs one.
struct Inside : Sequential<Linear<16, 16>, Residual<Linear<16, 64>, GELU, Linear<64, 16>>> {};

/// A layer in the shape of a transformer's: two column-row pairs, each with a residual, on samples (sequence, hidden).
inline constexpr std::int64_t s = 6;
inline constexpr std::int64_t h = 16;
struct Mixer : Residual<Linear<h, h, NoBias>, Tanh, Linear<h, h>> {};
struct Feed : Residual<Linear<h, 4 * h>, GELU, Linear<4 * h, h>> {};
struct Layer : Sequential<Mixer, Feed> {};
struct First : Sequential<Input<6, 16>, Linear<h, h>> {};
template <int Layers> struct Stack : Sequential<First, Repeat<Layers, Layer>, Linear<h, h>> {};

template <class Model, int T> constexpr std::int64_t sums = traffic<Of<Model, TensorParallel<T>>>().value_collectives(0, BodyOp::reduce_value);
template <class Plan> constexpr std::int64_t elements_of = traffic<Plan>().values().moved_per_rank().value / 4;
/// Of one layer: what a stack of one more has more.
template <int T> constexpr std::int64_t layer_sums = sums<Stack<2>, T> - sums<Stack<1>, T>;
template <int T> constexpr std::int64_t layer_elements = elements_of<Of<Stack<2>, TensorParallel<T>>> - elements_of<Of<Stack<1>, TensorParallel<T>>>;

/// Of the gathers in backwards: those of an input of which each rank has kept its part.
template <class ThePlan> constexpr int gathered_again() {
  const Program& p = ThePlan::training;
  int again = 0;
  for (int e = p.backward_bodies[0].begin; e + 1 < p.backward_bodies[0].end; ++e)
    again +=
        p.entries[e].what == BodyOp::gather_value && p.entries[e].d == p.entries[e + 1].a && p.entries[e + 1].what == BodyOp::leaf_backward ? 1 : 0;
  return again;
}

template <int Layers> using Rounds = Plan<Stack<Layers>, MeanSquaredError, SGD, Batch<8>, Hybrid<TensorParallel<2>, DataParallel<2>>, Accumulate<2>>;

}  // namespace

TEST_CASE("an MLP of a column and a row has one all-reduce forward and one backward, which is absent when its input needs no gradient") {
  static_assert(sums<Mlp, 2> == 1);
  static_assert(sums<Mlp, 4> == 1);
  static_assert(sums<Inside, 2> == 2);
  CHECK(traffic<Of<Inside, TensorParallel<2>>>().gradients().on(axis::data).messages == 0);
}

TEST_CASE("a layer of two pairs has four all-reduces, forward and backward together") {
  static_assert(layer_sums<2> == 4);
  static_assert(layer_sums<4> == 4);
  CHECK(sums<Stack<5>, 2> - sums<Stack<1>, 2> == 16);
}

TEST_CASE("a layer moves 8 b s h (t - 1) / t elements per device and micro-batch") {
  constexpr auto formula = [](std::int64_t b, std::int64_t t) { return 8 * b * s * h * (t - 1) / t; };
  static_assert(layer_elements<2> == formula(4, 2));
  static_assert(layer_elements<4> == formula(4, 4));
  static_assert(layer_elements<8> == formula(4, 8));
  static_assert(elements_of<Rounds<3>> - elements_of<Rounds<2>> == 2 * formula(2, 2));  // two micro-batches of 2 rows
  // Mutants: each of them must fail on the same plans.
  constexpr auto half = [](std::int64_t b, std::int64_t t) { return 4 * b * s * h * (t - 1) / t; };
  constexpr auto no_share = [](std::int64_t b, std::int64_t) { return 8 * b * s * h; };
  CHECK(layer_elements<4> != half(4, 4));
  CHECK(layer_elements<4> != no_share(4, 4));
}

TEST_CASE("with the sequence split a layer has four all-gathers and four reduce-scatters of the same bytes, and gathers two kept inputs again") {
  using enum BodyOp;
  constexpr auto of = []<int Layers>(std::integral_constant<int, Layers>) {
    return traffic<Of<Stack<Layers>, TensorParallel<2, SequenceParallel>>>();
  };
  constexpr Traffic two = of(std::integral_constant<int, 2>{});
  constexpr Traffic three = of(std::integral_constant<int, 3>{});
  static_assert(three.value_collectives(0, gather_value) - two.value_collectives(0, gather_value) == 4 + 2);
  constexpr int again = gathered_again<Of<Stack<3>, TensorParallel<2, SequenceParallel>>>() -  //
                        gathered_again<Of<Stack<2>, TensorParallel<2, SequenceParallel>>>();
  static_assert(again == 2);  // the input of each pair
  static_assert(three.value_collectives(0, scatter_value) - two.value_collectives(0, scatter_value) == 4);
  static_assert(three.value_collectives(0, reduce_value) == two.value_collectives(0, reduce_value));
  constexpr Bytes layer = three.values().moved_per_rank() - two.values().moved_per_rank();
  constexpr Bytes one = Bytes{4 * 4 * s * h * 1 / 2};  // a gather, or a sum that is scattered
  static_assert(layer == 8 * one + again * one);
  static_assert(layer - again * one == traffic<Of<Stack<3>, TensorParallel<2>>>().values().moved_per_rank() -
                                           traffic<Of<Stack<2>, TensorParallel<2>>>().values().moved_per_rank());
  CHECK(three.values().total_payload == 2 * three.values().moved_per_rank());
}

namespace {

struct Eight : Sequential<Input<8, 16>, Linear<h, h>> {};
template <int Layers> struct Tall : Sequential<Eight, Repeat<Layers, Layer>, Linear<h, h>> {};
/// Bytes of what is kept of one layer for its backward.
template <class Policy>
constexpr std::int64_t kept_bytes = Of<Tall<3>, Policy>::training.pools[pool_of(0, PoolKind::frame)].slot_bytes -
                                    Of<Tall<2>, Policy>::training.pools[pool_of(0, PoolKind::frame)].slot_bytes;

}  // namespace

TEST_CASE("with the sequence split a device keeps 1/t of what one device keeps of a layer, without it the inputs of its pairs whole") {
  constexpr std::int64_t rows = 4 * 8;
  constexpr std::int64_t pairs = 2 * h;               // features of the inputs of two pairs
  constexpr std::int64_t inside = h + 4 * h + 4 * h;  // of what is kept between column and row: Tanh's output; GELU's input and output
  static_assert(kept_bytes<Single> == 4 * rows * (pairs + inside));
  static_assert(kept_bytes<TensorParallel<2, SequenceParallel>> == kept_bytes<Single> / 2);
  static_assert(kept_bytes<TensorParallel<4, SequenceParallel>> == kept_bytes<Single> / 4);
  static_assert(kept_bytes<TensorParallel<4>> == 4 * rows * (pairs + inside / 4));  // as the formula 10 + 24/t has two kinds of terms
  static_assert(kept_bytes<TensorParallel<4>> != kept_bytes<Single> / 4);
  CHECK(peak_memory<Of<Tall<8>, TensorParallel<4, SequenceParallel>>>() < peak_memory<Of<Tall<8>, TensorParallel<4>>>());
}

TEST_CASE("weights of a layer are 1/t on each device, but for the biases that one rank adds") {
  constexpr std::int64_t split = h * h + h * h + (4 * h * h + 4 * h) + 4 * h * h;
  constexpr std::int64_t whole = 2 * h;
  static_assert(parameters<Stack<2>> - parameters<Stack<1>> == split + whole);
  constexpr auto on_device = []<int T>(std::integral_constant<int, T>) {
    return Of<Stack<2>, TensorParallel<T>>::training.graph->parameter_elements() -
           Of<Stack<1>, TensorParallel<T>>::training.graph->parameter_elements();
  };
  static_assert(on_device(std::integral_constant<int, 4>{}) == split / 4 + whole);
  CHECK(peak_memory<Of<Stack<3>, TensorParallel<4>>>() < peak_memory<Of<Stack<3>, TensorParallel<2>>>());
}
