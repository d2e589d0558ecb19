// SPDX-License-Identifier: MIT
// Room: proof. What a proof has found, as numbers and as one line.
// Sees: core.  Does not see: programs, ranks, how it was found.
// In: -.  Out: Proof.
#pragma once

#include <cstdint>
#include <cstdio>
#include <string>

#include "heddle/core/rooms.hpp"

namespace heddle::proof_room {

/// The bound of a proof that holds is below it, as a logarithm to base 2.
inline constexpr double promised_log2_of_bound = -40;

/// What prove says of a plan: DataParallel<4> of a small network has 4 devices, 3 steps, 6 draws and a bound of 2^-41.
///
/// Tested  proof/report_test
struct Proof {
  std::string plan;
  int devices = 1;
  int steps = 0;
  int draws = 0;
  std::uint64_t modulus = 0;
  double log2_of_bound =
      0;  ///< of the probability that a plan which computes something else passes; 0: no bound, the model with its batch is too large
  std::uint64_t hash = 0;        ///< of all that was compared, under the plan
  std::uint64_t hash_alone = 0;  ///< on one device
  std::int64_t compared = 0;     ///< elements
  std::string text;              ///< empty, or what differs first, [heddle.R31]
  bool first_process = true;     ///< where ranks are processes all find the same; this one says it

  /// Nothing differs. That alone is no proof: there may be no bound.
  [[nodiscard]] bool ok() const { return text.empty(); }
  /// There is a bound, however weak.
  [[nodiscard]] bool bounded() const { return log2_of_bound < 0; }
  /// Nothing differs, and a wrong plan passes with a probability below 2^-40.
  explicit operator bool() const { return ok() && log2_of_bound < promised_log2_of_bound; }
  /// "DataParallel<4>: 4 devices, hash 91d8f0a1b2c3d4e5 as one device, 3 steps, 6 draws modulo 2139095017, a wrong plan passes with probability below
  /// 2^-41"
  [[nodiscard]] std::string line() const {
    char numbers[160];
    std::snprintf(numbers, sizeof numbers, ": %d device%s, hash %016llx %s one device, %d steps, %d draw%s modulo %llu", devices,
                  devices == 1 ? "" : "s", static_cast<unsigned long long>(hash), hash == hash_alone ? "as" : "unlike", steps, draws,
                  draws == 1 ? "" : "s", static_cast<unsigned long long>(modulus));
    std::string all = plan + numbers;
    if (!ok()) return all + ". " + text;
    if (!bounded()) return all + ", no bound: the model with its batch is too large. Prove a narrower one of the same layers, or fewer rows";
    std::snprintf(numbers, sizeof numbers, ", a wrong plan passes with probability below 2^%d%s", static_cast<int>(log2_of_bound),
                  *this ? "" : ", but 2^-40 is promised: allow more draws in most_draws");
    return all + numbers;
  }
};

}  // namespace heddle::proof_room

namespace heddle::extending {
using proof_room::Proof;
}  // namespace heddle::extending
