// SPDX-License-Identifier: MIT
// A layer whose parameter is whole on every rank of axis tensor while its gradient is a sum over them.
#pragma once

#include "heddle/graph/leaf.hpp"

namespace heddle::tests {

/// One gain for all features: whole on every rank that has a part of them, so each has a term of its gradient.
struct Gain {
  static constexpr Leaf describe(Spec in) {
    Leaf leaf;
    leaf.kind << "Gain";
    leaf.spelled << "Gain";
    leaf.in = leaf.out = in;
    leaf.forward_flops = leaf.backward_flops = 2 * in.elements();
    leaf.with({Text<16>{"gain"}, Shape{1}, Initial::ones});
    const Laid last = laid::shard(in.shape.dimensions - 1);
    return leaf.splits(Signature{last, last, last, last, {}, {}}.with(0, laid::replicate, laid::partial));
  }
};

}  // namespace heddle::tests
