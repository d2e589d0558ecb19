// SPDX-License-Identifier: MIT
// What a step launches, in milliseconds by the rates of one H200: those of docs/gpu-results.md, and of what has not run there an estimate.
#pragma once

#include <algorithm>

#include "equivalence/card_step.hpp"

namespace card_rates {

using card_step::Launched, card_step::Work;

inline constexpr double peak = 989.5e12;                   // bfloat16, of the datasheet                  [FLOP/s]
inline constexpr double bytes_a_second = 0.85 * 4.238e12;  // what kernels of memory are to reach: 85 % of a copy
inline constexpr double seconds_a_launch = 1.04e-6;        // of a kernel in a chain of a graph
// 4096 x 768 -> 3072 in 36, 34 and 37 us
inline constexpr double product_flops = 2.0 * 4096 * 768 * 3072;
inline constexpr double of_outputs = product_flops / 36e-6, of_inputs = product_flops / 34e-6, of_weights = product_flops / 37e-6;
inline constexpr double product_share = 3 * product_flops / (107e-6 * peak);
/// Of that product, for one of its outputs: passes of GELU's own beside what epilogues with an auxiliary matrix add, forward and backward.  [ms]
inline constexpr double gelu_beside_epilogues = (36 + 25 - 45 + 34 + 27 - 49) * 1e-3 / (4096.0 * 3072);

/// FLOP/s of attention, where a backward has 2.5 times the operations of a forward.
struct Attention {
  double forward, backward, together;
  static constexpr Attention of(double forward, double both, double flops) {
    return {flops / forward, 2.5 * flops / (both - forward), 3.5 * flops / both};
  }
};
inline constexpr double attention_flops = 4.0 * 16 * 12 * 1024 * 1024 * 64 / 2;  // causal, 16 x 12 heads x 1024 x 64
inline constexpr Attention cudnn = Attention::of(102e-6, 453e-6, attention_flops);
inline constexpr Attention flash = Attention::of(153e-6, 710e-6, attention_flops);
/// An estimate: Heddle's kernels have not run on a card. Of 16 positions of a warp beside 32 others nvcc 13.0 makes 946 instructions forward, and 840
/// and 1,221 in the two kernels of the backward. A multiprocessor begins four in a cycle at best; three quarters of that are assumed. Of the products
/// of such tiles a causal mask over 1,024 positions leaves 512 of 528.
inline constexpr double cycles_a_second = peak / (132 * 4096.0), begun_a_second = 0.75 * 132 * 4 * cycles_a_second;
inline constexpr double flops_of_tile = 4.0 * 16 * 32 * 64 * 512 / 528;
inline constexpr Attention heddle{flops_of_tile * begun_a_second / 946, 2.5 * flops_of_tile* begun_a_second / (840 + 1221),
                                  3.5 * flops_of_tile* begun_a_second / (946 + 840 + 1221)};

[[nodiscard]] inline double milliseconds(const Launched& l, const Attention& attention) {
  const auto by = [&](double flops_a_second) { return l.flops / flops_a_second * 1e3; };
  switch (l.work) {
    case Work::output_product: return by(of_outputs);
    case Work::input_product: return by(of_inputs);
    case Work::weight_product: return by(of_weights);
    case Work::attention_forward: return by(attention.forward);
    case Work::attention_backward: return by(attention.backward);
    case Work::memory: break;
  }
  return std::max(l.bytes / bytes_a_second, l.launches * seconds_a_launch) * 1e3;
}

}  // namespace card_rates
