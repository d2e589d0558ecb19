// SPDX-License-Identifier: MIT
// Room: graph. The affine map of the last dimension, with PyTorch's parameter names, layout and initialisation.
// Sees: core, graph.  Does not see: policies, devices, memory.
// In: the Spec of the input.  Out: Leaf.
#pragma once

#include <concepts>
#include <cstdint>

#include "heddle/core/an_object.hpp"
#include "heddle/core/type_name.hpp"
#include "heddle/graph/leaf.hpp"
#include "heddle/graph/spelled.hpp"

namespace heddle::graph_room {

/// Third argument of Linear: an added vector (the default), or none.
struct WithBias {};
/// Linear<In, Out, NoBias>: no added vector.
struct NoBias {};

/// y = x W^T + b on the last dimension, as torch.nn.Linear. Split by columns of W^T (Out) or by rows (In).
///
/// Shape   (..., In) becomes (..., Out); weight (Out, In), bias (Out)
/// Moves   by columns: the gradient of the input is a sum over the ranks; by rows: the output is
/// Errors  G06 if a size is not in 1 .. 2^30; G01 if the last dimension of the value is not In or its elements are no float32;
///         G25 if the third argument is neither WithBias nor NoBias; G21 if weight or operations are too many to count
/// Source  sources.md#pytorch-init
/// Tested  graph/layers/linear_test, compute/eigen/linear_test
template <std::int64_t In, std::int64_t Out = 0, class Bias = WithBias> struct Linear {
  using KernelLayer = Linear;  ///< kernels are found for this type, also where a model derives a name from it
  static constexpr bool has_bias = std::same_as<Bias, WithBias>;

  /// What a model that begins with this layer is given.
  static constexpr Spec takes() { return Spec{Shape{In}}; }

  static constexpr Leaf describe(Spec in) {
    Leaf leaf;
    leaf.kind << "Linear";
    leaf.spelled = has_bias ? graph_room::spelled("Linear", In, Out) : graph_room::spelled("Linear", In, Out, "NoBias");
    leaf.in = leaf.out = in;
    leaf.saves = Saves::input;
    leaf.weights_read = false;            // dW = dY^T X
    leaf.input_part_reads_saved = false;  // dX = dY W
    leaf.fault = refusal(leaf, in);
    if (!leaf.fault.ok()) return leaf;
    leaf.out.shape.sizes[in.shape.dimensions - 1] = Out;
    const std::int64_t products = counted_product(in.elements(), leaf.out.shape.last());  // multiplications per sample, leading dimensions included
    const std::int64_t additions = has_bias ? leaf.out.elements() : 0;
    leaf.forward_flops = 2 * products + additions;
    leaf.backward_flops = 4 * products + additions;
    leaf.weight_flops = 2 * products + additions;
    leaf.with({"weight", Shape{Out, In}, Initial::uniform_fan_in, In});
    if (has_bias) leaf.with({"bias", Shape{Out}, Initial::uniform_fan_in, In});
    const Laid last = laid::shard(in.shape.dimensions - 1);
    leaf.splits(Signature{laid::replicate, last, laid::partial, last, {}, {}}  // columns
                    .with(0, laid::shard(0), laid::shard(0))
                    .with(1, has_bias ? laid::shard(0) : laid::replicate, has_bias ? laid::shard(0) : laid::replicate)
                    .with_any_sections());
    leaf.splits(Signature{last, laid::partial, last, laid::replicate, {}, {}}  // rows
                    .with(0, laid::shard(1), laid::shard(1))
                    .with(1, has_bias ? laid::partial : laid::replicate, laid::replicate));
    return leaf;
  }

 private:
  static constexpr std::int64_t most_features = std::int64_t{1} << 30;

  static constexpr Diagnosis refusal(const Leaf& leaf, const Spec& in) {
    if constexpr (!std::same_as<Bias, WithBias> && !std::same_as<Bias, NoBias>)
      return Diagnosis{Code{'G', 25}, ""} << graph_room::spelled("Linear", In, Out, type_name<Bias>().view()).view()
                                          << " has a third argument that says nothing of a bias. Fix: write "
                                          << graph_room::spelled("Linear", In, Out).view() << ", or NoBias for none.";
    if (In < 1 || Out < 1 || In > most_features || Out > most_features) {
      return Diagnosis{Code{'G', 6}, leaf.spelled.view()} << " has a size that is not between 1 and " << most_features
                                                          << ". Fix: write the numbers of features that go in and come out.";
    }
    if (in.type != ElementType::float32) {
      return Diagnosis{Code{'G', 1}, leaf.spelled.view()} << " takes float32 but the value before it has " << name_of(in.type)
                                                          << ". Fix: put a layer that gives float32 before it.";
    }
    if (in.shape.dimensions > 0 && in.shape.last() == In) return {};
    auto broken = Diagnosis{Code{'G', 1}, leaf.spelled.view()} << " takes " << In << " features but the value before it has " << in.shape.last();
    if (in.shape.dimensions > 1) broken << " in the last dimension of " << in.shape;
    if (in.elements() == In) return broken << ". Fix: put Flatten before it.";
    const auto repaired = [](std::int64_t taken) {
      return has_bias ? graph_room::spelled("Linear", taken, Out) : graph_room::spelled("Linear", taken, Out, "NoBias");
    };
    if (in.shape.dimensions > 1)
      return broken << ". Fix: put Flatten before it and write " << repaired(in.elements()).view() << " for all of them, or "
                    << repaired(in.shape.last()).view() << " for the last dimension alone.";
    return broken << ". Fix: write " << repaired(in.shape.last()).view() << '.';
  }
};
template <std::int64_t In, std::int64_t Out> struct Linear<In, Out, AnObject> : AnObject { using AnObject::AnObject; };  // L16
template <class First, class... More> Linear(const First&, const More&...) -> Linear<1, 1, AnObject>;

}  // namespace heddle::graph_room

namespace heddle {
using graph_room::Linear, graph_room::NoBias;
}  // namespace heddle
