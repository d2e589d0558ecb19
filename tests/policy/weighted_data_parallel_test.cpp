// SPDX-License-Identifier: MIT
#include "heddle/policy/weighted_data_parallel.hpp"

#include <doctest/doctest.h>

#include "heddle/plan/options/batch.hpp"
#include "heddle/policy/hybrid.hpp"
#include "heddle/policy/sharded.hpp"
#include "policy/models.hpp"

using namespace heddle;
using namespace heddle::tests;

namespace {

template <class P>
constexpr Layout answer_of = [] {
  Layout layout{graph_of<Chain>};
  P::answer(graph_of<Chain>, layout);
  return layout;
}();
constexpr BatchDivision divided(const Layout& layout, int batch, Remedy remedy = Remedy::none) { return divide_batch(layout, {batch, remedy}); }

}  // namespace

TEST_CASE("rows are in proportion to shares, and together they are the batch") {
  constexpr BatchDivision d = divided(answer_of<WeightedDataParallel<3, 1, 4>>, 64);
  static_assert(d.fault.ok() && d.micro_rows == 32 && d.capacity() == 64);
  CHECK(d.micro_rows_of(0) == 24);
  CHECK(d.micro_rows_of(1) == 8);
  CHECK(d.micro_rows_of(2) == 32);
  CHECK(d.first_row_of(1) == 24);
  CHECK(d.first_row_of(2) == 32);
  CHECK_FALSE(d.tree);
}

TEST_CASE("slices within a replica share its rows evenly") {
  constexpr BatchDivision d = divided(answer_of<Hybrid<Sharded<2>, WeightedDataParallel<3, 1>>>, 64);
  static_assert(d.fault.ok() && d.ranks == 4);
  for (const int position : {0, 1}) CHECK(d.micro_rows_of(position) == 24);
  for (const int position : {2, 3}) CHECK(d.micro_rows_of(position) == 8);
  CHECK(d.first_row_of(3) == 56);
}

TEST_CASE("equal shares are DataParallel, whatever their number") {
  static_assert(answer_of<WeightedDataParallel<2, 2>>.share_count == 0);
  constexpr BatchDivision d = divided(answer_of<WeightedDataParallel<2, 2>>, 62);
  CHECK(d.fault.ok());
  CHECK(d.tree);
}

TEST_CASE("shares are taken by their proportion: 6 and 2 are 3 and 1") {
  constexpr BatchDivision d = divided(answer_of<WeightedDataParallel<6, 2>>, 12);
  static_assert(d.fault.ok() && d.micro_rows_of(0) == 9 && d.micro_rows_of(1) == 3);
  constexpr BatchDivision same = divided(answer_of<WeightedDataParallel<3, 1>>, 12);
  CHECK((d.shares[0] == same.shares[0] && d.shares[1] == same.shares[1] && d.share_rows == same.share_rows));
  CHECK(divided(answer_of<WeightedDataParallel<12, 8, 4>>, 6).fault.ok());
}

TEST_CASE("what does not divide is refused with the rows that do, or rounded as the remedy says") {
  constexpr BatchDivision refused = divided(answer_of<WeightedDataParallel<3, 1>>, 62);
  CHECK(refused.fault.code == Code{'B', 1});
  CHECK(refused.fault.words.view().find("Fix: use 60 or 64 rows") != std::string_view::npos);
  CHECK(divided(answer_of<WeightedDataParallel<3, 1>>, 62, Remedy::keep).capacity() == 64);
  CHECK(divided(answer_of<WeightedDataParallel<3, 1>>, 62, Remedy::drop).capacity() == 60);
  CHECK(divided(answer_of<WeightedDataParallel<3, 1>>, 3).fault.code == Code{'B', 2});
}

TEST_CASE("a share below 1 and more shares than are kept are refused") {
  CHECK(answer_of<WeightedDataParallel<3, 0>>.fault.code == Code{'M', 7});
  CHECK(answer_of<WeightedDataParallel<1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1>>.fault.code == Code{'M', 7});
  CHECK(answer_of<WeightedDataParallel<2, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1>>.fault.ok());  // as many as are kept
}
