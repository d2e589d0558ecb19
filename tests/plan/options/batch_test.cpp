// SPDX-License-Identifier: MIT
#include "heddle/plan/options/batch.hpp"

#include <doctest/doctest.h>

using namespace heddle;

namespace {

constexpr Graph no_graph{};

/// `shard` x `data` ranks that split the batch, M micro-batches of a pipeline.
constexpr Layout split(int data, int micro_batches = 1, int shard = 1, bool in_sequence = true) {
  Layout layout{no_graph};
  if (shard > 1) {
    layout.claim(axis::shard, shard);
    layout.splits_batch(axis::shard);
  }
  layout.claim(axis::data, data);
  layout.splits_batch(axis::data);
  layout.micro_batches = micro_batches;
  layout.order.in_sequence = in_sequence;
  return layout;
}

constexpr BatchDivision divided(int batch, Remedy remedy, int data, int micro_batches = 1, int rounds = 1, int grain = 0, bool reproducible = false) {
  return divide_batch(split(data, micro_batches), BatchRequest{batch, remedy, rounds, grain, reproducible});
}

/// The same rows in the same grains.
bool same_division(const BatchDivision& a, const BatchDivision& b) {
  return a.fault.ok() && b.fault.ok() && a.micro_rows == b.micro_rows && a.grain_rows == b.grain_rows && a.tree == b.tree;
}

}  // namespace

TEST_CASE("a batch that divides is divided evenly, whatever the remedy") {
  for (const Remedy remedy : {Remedy::none, Remedy::drop, Remedy::pad, Remedy::keep}) {
    const BatchDivision d = divided(64, remedy, 4, 2);
    CHECK(d.fault.ok());
    CHECK(d.micro_rows == 8);
    CHECK(d.rank_rows() == 16);
    CHECK(d.capacity() == 64);
    CHECK(d.total_micro_batches() == 2);
  }
}

TEST_CASE("63 rows over 4 replicas are refused without a remedy, with the nearest batches") {
  constexpr BatchDivision d = divided(63, Remedy::none, 4);
  static_assert(d.fault.code == Code{'B', 1});
  static_assert(d.fault.numbers[0] == 63 && d.fault.numbers[1] == 4);
  CHECK(d.fault.sentence().view() ==
        "[heddle.B01] Batch<63> does not divide by 4 ranks. Fix: use 60 or 64 rows, or name DropLast, PadLast or KeepLast.");
  CHECK(divided(63, Remedy::none, 4, 2).fault.words.view().find("by 4 ranks x 2 micro-batches. Fix: use 56 or 64 rows") != std::string_view::npos);
  CHECK(divided(63, Remedy::none, 1, 4).fault.words.view().find("by 4 micro-batches. Fix: use 60 or 64 rows") != std::string_view::npos);
}

TEST_CASE("DropLast leaves rows out, PadLast and KeepLast have room for all") {
  constexpr BatchDivision drop = divided(63, Remedy::drop, 4);
  static_assert(drop.fault.ok() && drop.micro_rows == 15 && drop.capacity() == 60);
  constexpr BatchDivision pad = divided(63, Remedy::pad, 4);
  static_assert(pad.fault.ok() && pad.micro_rows == 16 && pad.capacity() == 64);
  constexpr BatchDivision keep = divided(63, Remedy::keep, 4);
  static_assert(keep.fault.ok() && keep.micro_rows == 16 && keep.capacity() == 64);
  CHECK(divided(65, Remedy::keep, 4, 2, 2).micro_rows == 5);
  CHECK(divided(65, Remedy::drop, 4, 2, 2).micro_rows == 4);
}

TEST_CASE("capacities of remedies for every batch: drop at most B, pad and keep at least B, less than one part apart") {
  for (int ranks = 1; ranks <= 5; ++ranks)
    for (int micro_batches = 1; micro_batches <= 4; ++micro_batches)
      for (int batch = ranks * micro_batches; batch <= 50; ++batch) {
        const int parts = ranks * micro_batches;
        const int dropped = divided(batch, Remedy::drop, ranks, micro_batches).capacity();
        const int padded = divided(batch, Remedy::pad, ranks, micro_batches).capacity();
        const int kept = divided(batch, Remedy::keep, ranks, micro_batches).capacity();
        CHECK((dropped <= batch && batch - dropped < parts));
        CHECK((padded >= batch && padded - batch < parts));
        CHECK(kept == padded);
        CHECK(divided(batch, Remedy::none, ranks, micro_batches).fault.ok() == (batch % parts == 0));
      }
}

TEST_CASE("a batch smaller than its parts is refused, whatever the remedy") {
  for (const Remedy remedy : {Remedy::none, Remedy::drop, Remedy::pad, Remedy::keep}) {
    const BatchDivision d = divided(7, remedy, 4, 2);
    CHECK(d.fault.code == Code{'B', 2});
    CHECK(d.fault.sentence().view() ==
          "[heddle.B02] Batch<7> is smaller than the 4 ranks x 2 micro-batches that split it. Fix: use a batch of at least 8 rows.");
  }
  CHECK(divided(8, Remedy::none, 4, 2).fault.ok());
}

TEST_CASE("a batch that does not divide is told by what: ranks, the rounds of Accumulate, micro-batches") {
  CHECK(divided(64, Remedy::none, 1, 1, 3).fault.sentence().view() ==
        "[heddle.B01] Batch<64> does not divide by 3 rounds. Fix: use 63 or 66 rows, or name DropLast, PadLast or KeepLast.");
  CHECK(divided(64, Remedy::none, 2, 4, 3)
            .fault.sentence()
            .view()
            .starts_with("[heddle.B01] Batch<64> does not divide by 2 ranks x 3 rounds x 4 micro-batches."));
}

TEST_CASE("eight ranks that do not split the batch take a batch of 4") {
  Layout layout{no_graph};
  layout.claim(axis::tensor, 8);
  constexpr BatchRequest four{4, Remedy::none, 1, 0, false};
  const BatchDivision d = divide_batch(layout, four);
  CHECK(d.fault.ok());
  CHECK(d.ranks == 1);
  CHECK(d.micro_rows == 4);
  CHECK(divide_batch(split(8), four).fault.code == Code{'B', 2});
}

TEST_CASE("nothing cannot be divided") {
  CHECK(divided(0, Remedy::keep, 1).fault.code == Code{'B', 2});
  CHECK(divided(64, Remedy::keep, 1, 1, 0).fault.code == Code{'B', 2});
  CHECK(divided(64, Remedy::keep, 1, 1, 1, -1).fault.code == Code{'B', 3});
  constexpr BatchDivision d = divided(-3, Remedy::none, 2);
  static_assert(d.fault.code == Code{'B', 2});
  CHECK(d.fault.words.view().find("Batch<-3>") != std::string_view::npos);
  CHECK(divided(64, Remedy::none, 2, 1, 0).fault.words.view().find("Accumulate<0>") != std::string_view::npos);
  CHECK(divided(64, Remedy::none, 2, 1, 1, -1).fault.words.view().find("a Grain of no rows sums nothing") != std::string_view::npos);
}

TEST_CASE("the grain is a micro-batch of a replica unless named, and must divide it") {
  static_assert(divided(64, Remedy::none, 2, 2).grain_rows == 16);
  static_assert(divided(64, Remedy::none, 2, 2).grains() == 1);
  static_assert(divided(64, Remedy::none, 2, 2, 1, 8).grains() == 2);
  static_assert(divided(64, Remedy::none, 2, 2, 1, 8).rank_grains() == 4);
  constexpr BatchDivision d = divided(64, Remedy::none, 2, 2, 1, 6);
  static_assert(d.fault.code == Code{'B', 3});
  CHECK(d.fault.sentence().view() == "[heddle.B03] Grain<6> does not divide the 16 rows of a micro-batch. Fix: use a grain that divides 16.");
  CHECK(divided(64, Remedy::none, 1, 1, 1, 128).fault.code == Code{'B', 3});
}

TEST_CASE("KeepLast rounds an uneven micro-batch up to whole grains") {
  constexpr BatchDivision d = divided(51, Remedy::keep, 1, 2, 1, 8);
  static_assert(d.fault.ok() && d.micro_rows == 32 && d.grains() == 4 && d.capacity() == 64);
  CHECK(divided(51, Remedy::pad, 1, 2, 1, 8).fault.code == Code{'B', 3});
}

TEST_CASE("KeepLast leaves the last grain short on one device as on several, whether or not the batch is whole grains") {
  constexpr BatchDivision one = divided(63, Remedy::keep, 1, 1, 1, 16);
  static_assert(one.fault.ok() && one.grains() == 4 && one.capacity() == 64 && one.grain_rows == divided(63, Remedy::keep, 4, 1, 1, 16).grain_rows);
  static_assert(divided(63, Remedy::keep, 1, 3, 1, 16).fault.ok());  // 21 rows a micro-batch: 32
  static_assert(divided(64, Remedy::keep, 1, 1, 1, 48).capacity() == 96);
  static_assert(divided(63, Remedy::none, 1, 1, 1, 16).fault.code == Code{'B', 3});
  static_assert(divided(48, Remedy::keep, 2, 1, 1, 16).capacity() == 64);  // 24 rows a rank: 32
  for (int rows = 46; rows <= 49; ++rows) CHECK(same_division(divided(rows, Remedy::keep, 2, 1, 1, 16), divided(48, Remedy::keep, 2, 1, 1, 16)));
  CHECK(divided(64, Remedy::keep, 8, 1, 1, 16).capacity() == 128);  // half of the ranks have no rows
}

TEST_CASE("with KeepLast no number of rows is refused for its grain: each part is whole grains, with room for all rows") {
  for (int rows = 24; rows <= 200; ++rows)
    for (const int grain : {1, 3, 8, 16, 64})
      for (const int micro_batches : {1, 2, 3}) {
        const BatchDivision d = divided(rows, Remedy::keep, 8, micro_batches, 1, grain);
        CAPTURE(rows);
        CAPTURE(grain);
        CAPTURE(micro_batches);
        CHECK((d.fault.ok() || d.fault.code == Code{'B', 4}));
        CHECK(d.grain_rows == grain);
        CHECK((d.micro_rows % grain == 0 && d.capacity() >= rows && d.capacity() < rows + 8 * micro_batches * grain));
      }
}

TEST_CASE("a division of counts beyond an int is refused") {
  static_assert(divided(2'147'483'647, Remedy::keep, 4).fault.code == Code{'B', 11});
  static_assert(divided(2'147'483'647, Remedy::keep, 1, 1, 1, 16).fault.code == Code{'B', 11});
  static_assert(divided(2'147'483'647, Remedy::none, 1, 65'536, 65'536).fault.code == Code{'B', 11});
  CHECK(divided(2'147'483'644, Remedy::keep, 4).capacity() == 2'147'483'644);
}

TEST_CASE("sums follow the tree with one grain a rank, with a named grain, or when asked for") {
  static_assert(divided(64, Remedy::none, 4).tree);
  static_assert(!divided(64, Remedy::none, 4, 2).tree);
  static_assert(divided(64, Remedy::none, 4, 2, 1, 4).tree);
  static_assert(divided(64, Remedy::none, 4, 2, 1, 0, true).tree);
  CHECK(divided(64, Remedy::none, 4, 2, 1, 0, true).rank_grains() == 2);
}

TEST_CASE("the binary counter has floor(log2(grains)) + 1 levels, one if sums are no tree") {
  for (int grains = 1; grains <= 64; ++grains) {
    int levels = 0;
    for (int n = grains; n > 0; n /= 2) ++levels;
    CHECK(divided(grains, Remedy::none, 1, 1, 1, 1).levels() == levels);
  }
  CHECK(divided(64, Remedy::none, 4, 2).levels() == 1);
}

TEST_CASE("several ranks of a number of grains that is no power of two are refused, one rank is not") {
  constexpr BatchDivision two_of_three = divided(6, Remedy::none, 2, 1, 1, 1);
  static_assert(two_of_three.fault.code == Code{'B', 4});
  static_assert(two_of_three.fault.numbers[0] == 3 && two_of_three.fault.numbers[1] == 2);
  CHECK(two_of_three.fault.sentence().view() ==
        "[heddle.B04] sums are to be reproducible, but the number of grains per rank is 3, which is no power of two, while 2 ranks split the batch. "
        "Fix: make that number a power of two, or drop Grain and Reproducible.");
  static_assert(divided(12, Remedy::none, 3, 1, 1, 1).fault.ok());                 // 3 ranks of 4 grains: the outermost axis may be any number
  static_assert(divided(3, Remedy::none, 1, 1, 1, 1).fault.ok());                  // 1 rank of 3 grains: the tree is the rank's own
  static_assert(divided(6, Remedy::none, 2, 1, 3, 1).fault.code == Code{'B', 4});  // 3 rounds of 1 grain are 3 grains as well
  CHECK(divided(6, Remedy::none, 2, 3).fault.ok());                                // no tree was asked for
}

TEST_CASE("of two axes that split the batch the inner one must be a power of two") {
  constexpr BatchRequest grains{48, Remedy::none, 1, 2, false};
  CHECK(divide_batch(split(3, 1, 2), grains).fault.ok());  // shard 2 inside data 3: 24 / 3 = 8 rows, 4 grains
  constexpr BatchDivision inner = divide_batch(split(2, 1, 3), grains);
  static_assert(inner.fault.code == Code{'B', 4});
  CHECK(inner.fault.words.view().find("the size of an inner axis is 3") != std::string_view::npos);
}

TEST_CASE("orders that visit micro-batches out of sequence have no reproducible sum") {
  constexpr BatchRequest grains{64, Remedy::none, 1, 2, false};
  constexpr BatchDivision found = divide_batch(split(2, 4, 1, false), grains);
  static_assert(found.fault.code == Code{'B', 4});
  CHECK(found.fault.sentence().view() ==
        "[heddle.B04] sums are to be reproducible, but the order visits micro-batches out of sequence. Fix: use another order, or drop Grain and "
        "Reproducible.");
  CHECK(divide_batch(split(2, 4, 1, true), grains).fault.ok());
  CHECK(divide_batch(split(2, 4, 1, false), BatchRequest{64, Remedy::none, 1, 0, false}).fault.ok());
}
