// SPDX-License-Identifier: MIT
// Room: proof. How likely it is that a wrong plan passes one draw, from what was counted in a census and in a degree run.
// Sees: compute/field.  Does not see: programs, ranks, any transport.
// In: calls of functions, their degrees.  Out: a bound, and how many draws make it small enough.
#pragma once

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

#include "heddle/compute/field/field.hpp"
#include "heddle/core/units.hpp"

namespace heddle::proof_room {

/// What a run of a plan and a run of one device have called, together.
/// A function that each of both runs calls 500 times in one step has 1,000 lines in calls and 2 in degrees.
struct FieldCounts {
  std::vector<FieldCall> calls;    ///< of a census: a line a call
  std::vector<FieldCall> degrees;  ///< of a degree run: lines of a symbol
  std::uint64_t compared = 0;      ///< the higher Degrees of what is compared
};

/// A bound of the probability that one draw does not tell two different functions apart.
///
/// All values of both runs are polynomials modulo p in the numbers drawn (inputs, targets, parameters) and in results of functions without a formula,
/// or quotients of two such; as a degree these have that of the numerator of a difference, and an inverse may meet a 0.
/// As long as no two calls of a function, whose arguments differ as polynomials, meet in one argument, their results are independent and evenly
/// distributed, so a polynomial of degree d that is not zero is 0 with probability at most d / (p - 1) (Schwartz, Zippel). Two calls whose first
/// arguments differ here differ as polynomials in the first: they meet with at most its degree / (p - 1). Other pairs are counted with the highest
/// degree of their arguments, though most of them are the same call on two ranks. An optimizer leaves zeros as they are: that is one call more of
/// each function. The last term is what is compared at the end.
///
///   (sum over functions (pairs that differ in the first x degree of the first + other pairs x highest degree)
///    + degree compared + sum of the degrees of all that is inverted) / (p - 1)
///
/// 1,000 calls of ReLU on sums of products (degree 2), and the zero, make 500,500 pairs: 1,001,000 / 2,139,095,016 = 2^-11.
/// From 65,536 calls of one function on, where a census ends, it is 1: there is none.
/// Source  sources.md#schwartz-zippel
/// Tested  proof/bound_test
[[nodiscard]] inline double bound_of_a_draw(FieldCounts counts) {
  std::map<std::uint64_t, FieldCall> degrees;
  auto ways = static_cast<double>(Degrees::read(counts.compared).of_difference());
  for (const FieldCall& line : counts.degrees) {
    FieldCall& most = degrees[line.symbol];
    most = {line.symbol, higher_degrees(most.first, line.first), higher_degrees(most.highest, line.highest)};
    if (line.symbol == FieldCensus::inverses) ways += static_cast<double>(line.first);
  }
  std::vector<FieldCall>& calls = counts.calls;
  std::sort(calls.begin(), calls.end(),
            [](const FieldCall& a, const FieldCall& b) { return a.symbol != b.symbol ? a.symbol < b.symbol : a.first < b.first; });
  const auto of_difference = [](std::uint64_t degrees_of) { return static_cast<double>(Degrees::read(degrees_of).of_difference()); };
  const auto pairs = [](std::size_t n) { return static_cast<double>(n) * (static_cast<double>(n) - 1) / 2; };
  for (std::size_t begin = 0; begin < calls.size();) {
    std::size_t end = begin;
    double equal = 0;
    while (end < calls.size() && calls[end].symbol == calls[begin].symbol) {
      const std::size_t same = end;
      while (end < calls.size() && calls[end].symbol == calls[same].symbol && calls[end].first == calls[same].first) ++end;
      equal += pairs(end - same);
    }
    if (end - begin >= FieldCensus::most_calls) return 1;
    const FieldCall& degree = degrees[calls[begin].symbol];
    ways += (pairs(end - begin + 1) - equal) * of_difference(degree.first) + equal * of_difference(degree.highest);
    begin = end;
  }
  return ways / static_cast<double>(Field::modulus - 1);
}

/// The same for a model whose labels or token ids are drawn among `choices`; 1: there are none.
///
/// Labels and ids are no variables of a polynomial. A plan that takes those of other rows computes the same in a draw if they happen to be equal:
/// with probability 1 / choices. Of ten classes one draw is right with 1/10, thirteen with 2^-43. A mistake that shows with one label alone, or with
/// one pair of them, is seen only if a draw has it: the bound says nothing of that. Tested  proof/bound_test
[[nodiscard]] inline double with_choices(double bound_of_one, std::int64_t choices) {
  return choices > 1 ? bound_of_one + 1 / static_cast<double>(choices) : bound_of_one;
}

/// How many draws, and the logarithm to base 2 of the bound of them all. Of 2^-6 a draw seven make 2^-42.
struct Draws {
  static constexpr int least = 5;
  static constexpr int most = 200;
  static constexpr double wanted = -40;   ///< the bound of all draws is below 2^-40
  static constexpr double useful = 0.75;  ///< a bound of one draw above it is none
  int count = least;
  double log2_of_bound = 0;  ///< 0: there is none
};

/// What a program may say of a proof. Without it there are draws until a wrong plan passes with a probability below 2^-40, but at most 200.
struct ProofOptions {
  Seed seed{1};
  std::chrono::nanoseconds deadline = std::chrono::seconds{60};
  int most_draws = Draws::most;  ///< fewer give a weaker bound, and the Proof is false; at least 1 is made
};

/// Tested  proof/bound_test
[[nodiscard]] inline Draws draws_for(double bound_of_one, int most = Draws::most) {
  Draws draws;
  most = std::max(most, 1);
  draws.count = std::min(Draws::least, most);
  if (!(bound_of_one < Draws::useful)) return draws;
  const double each = std::log2(std::max(bound_of_one, 1 / static_cast<double>(Field::modulus)));
  draws.count = std::clamp(static_cast<int>(std::floor(Draws::wanted / each)) + 1, 1, most);
  if (draws.count < Draws::least) draws.count = std::min(Draws::least, most);
  draws.log2_of_bound = draws.count * each;
  return draws;
}

}  // namespace heddle::proof_room

namespace heddle::extending {
using proof_room::ProofOptions;
}  // namespace heddle::extending
