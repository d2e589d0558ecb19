// SPDX-License-Identifier: MIT
#include "heddle/core/as_written.hpp"

#include <doctest/doctest.h>

using namespace heddle;
using core_room::as_written, core_room::bytes_as_written;

TEST_CASE("bytes have the largest unit that divides them") {
  CHECK(bytes_as_written(4 << 20) == "4_MiB");
  CHECK(bytes_as_written(1500) == "1500_B");
  CHECK(bytes_as_written(2000) == "2_KB");
  CHECK(bytes_as_written(3 << 10) == "3_KiB");
  CHECK(bytes_as_written(80'000'000'000) == "80_GB");
  CHECK(bytes_as_written(std::int64_t{1} << 34) == "16_GiB");
  CHECK(bytes_as_written(0) == "0_B");
}

TEST_CASE("names are those of a program, on each compiler, and others stay as they are") {
  CHECK(as_written("Hybrid<TensorParallel<2, WholeSequences>, Pipeline<Balanced<2> > >") == "Hybrid<TensorParallel<2>, Pipeline<Balanced<2>>>");
  CHECK(as_written("TensorParallel<2, SequenceParallel>") == "TensorParallel<2, SequenceParallel>");
  CHECK(as_written("Memory<NamedBytes{4194304, true}>, Bucket<NamedBytes{1500, true}>") == "Memory<4_MiB>, Bucket<1500_B>");
  CHECK(as_written("Memory<{4194304, true}>") == "Memory<4_MiB>");
  CHECK(as_written("Sharded<4>") == "Sharded<4>");
  CHECK(as_written("Stage<Front, void>") == "Stage<Front>");
  CHECK(as_written("Recompute<Only<Name<5>{\"block\"}>>") == "Recompute<Only<Name<5>{\"block\"}>>");
  CHECK(as_written("{") == "{");
}
