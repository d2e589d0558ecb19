// SPDX-License-Identifier: MIT
#include "heddle/graph/local_leaf.hpp"

#include <doctest/doctest.h>

#include "heddle/graph/layers/linear.hpp"
#include "heddle/graph/layers/relu.hpp"

using namespace heddle;

namespace {

constexpr Leaf linear = Linear<12, 8>::describe(Spec{Shape{3, 12}});
constexpr Signature columns = linear.signatures[0];
constexpr Signature rows = linear.signatures[1];

constexpr Leaf with(const Signature& s) {
  Leaf leaf = linear;
  leaf.signature_count = 0;
  return leaf.splits(s);
}
constexpr Code code_of(const Signature& s) { return check_signature(linear, s).code; }
constexpr Code refused{'P', 3};

}  // namespace

TEST_CASE("a Linear by columns has a part of the outputs, by rows a part of the inputs") {
  constexpr Leaf a = local_leaf(linear, columns, 4);
  static_assert(a.in.shape == Shape{3, 12} && a.out.shape == Shape{3, 2});
  static_assert(a.parameters[0].shape == Shape{2, 12} && a.parameters[1].shape == Shape{2});
  constexpr Leaf b = local_leaf(linear, rows, 4);
  static_assert(b.in.shape == Shape{3, 3} && b.out.shape == Shape{3, 8});
  static_assert(b.parameters[0].shape == Shape{8, 3} && b.parameters[1].shape == Shape{8});
  static_assert(4 * a.forward_flops == linear.forward_flops && 4 * b.backward_flops == linear.backward_flops);
  CHECK(local_leaf(linear, Signature{}, 4).forward_flops == linear.forward_flops);
}

TEST_CASE("what a number of ranks does not divide is found, the first of it") {
  static_assert(indivisible_size(linear, columns, 4) == 0);
  static_assert(indivisible_size(linear, columns, 3) == 8);
  static_assert(indivisible_size(linear, rows, 3) == 0);
  static_assert(indivisible_size(linear, rows, 5) == 12);
  CHECK(indivisible_size(linear, Signature{}, 7) == 0);
}

TEST_CASE("the signatures of the layers here keep the rules") {
  static_assert(linear.signature_count == 2);
  static_assert(check_signature(linear, columns).ok() && check_signature(linear, rows).ok() && check_signature(linear, Signature{}).ok());
  constexpr Leaf bare = Linear<12, 8, NoBias>::describe(Spec{Shape{12}});
  static_assert(check_signature(bare, bare.signatures[0]).ok() && check_signature(bare, bare.signatures[1]).ok());
  constexpr Leaf relu = ReLU::describe(Spec{Shape{3, 12}});
  static_assert(relu.signature_count == 2 && relu.signatures[1].output == laid::shard(1));
  CHECK(check_signature(relu, relu.signatures[1]).ok());
}

TEST_CASE("a gradient lies as the derivative of its value does, or the signature is refused") {
  Signature s = columns;
  s.input = laid::partial;
  CHECK(code_of(s) == refused);  // no leaf takes a term of a sum
  s = columns;
  s.output = laid::shard(2);
  CHECK(code_of(s) == refused);  // there is no third dimension
  s = columns;
  s.output_gradient = laid::replicate;
  CHECK(code_of(s) == refused);
  s = rows;
  s.output_gradient = laid::partial;
  CHECK(code_of(s) == refused);  // the gradient of a sum is whole
  s = rows;
  s.input_gradient = laid::replicate;
  CHECK(code_of(s) == refused);
  s = columns;
  s.parameter_gradients[0] = laid::shard(1);
  CHECK(code_of(s) == refused);
  s = columns;
  s.parameters[1] = laid::partial;
  CHECK(code_of(s) == refused);  // one rank adds the bias, but each has its own features
  s = rows;
  s.parameters[0] = laid::shard(2);
  CHECK(code_of(s) == refused);
  s = rows;
  s.parameter_gradients[1] = laid::partial;
  CHECK(code_of(s) == refused);
  CHECK(code_of(rows) == Code{});
}

TEST_CASE("Partial + Replicate is no operation: a bias on every rank would count once for each (pytorch #172932)") {
  Signature s = rows;
  s.parameters[1] = laid::replicate;
  const Diagnosis found = check_signature(with(s), s);
  CHECK(found.code == refused);
  CHECK(found.sentence().view() ==
        "[heddle.P03] states parameter 'bias' Replicate and adds it to an output that is Partial, so the sum would hold it once for each rank. "
        "Fix: state it Partial (one rank adds it), or split it.");
}

TEST_CASE("a whole parameter of split values has a gradient that is a term (Megatron-LM #1446)") {
  Leaf gain = ReLU::describe(Spec{Shape{12}});
  gain.with({Text<16>{"gain"}, Shape{1}, Initial::ones});
  Signature s = gain.signatures[0];
  const Diagnosis found = check_signature(gain, s);
  CHECK(found.code == refused);
  CHECK(found.sentence().view() ==
        "[heddle.P03] states parameter 'gain' Replicate and its gradient Replicate, but each rank sees its own part of the values, so what it has is "
        "a term. Fix: state the gradient Partial.");
  CHECK(check_signature(gain, s.with(0, laid::replicate, laid::partial)).ok());
}

TEST_CASE("a whole input of ranks that do different work has a gradient that is a term") {
  Signature s = columns;
  s.input_gradient = laid::replicate;
  CHECK(check_signature(linear, s).sentence().view() ==
        "[heddle.P03] gives a gradient of its input that is Replicate, but each rank has a term of it from its own part. Fix: give it as Partial.");
  CHECK(check_signature(linear, Signature{}).ok());  // all ranks do the same
}

TEST_CASE("a parameter is not split along the first dimension that it lacks") {
  Leaf gain = ReLU::describe(Spec{Shape{12}});
  gain.with({Text<16>{"gain"}, Shape{12}, Initial::ones});
  Signature s = gain.signatures[0];
  CHECK(check_signature(gain, s.with(0, laid::shard(1), laid::shard(1))).sentence().view() ==
        "[heddle.P03] states parameter 'gain' Shard<1>, but it has 1 dimensions. Fix: name one of them.");
  CHECK(check_signature(gain, s.with(0, laid::shard(0), laid::shard(0))).ok());
}

TEST_CASE("statistics lie whole or in parts along a dimension that they have") {
  Leaf kept = ReLU::describe(Spec{Shape{4, 12}});
  kept.statistics = Shape{4};
  Signature s = kept.signatures[0];
  CHECK(check_signature(kept, s.with_statistics(laid::shard(0))).ok());
  CHECK(local_leaf(kept, s, 2).statistics == Shape{2});
  CHECK(indivisible_size(kept, s, 4) == 0);
  kept.statistics = Shape{6};
  CHECK(indivisible_size(kept, s, 4) == 6);
  CHECK(check_signature(kept, s.with_statistics(laid::shard(1))).sentence().view() ==
        "[heddle.P03] keeps statistics that are Shard<1>, which they cannot be. Fix: keep a dimension that is there, or Replicate.");
  CHECK(check_signature(kept, s.with_statistics(laid::partial)).code == refused);
}

TEST_CASE("of two operands the second is divided as the first is, and a rank count must divide both") {
  Leaf leaf;
  leaf.in = Spec{Shape{4, 6}};
  leaf.other = Spec{Shape{4, 9}};
  leaf.out = Spec{Shape{4, 15}};
  leaf.operands = 2;
  const Signature rows{laid::shard(0), laid::shard(0), laid::shard(0), laid::shard(0), {}, {}};
  const Signature columns{laid::shard(1), laid::replicate, laid::shard(1), laid::replicate, {}, {}};
  const Leaf local = local_leaf(leaf, rows, 2);
  CHECK(local.in.shape == Shape{2, 6});
  CHECK(local.other.shape == Shape{2, 9});
  CHECK(local.out.shape == Shape{2, 15});
  CHECK(indivisible_size(leaf, rows, 2) == 0);
  CHECK(indivisible_size(leaf, columns, 2) == 9);
  leaf.other = Spec{Shape{9}};
  CHECK(check_signature(leaf, columns).code == Code{'P', 3});
}
