// SPDX-License-Identifier: MIT
// Room: graph. Rescaling: bytes, as images have them, become numbers in the model itself.
// Sees: core, graph.  Does not see: policies, devices, memory.
// In: the Spec of the bytes.  Out: Leaf.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "heddle/graph/leaf.hpp"
#include "heddle/graph/spelled.hpp"

namespace heddle::graph_room {

/// y = x Numerator / Denominator of each byte x, as the layer of that name in Keras. Rescaling<> is x / 255: 51 becomes 0.2. A model that begins with
/// it takes std::uint8_t inputs, a quarter of the memory of floats in data sets, batches and arenas, and what is sent from stage to stage. Bytes have
/// no gradient, so nothing before it is trained.
///
/// Shape   any (...) of uint8 stays as it is, in float32
/// Moves   nothing: bytes lie whole on every rank of axis tensor, and so does what is made of them
/// Errors  G25 if a number is not in 1 .. 2^16, G01 if what it reads is made by a layer that computes; D33 of a batch with other inputs
/// Source  sources.md#rescaling
/// Tested  graph/layers/rescaling_test, compute/eigen/rescaling_test, equivalence/bytes_test
template <std::int64_t Numerator = 1, std::int64_t Denominator = 255> struct Rescaling {
  using KernelLayer = Rescaling;

  /// Of every byte, divided by the compiler: -ffast-math would multiply by 1 / 255 instead, with other bits.
  static constexpr std::array<float, 256> numbers() {
    std::array<float, 256> made{};
    for (std::size_t x = 0; x < made.size(); ++x)
      made[x] = static_cast<float>(static_cast<std::int64_t>(x) * Numerator) / static_cast<float>(Denominator);
    return made;
  }
  static constexpr Leaf describe(Spec in) {
    Leaf leaf;
    leaf.kind << "Rescaling";
    leaf.spelled = graph_room::spelled("Rescaling", Numerator, Denominator);
    leaf.in = Spec{in.shape, ElementType::uint8};
    leaf.out = Spec{in.shape};
    leaf.saves = Saves::nothing;
    leaf.input_part_reads_saved = false;
    if (Numerator < 1 || Denominator < 1 || Numerator > most || Denominator > most)
      leaf.fault = Diagnosis{Code{'G', 25}, leaf.spelled.view()} << " has a number that is not between 1 and " << most
                                                                 << ". Fix: write Rescaling<> for x / 255, or Rescaling<1, 128> for x / 128.";
    return leaf;
  }

 private:
  static constexpr std::int64_t most = 1 << 16;  // 255 times it is a float
};

}  // namespace heddle::graph_room

namespace heddle {
using graph_room::Rescaling;
}  // namespace heddle
