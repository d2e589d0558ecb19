// SPDX-License-Identifier: MIT
// Room: compute. Division by a number that is known when a kernel is queued: a product and a shift, since a card has no instruction that divides.
// Sees: core/host_device.  Does not see: tensors, layers, streams.
// In: a divisor.  Out: Divisor.
#pragma once

#include <cstdint>

#include "heddle/core/host_device.hpp"

namespace heddle::compute_room {

/// Quotients by d. Divisor{7} gives quotient_of(30) 4 and rest_of(30) 2. A kernel gets it by value, so that the host makes the factor once.
///
/// Law     with d <= 2^s < 2 d the factor is 2^(63 + s) / d, rounded up, which is below 2^64. A numerator n below 2^63 gives n factor / 2^(63 + s) =
///         n / d + e with e < n / 2^(63 + s) < 1 / d, so that rounding down gives the quotient
/// Errors  none; d is from 1 to 2^62, numerators are not negative
/// Tested  compute/cuda/divisor_test
class Divisor {
 public:
  Divisor() = default;
  explicit constexpr Divisor(std::int64_t d) : divisor_(d) {
    while ((std::int64_t{1} << shift_) < d) ++shift_;
    const auto by = static_cast<Wide>(d);
    factor_ = static_cast<std::uint64_t>(((Wide{1} << static_cast<unsigned>(63 + shift_)) + by - 1) / by);
  }
  [[nodiscard]] HEDDLE_HOST_DEVICE constexpr std::int64_t divisor() const { return divisor_; }
  [[nodiscard]] HEDDLE_HOST_DEVICE constexpr std::int64_t quotient_of(std::int64_t n) const {
    const auto twice = static_cast<std::uint64_t>(n) << 1U;
    return static_cast<std::int64_t>(static_cast<std::uint64_t>((Wide{twice} * factor_) >> 64U) >> static_cast<unsigned>(shift_));
  }
  [[nodiscard]] HEDDLE_HOST_DEVICE constexpr std::int64_t rest_of(std::int64_t n) const { return n - quotient_of(n) * divisor_; }

 private:
  __extension__ typedef unsigned __int128 Wide;  // NOLINT(modernize-use-using): nvcc does not take __extension__ before `using`
  std::int64_t divisor_ = 1;
  std::uint64_t factor_ = std::uint64_t{1} << 63U;
  int shift_ = 0;
};

}  // namespace heddle::compute_room
