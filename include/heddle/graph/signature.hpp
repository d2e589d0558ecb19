// SPDX-License-Identifier: MIT
// Room: graph. How the ranks of one axis may share the work of a leaf: where its tensors lie, forward and backward, stated and not derived.
// Sees: core/text.  Does not see: policies, devices, memory.
// In: what a leaf says of itself.  Out: Laid, Signature.
#pragma once

#include <cstdint>

#include "heddle/core/text.hpp"

namespace heddle::graph_room {

/// How the ranks of one axis hold a tensor: whole on every rank, a part along one dimension, or one term of a sum that is not yet taken. A tensor of
/// 8 features that is Shard<0> over 2 ranks has 4 of them on each.
struct Laid {
  std::int8_t code = -1;  ///< a dimension, or -1 Replicate, -2 Partial
  [[nodiscard]] constexpr bool replicated() const { return code == -1; }
  [[nodiscard]] constexpr bool partial() const { return code == -2; }
  [[nodiscard]] constexpr bool sharded() const { return code >= 0; }
  [[nodiscard]] constexpr int dimension() const { return code; }
  friend constexpr bool operator==(const Laid&, const Laid&) = default;
};

namespace laid {
inline constexpr Laid replicate{-1};
inline constexpr Laid partial{-2};
/// Dimensions of values are those of one sample: the batch is never counted.
[[nodiscard]] constexpr Laid shard(int dimension) { return Laid{static_cast<std::int8_t>(dimension)}; }
}  // namespace laid

/// Writes Replicate, Partial or Shard<1>.
template <int Capacity> constexpr Text<Capacity>& operator<<(Text<Capacity>& text, Laid how) {
  if (how.sharded()) return text << "Shard<" << how.dimension() << '>';
  return text << (how.partial() ? "Partial" : "Replicate");
}

/// One legal way to run a leaf on the ranks of an axis. Kernels see the part of a rank as a smaller leaf: they read extents from Leaf.
///
/// A parameter that is used as Partial is stored whole everywhere and given to the kernel on coordinate 0 only; the others get zeros.
/// Its gradient is Replicate where the gradient of the output is. A default Signature runs the whole leaf on every rank.
/// Tested  graph/signature_test
struct Signature {
  static constexpr int most_parameters = 4;  // of a leaf
  Laid input;
  Laid output;
  Laid input_gradient;
  Laid output_gradient;
  Laid parameters[most_parameters];
  Laid parameter_gradients[most_parameters];
  std::int8_t surplus = 0;  ///< parameters that a leaf cannot have, which are not kept (G19)
  Laid statistics{};        ///< of Leaf::statistics

  /// The tensor of a parameter and of its gradient.
  constexpr Signature& with(int parameter, Laid used, Laid gradient) {
    if (parameter < 0 || parameter >= most_parameters) {
      ++surplus;
      return *this;
    }
    parameters[parameter] = used;
    parameter_gradients[parameter] = gradient;
    return *this;
  }
  constexpr Signature& with_statistics(Laid how) {
    statistics = how;
    return *this;
  }
  friend constexpr bool operator==(const Signature&, const Signature&) = default;
};

}  // namespace heddle::graph_room

namespace heddle::extending {
using graph_room::Signature;
namespace laid = graph_room::laid;
}  // namespace heddle::extending
