// SPDX-License-Identifier: MIT
#include "heddle/mesh/placement_rules.hpp"

#include <doctest/doctest.h>

#include <vector>

#include "says.hpp"

using namespace heddle;
using heddle::tests::says;

namespace {

constexpr Placements whole{};
constexpr Placements term = placements_of<Partial<axis::data>>();
constexpr Placements part = placements_of<Shard<axis::data>>();
constexpr Placements sum = placements_of<Sum<axis::data>>();
constexpr Placements mean = placements_of<Mean<axis::data>>();

/// One number per rank of axis data, as the placement says they lie, and the number that they stand for.
struct Held {
  std::vector<double> ranks;
  [[nodiscard]] double meaning(const Placements& p) const {
    double total = 0;
    for (const double x : ranks) total += x;
    return p.at(axis::data) == Placement::partial ? total : ranks.front();
  }
};

}  // namespace

TEST_CASE("what may be added or multiplied rank by rank is the sum or product of what the operands stand for, and nothing else may") {
  const Held terms{{1, 2, 4}};
  const Held same{{3, 3, 3}};
  for (const bool a_is_term : {false, true})
    for (const bool b_is_term : {false, true}) {
      const Placements a = a_is_term ? term : whole;
      const Placements b = b_is_term ? term : whole;
      const Held& x = a_is_term ? terms : same;
      const Held& y = b_is_term ? terms : same;
      Held added_held, product;
      for (std::size_t r = 0; r < 3; ++r) {
        added_held.ranks.push_back(x.ranks[r] + y.ranks[r]);
        product.ranks.push_back(x.ranks[r] * y.ranks[r]);
      }
      CAPTURE(a_is_term);
      CAPTURE(b_is_term);
      const Placements of_product = a_is_term || b_is_term ? term : whole;
      CHECK(may_add(a, b).ok() == (added_held.meaning(a_is_term || b_is_term ? term : whole) == x.meaning(a) + y.meaning(b)));
      CHECK(may_multiply(a, b).ok() == (product.meaning(of_product) == x.meaning(a) * y.meaning(b)));
      if (may_multiply(a, b).ok()) CHECK(multiplied(a, b) == of_product);
      if (may_add(a, b).ok()) CHECK(added(a, b) == a);
    }
}

TEST_CASE("P11: an operation that is not linear on a sum not yet taken names the axes and the reduction") {
  const Diagnosis found = sums_are_taken("log", placements_of<Partial<axis::data, axis::shard>>());
  CHECK(found.code == Code{'P', 11});
  CHECK(says(found, "log is not linear, but its operand is a sum over data and shard"));
  CHECK(says(found, "all_reduce<axis::data, axis::shard>"));
  CHECK(sums_are_taken("log", part).ok());
  CHECK(may_multiply(term, placements_of<Partial<axis::shard>>()).code == Code{'P', 11});
  CHECK(may_divide(whole, term).code == Code{'P', 11});
  CHECK(may_divide(term, whole).ok());
  CHECK(may_compare(term, term).code == Code{'P', 11});  // pytorch #147180
  CHECK(may_compare(whole, term).code == Code{'P', 11});
}

TEST_CASE("P12: placements that differ do not add, and parts multiply with like parts only") {
  const Diagnosis bias = may_add(term, whole);  // pytorch #172932
  CHECK(bias.code == Code{'P', 12});
  CHECK(says(bias, "Partial<data> and Replicate cannot be added: every rank of data would add"));
  CHECK(says(may_add(whole, term), "all_reduce<axis::data>"));
  CHECK(may_add(term, placements_of<Partial<axis::shard>>()).code == Code{'P', 12});
  CHECK(says(may_add(part, whole), "all_gather<axis::data>"));
  CHECK(may_add(part, placements_of<Shard<axis::data, 1>>()).code == Code{'P', 12});
  CHECK(may_multiply(part, whole).code == Code{'P', 12});
  CHECK(may_multiply(part, part).ok());
  CHECK(may_add(part, part).ok());
}

TEST_CASE("P14: a value that leaves, or is compared, is whole") {
  CHECK(is_whole("value()", whole).ok());
  CHECK(is_whole("value()", mean).ok());
  CHECK(says(is_whole("value()", term), "a sum over data that is not yet taken"));
  CHECK(says(is_whole("value()", part), "each rank of data holds a part"));
  CHECK(may_compare(whole, part).code == Code{'P', 14});
  CHECK(may_compare(mean, whole).ok());
  CHECK(may_be_given(term, whole).code == Code{'P', 14});
  CHECK(says(may_be_given(term, mean), "call mean_over over data"));
  CHECK(says(may_be_given(part, whole), "call all_gather over data"));
  CHECK(may_be_given(mean, whole).ok());
}

TEST_CASE("P15: sums and means do not mix, and a sum is divided by a count over the same axes") {
  CHECK(may_add(sum, mean).code == Code{'P', 15});
  CHECK(may_add(sum, sum).ok());
  CHECK(may_add(mean, whole).ok());  // a penalty of the weights, added to a mean loss
  CHECK(added(whole, mean) == mean);
  CHECK(may_divide(sum, sum).ok());
  CHECK(divided(sum, sum) == mean);
  CHECK(divided(sum, whole) == whole);
  const Diagnosis wrong = may_divide(sum, placements_of<Sum<axis::data, axis::context>>());  // Megatron-LM #673
  CHECK(wrong.code == Code{'P', 15});
  CHECK(says(wrong, "along context that is the wrong divisor"));
  CHECK(may_divide(mean, sum).code == Code{'P', 15});
  CHECK(may_divide(term, sum).ok());  // each term divided by the count of all
  CHECK(divided(term, sum) == term);
  CHECK(may_be_given(sum, mean).code == Code{'P', 15});
  CHECK(may_be_given(whole, mean).code == Code{'P', 15});
  CHECK(multiplied(sum, sum) == whole);
  CHECK(multiplied(mean, whole) == mean);
  CHECK(multiplied(term, sum) == term);
}

TEST_CASE("P19: placements that contradict each other") {
  CHECK(says(placements_are_sound(placements_of<Partial<axis::data>, Shard<axis::data>>()), "name axis data"));
  CHECK(says(placements_are_sound(placements_of<Shard<axis::data, -1>>()), "none of 0 to 15"));
  CHECK(says(placements_are_sound(placements_of<int>()), "no placement"));
  CHECK(placements_are_sound(placements_of<int>()).code == Code{'P', 19});
  CHECK(placements_are_sound(term).ok());
}
