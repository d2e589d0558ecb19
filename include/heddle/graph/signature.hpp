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
///
/// The dimension may consist of sections, each of which is cut for itself: of 6 features in 3 sections rank 0 of 2 has 0, 2 and 4, as of queries,
/// keys and values that lie behind one another. The first section may be larger than the others, which are equal: of 8 features in sections 2:1:1
/// rank 0 has 0, 1, 4 and 6. Whole tensors, in files and by name, know no sections.
struct Laid {
  static constexpr int most_sections = 8;
  static constexpr int most_of_first = 256;  ///< others that the first section is as large as
  std::int16_t code = -1;                    ///< -1 Replicate, -2 Partial, or a dimension + 16 (sections - 1) + 128 (first - 1); see laid
  [[nodiscard]] constexpr bool replicated() const { return code == -1; }
  [[nodiscard]] constexpr bool partial() const { return code == -2; }
  [[nodiscard]] constexpr bool sharded() const { return code >= 0; }
  [[nodiscard]] constexpr int dimension() const { return code < 0 ? code : code % 16; }
  [[nodiscard]] constexpr bool in_sections() const { return code >= 16; }
  [[nodiscard]] constexpr int sections() const { return code < 0 ? 1 : 1 + code / 16 % 8; }
  /// Size of the first section where each other one has 1.
  [[nodiscard]] constexpr int first() const { return code < 0 ? 1 : 1 + code / 128; }
  /// Of a value between layers: how its readers find it, and how they leave its gradient.
  [[nodiscard]] constexpr Laid there() const { return Laid{static_cast<std::int16_t>(code == -3 ? -1 : code)}; }
  [[nodiscard]] constexpr Laid back() const { return Laid{static_cast<std::int16_t>(code == -3 ? -2 : code)}; }
  /// Size of all sections together: that of a tensor along the dimension is a multiple.
  [[nodiscard]] constexpr int shares() const { return first() + sections() - 1; }
  friend constexpr bool operator==(const Laid&, const Laid&) = default;
};

namespace laid {
inline constexpr Laid replicate{-1};
inline constexpr Laid partial{-2};
/// Of a value between layers that several leaves read: whole on every rank, and each of them leaves a term of its gradient there. The leaf that gives
/// the value takes their sum over the ranks, once. So do queries, keys and values that three products make of one value.
inline constexpr Laid terms_back{-3};
/// Of the second operand of a leaf: as the first.
inline constexpr Laid as_first{-4};
/// Dimensions of values are those of one sample: the batch is never counted. What is beyond counting lies in no tensor, and is refused there.
[[nodiscard]] constexpr Laid shard(int dimension) { return Laid{static_cast<std::int16_t>(dimension < 15 ? dimension : 15)}; }
/// shard(1, 3, 2) is in sections 2:1:1; up to 8 of them, and the first up to 256 times as large.
[[nodiscard]] constexpr Laid shard(int dimension, int sections, int first = 1) {
  return Laid{static_cast<std::int16_t>(shard(dimension).code + 16 * (sections - 1) + 128 * (first - 1))};
}
/// Another dimension in the sections of `like`.
[[nodiscard]] constexpr Laid in_sections_of(Laid like, Laid how) {
  return how.sharded() ? shard(how.dimension(), like.sections(), like.first()) : how;
}
}  // namespace laid

/// Writes Replicate, Partial, Shard<1> or Shard<1> in sections 2:1:1; of a value with laid::terms_back: Replicate with terms of its gradient.
template <int Capacity> constexpr Text<Capacity>& operator<<(Text<Capacity>& text, Laid how) {
  if (!how.sharded()) return text << (how.partial() ? "Partial" : how == laid::terms_back ? "Replicate with terms of its gradient" : "Replicate");
  text << "Shard<" << how.dimension() << '>';
  if (how.in_sections()) text << " in sections " << how.first();
  for (int s = 1; s < how.sections(); ++s) text << ":1";
  return text;
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
  std::int8_t surplus = 0;       ///< parameters that a leaf cannot have, which are not kept (G19)
  bool any_sections = false;     ///< output and parameters may be cut in sections, as the reader of the output asks: a feature is like any other
  Laid statistics{};             ///< of Leaf::statistics
  std::int16_t pieces = 0;       ///< what is never cut, as heads: ranks divide their number; 0: nothing is so
  bool parts_of_sums = false;    ///< of Leaf::forward_phases and backward_phases each rank has its part, as of the channels that it has
  Laid second = laid::as_first;  ///< where a leaf takes two values, the second and its gradient; it may lie as the first does not if it is split

  [[nodiscard]] constexpr Laid operand(int k) const { return k == 0 || second == laid::as_first ? input : second; }
  [[nodiscard]] constexpr Laid operand_gradient(int k) const { return k == 0 || second == laid::as_first ? input_gradient : second; }

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
  constexpr Signature& with_second(Laid how) {
    second = how;
    return *this;
  }
  constexpr Signature& with_parts_of_sums() {
    parts_of_sums = true;
    return *this;
  }
  constexpr Signature& with_any_sections() {
    any_sections = true;
    return *this;
  }
  constexpr Signature& with_pieces(std::int16_t number) {
    pieces = number;
    return *this;
  }
  /// The same with output and parameters in the sections in which a reader takes the output. Columns of a Linear<4, 6> in 3 sections: rank 0 of 2 has
  /// rows 0, 2 and 4 of the weight.
  [[nodiscard]] constexpr Signature in_sections_of(Laid reader) const {
    Signature all = *this;
    all.output = laid::in_sections_of(reader, output);
    all.output_gradient = laid::in_sections_of(reader, output_gradient);
    for (int p = 0; p < most_parameters; ++p) {
      all.parameters[p] = laid::in_sections_of(reader, parameters[p]);
      all.parameter_gradients[p] = laid::in_sections_of(reader, parameter_gradients[p]);
    }
    return all;
  }
  friend constexpr bool operator==(const Signature&, const Signature&) = default;
};

}  // namespace heddle::graph_room

namespace heddle::extending {
using graph_room::Signature;
namespace laid = graph_room::laid;
}  // namespace heddle::extending
