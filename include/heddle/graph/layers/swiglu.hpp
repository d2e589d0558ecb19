// SPDX-License-Identifier: MIT
// Room: graph. SwiGLU: of a gate and a value that lie behind one another, the value is let through as far as the gate is open.
// Sees: core, graph.  Does not see: policies, devices, memory.
// In: the Spec of the input.  Out: Leaf.
#pragma once

#include <cstdint>

#include "heddle/core/host_device.hpp"
#include "heddle/graph/layers/silu.hpp"
#include "heddle/graph/leaf.hpp"

namespace heddle::graph_room {

/// silu(gate) value with silu(x) = x / (1 + exp(-x)), where the first half of the features is the gate and the second half the value, as one Linear
/// gives both: Linear<64, 2 * 256>, SwiGLU, Linear<256, 64>. In PyTorch: gate, value = x.chunk(2, -1); torch.nn.functional.silu(gate) * value.
/// TensorParallel lets the Linear before it give each rank its part of both halves, so nothing is gathered between them.
/// Flops: a transcendental function counts one.
///
/// Shape   (..., 2 F) becomes (..., F); any split of its dimensions passes through, that of the features in two sections
/// Errors  G01 if the features are no two halves
/// Source  sources.md#swiglu
/// Tested  graph/layers/swiglu_test, compute/eigen/swiglu_test, compute/field/swiglu_test, golden/swiglu_test, equivalence/swiglu_test
struct SwiGLU {
  static constexpr Leaf describe(Spec in) {
    Leaf leaf;
    leaf.kind << "SwiGLU";
    leaf.spelled << "SwiGLU";
    leaf.in = leaf.out = in;
    leaf.saves = Saves::input;
    leaf.fault = refusal(in);
    if (!leaf.fault.ok()) return leaf;
    const int last = in.shape.dimensions - 1;
    leaf.out.shape.sizes[last] = in.shape.last() / 2;
    leaf.forward_flops = counted_product(5, leaf.out.elements());
    leaf.backward_flops = counted_product(11, leaf.out.elements());
    for (int d = 0; d < last; ++d) leaf.splits({laid::shard(d), laid::shard(d), laid::shard(d), laid::shard(d), {}, {}});
    return leaf.splits({laid::shard(last, 2), laid::shard(last), laid::shard(last, 2), laid::shard(last), {}, {}});
  }
  HEDDLE_HOST_DEVICE static float let_through(float gate, float value) { return SiLU::forward(gate) * value; }
  HEDDLE_HOST_DEVICE static float backward_of_gate(float gate, float value, float gradient) { return SiLU::backward(gate, gradient * value); }
  HEDDLE_HOST_DEVICE static float backward_of_value(float gate, float gradient) { return gradient * SiLU::forward(gate); }

 private:
  static constexpr Diagnosis refusal(const Spec& in) {
    const auto broken = [] { return Diagnosis{Code{'G', 1}, "SwiGLU"}; };
    if (in.type != ElementType::float32)
      return broken() << " takes float32 but the value before it has " << name_of(in.type) << ". Fix: put a layer that gives float32 before it.";
    if (in.shape.dimensions > 0 && in.shape.last() % 2 == 0) return {};
    return broken() << " takes a gate and as many features that it lets through, behind one another, but the value before it has " << in.shape
                    << ". Fix: put a Linear before it that gives " << in.shape.last() + in.shape.last() % 2 << " features, of which "
                    << (in.shape.last() + 1) / 2 << " come out.";
  }
};

}  // namespace heddle::graph_room

namespace heddle {
using graph_room::SwiGLU;
}  // namespace heddle
