// SPDX-License-Identifier: MIT
#include "equivalence/equal.hpp"

using namespace equivalence;

namespace {

template <class Rows, class... Parts> using Of = Plan<Mlp, CrossEntropy, Adam, Rows, Grain<4>, Parts...>;
using Kept = Batch<64, KeepLast>;
using Pad = Batch<64, PadLast>;
using Drop = Batch<64, DropLast>;

/// Every third batch is not whole: 51 rows end inside a grain and leave ranks with fewer or no rows.
std::int64_t every_third(int step) { return step % 3 == 2 ? 51 : 64; }
/// Only one rank has anything to do, and only one row.
std::int64_t one_row(int step) { return step % 4 == 1 ? 1 : 64; }
std::int64_t all_numbers(int step) { return 1 + step * 3; }

}  // namespace

TEST_CASE("a smaller last batch that is kept gives the same bits under every plan") {
  using Alone = Of<Kept, Single>;
  check_same_bits<Of<Kept, DataParallel<2>>, Alone>(&every_third);
  check_same_bits_as_data<Of<Kept, DataParallel<4>, Bucket<1_KiB>>, Alone>(&every_third);
  check_same_bits_as_data<Of<Kept, Pipeline<Balanced<2>>>, Alone>(&every_third);
  check_same_bits_as_data<Of<Kept, Pipeline<Balanced<3>, OneFOneB, Microbatches<8>>>, Alone>(&every_third);
  check_same_bits_as_data<Of<Kept, Single, Accumulate<4>>, Alone>(&every_third);
  check_same_bits_as_data<Of<Kept, Hybrid<Pipeline<Balanced<2>, GPipe, Microbatches<4>>, DataParallel<2>>>, Alone>(&every_third);
}

TEST_CASE("a last batch of one row gives the same bits under every plan") {
  using Alone = Of<Kept, Single, Bucket<2_KiB>>;
  check_same_bits<Of<Kept, DataParallel<4>>, Alone>(&one_row);
  check_same_bits_as_data<Of<Kept, Pipeline<Balanced<2>, OneFOneB, Microbatches<8>>>, Alone>(&one_row);
  check_same_bits_as_data<Of<Kept, Hybrid<DataParallel<2>, Pipeline<Balanced<2>, OneFOneB, Microbatches<2>>>>, Alone>(&one_row);
}

TEST_CASE("batches of any number of rows give the same bits under every plan") {
  using Alone = Of<Kept, Single, Bucket<3_KiB>>;
  check_same_bits<Of<Kept, DataParallel<4>>, Alone>(&all_numbers);
  check_same_bits_as_data<Of<Kept, Hybrid<Pipeline<Balanced<2>, OneFOneB, Microbatches<2>>, DataParallel<2>>, Accumulate<2>>, Alone>(&all_numbers);
}

TEST_CASE("a batch of whole grains that ranks and micro-batches cut inside a grain gives the same bits under every plan") {
  using Three = Batch<12, KeepLast>;  // three grains of 4 rows
  using Alone = Of<Three, Single>;
  constexpr auto some_smaller = [](int step) -> std::int64_t { return step % 3 == 2 ? 5 : 12; };
  static_assert(Of<Three, DataParallel<2>>::training.batch.capacity() == 16 && Alone::training.batch.capacity() == 12);
  check_same_bits<Of<Three, DataParallel<2>>, Alone>(some_smaller);
  check_same_bits_as_data<Of<Three, DataParallel<4>>, Alone>(some_smaller);
  check_same_bits_as_data<Of<Three, Pipeline<Balanced<2>, GPipe, Microbatches<2>>>, Alone>(some_smaller);
  check_same_bits_as_data<Of<Three, Hybrid<Sharded<2>, Pipeline<Balanced<2>, OneFOneB, Microbatches<2>>>>, Alone>(some_smaller);
}

TEST_CASE("a smaller last batch that is filled up gives the same bits under every plan, and counts all rows") {
  using Alone = Of<Pad, Single>;
  check_same_bits<Of<Pad, DataParallel<4>>, Alone>(&every_third);
  check_same_bits_as_data<Of<Pad, Pipeline<Balanced<2>, OneFOneB, Microbatches<4>>>, Alone>(&every_third);
  for (const std::int64_t rows : reference<Alone>(&every_third).rows) CHECK(rows == 64);
}

TEST_CASE("a smaller last batch that is left out changes nothing and counts no row, under every plan") {
  using Alone = Of<Drop, Single>;
  check_same_bits<Of<Drop, DataParallel<4>>, Alone>(&every_third);
  check_same_bits_as_data<Of<Drop, Hybrid<Pipeline<Balanced<2>, OneFOneB, Microbatches<4>>, DataParallel<2>>>, Alone>(&every_third);
  CHECK(reference<Alone>(&every_third).losses.size() == 14);
  CHECK(reference<Alone>(&every_third).rows[2] == 0);
}

TEST_CASE("a batch that does not divide is kept whole: 57 rows over four replicas of 16") {
  using Odd = Of<Batch<57, KeepLast>, DataParallel<4>>;
  static_assert(Odd::training.batch.capacity() == 64);
  // One device with Batch<60>: the same grains, of which the last are empty in both.
  using Alone = Of<Batch<60, KeepLast>, Single>;
  constexpr auto odd_rows = [](int) -> std::int64_t { return 57; };
  const Run got = train<Odd>(odd_rows);
  const auto rows = rows_of<Alone>(2 * 57 + 7);
  Trainer<Alone, CpuThreads> trainer{settings<Adam>(), Seed{5}};
  for (int step = 0; step < steps; ++step) trainer.step(rows.batch(3 * step % (57 + 7), 57));
  const auto wanted = parameters_of(trainer, 0);
  for (std::size_t p = 0; p < wanted.size(); ++p)
    for (const auto& replica : got.parameters) CHECK(equal_bits(replica[p], wanted[p]));
}
