// SPDX-License-Identifier: MIT
// Room: run. Numbers between fences, for a kernel that is not yet trusted to stay among them.
// Sees: run/arena.  Does not see: layers, kernels.
// In: numbers.  Out: a copy to hand over, and whether anything beside it was written.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <limits>

#include "heddle/run/arena.hpp"

namespace heddle::run_room {

/// A copy of numbers with others before and behind: of those to be read NaN, which spoils what is made of it, and of those to be written one that no
/// arithmetic with NaN gives. 3 numbers with a fence of 20 lie between 32 and 32 others: all are 67.
///
/// Tested  run/fenced_test
class Fenced {
 public:
  enum class For { reading, writing };
  /// `fence` numbers on each side, rounded up to whole cache lines.
  Fenced(const float* values, std::int64_t count, std::int64_t fence, For use)
      : fence_(static_cast<std::size_t>((fence + line - 1) / line * line)), count_(static_cast<std::size_t>(count)),
        post_(use == For::reading ? std::numeric_limits<float>::quiet_NaN() : -1.25e-30F), held_(2 * fence_ + count_, post_) {
    if (values != nullptr) std::copy_n(values, count_, held_.data() + fence_);
  }
  [[nodiscard]] float* data() { return held_.data() + fence_; }
  void copy_to(float* values) const { std::copy_n(held_.data() + fence_, count_, values); }
  [[nodiscard]] bool stands() const {
    const auto sound = [bits = std::bit_cast<std::uint32_t>(post_)](const float* from, std::size_t count) {
      return std::all_of(from, from + count, [bits](float v) { return std::bit_cast<std::uint32_t>(v) == bits; });
    };
    return sound(held_.data(), fence_) && sound(held_.data() + fence_ + count_, fence_);
  }

 private:
  static constexpr std::int64_t line = 16;  // floats
  std::size_t fence_;
  std::size_t count_;
  float post_;  // what the fence is made of
  Floats held_;
};

}  // namespace heddle::run_room
