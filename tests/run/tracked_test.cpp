// SPDX-License-Identifier: MIT
#include "heddle/run/tracked.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "heddle/heddle.hpp"

using namespace heddle;
using namespace heddle::run_room;

namespace {

BatchDivision division(int batch, int ranks, int rounds, int grain) {
  BatchDivision d;
  d.batch = batch;
  d.ranks = ranks;
  d.rounds = rounds;
  d.micro_rows = batch / ranks / rounds;
  d.grain_rows = grain;
  return d;
}
struct Net : Sequential<Linear<4, 12>, Unflatten<3, 2, 2>, BatchNorm2d<3>, Flatten, Linear<12, 12>, Unflatten<3, 2, 2>, BatchNorm2d<3>, Flatten,
                        Linear<12, 2>> {};
template <class... Parts> using Of = Plan<Net, CrossEntropy, SGD, Batch<8>, Parts...>;

/// "0+64 80+16": what is not tracked, as begin and length.
std::string others(const Tracked& tracked, std::int64_t begin, std::int64_t elements) {
  std::string words;
  for (OtherRange range = tracked.other(begin, 0, elements); range.elements > 0; range = tracked.other(begin, range.end(), elements))
    words += (words.empty() ? "" : " ") + std::to_string(begin + range.first) + "+" + std::to_string(range.elements);
  return words;
}
std::int64_t place(const Program& p, int node, int k) { return p.parameters[p.graph->nodes[node].first_parameter + k].begin; }

}  // namespace

TEST_CASE("values are counted over all grains of all ranks, without those that have too few") {
  CHECK(counted_values(division(8, 2, 2, 2), 8, 16, 1) == 128);
  CHECK(counted_values(division(8, 2, 2, 2), 5, 16, 2) == 80);
  CHECK(counted_values(division(8, 2, 2, 2), 8, 1, 2) == 8);
  CHECK(counted_values(division(8, 2, 2, 2), 5, 1, 2) == 4);  // the third grain has one row, the fourth none
  CHECK(counted_values(division(8, 2, 2, 2), 7, 1, 2) == 6);
  CHECK(counted_values(division(8, 2, 2, 2), 1, 1, 2) == 0);
  CHECK(counted_values(division(8, 1, 1, 8), 7, 1, 2) == 7);
  CHECK(counted_values(division(8, 2, 2, 2), 0, 16, 1) == 0);
}

TEST_CASE("what is tracked lies in whole lines, and any range leaves them out") {
  const Program& p = Of<Single>::training;
  const Tracked tracked{p, 0};
  const std::int64_t first = place(p, 2, 2), second = place(p, 6, 2), end = second + 200;
  REQUIRE(place(p, 2, 3) == first + 16);
  CHECK(others(tracked, 0, end) == "0+" + std::to_string(first) + " " + std::to_string(first + 32) + "+" + std::to_string(second - first - 32) + " " +
                                       std::to_string(second + 32) + "+168");
  CHECK(others(tracked, first, 32).empty());
  CHECK(others(tracked, first + 16, 48) == std::to_string(first + 32) + "+32");
  CHECK(others(tracked, first - 16, 32) == std::to_string(first - 16) + "+16");
  CHECK(others(tracked, second, 16).empty());
  CHECK(others(tracked, second + 64, 16) == std::to_string(second + 64) + "+16");
  CHECK(others(tracked, 5, 0).empty());
  CHECK(tracked.other(first - 16, 3, 64).first == 3);  // from number 3 on, up to what is tracked
  CHECK(tracked.other(first - 16, 3, 64).elements == 13);
  CHECK(tracked.other(first - 16, 16, 40).elements == 0);
}

TEST_CASE("a step goes its momentum of the way to the mean, in the slice of a rank, and leaves padding and what is trained") {
  const Program& p = Of<Single>::training;
  const Tracked tracked{p, 0};
  const std::int64_t first = place(p, 2, 2);
  std::vector<float> values(64, 1), sums(64, 64);  // of 8 rows of 4 values: the mean is 2
  tracked.fold(first + 1, 62, values.data() + 1, sums.data() + 1, 8, FloatArithmetic::fold);
  for (std::size_t i = 0; i < values.size(); ++i) CHECK(values[i] == doctest::Approx((i > 0 && i < 3) || (i >= 16 && i < 19) ? 1.1 : 1.0));
  tracked.fold(first, 64, values.data(), sums.data(), 0, FloatArithmetic::fold);
  CHECK(values[1] == doctest::Approx(1.1));  // without rows there is nothing to go to
}

TEST_CASE("a role has its own, and a frozen layer tracks nothing") {
  using Staged = Of<Pipeline<Balanced<2>>>;
  const Program& p = Staged::training;
  int in_all = 0;
  for (int role = 0; role < 2; ++role) {
    const Tracked tracked{p, role};
    in_all += 1 << 12;
    for (OtherRange range = tracked.other(0, 0, 1 << 12); range.elements > 0; range = tracked.other(0, range.end(), 1 << 12))
      in_all -= static_cast<int>(range.elements);
  }
  CHECK(in_all == 4 * 16);
  struct Still : Sequential<Linear<4, 12>, Unflatten<3, 2, 2>, Frozen<BatchNorm2d<3>>, Flatten, Linear<12, 2>> {};
  CHECK(others(Tracked{Plan<Still, CrossEntropy, SGD, Batch<8>, Single>::training, 0}, 0, 4096) == "0+4096");
}

TEST_CASE("where ranks tell each other of their rows, values of a micro-batch are counted together") {
  CHECK(counted_values(division(8, 2, 2, 2), 8, 1, 2, true) == 8);
  CHECK(counted_values(division(8, 2, 2, 2), 5, 1, 2, true) == 5);  // of the first micro-batch three rows, of the second two
  CHECK(counted_values(division(8, 2, 2, 2), 3, 1, 2, true) == 2);  // of the second one
  CHECK(counted_values(division(8, 8, 1, 1), 2, 1, 2, true) == 2);
  CHECK(counted_values(division(8, 8, 1, 1), 2, 1, 2) == 0);
  CHECK(counted_values(division(8, 8, 1, 1), 1, 1, 2, true) == 0);
}
