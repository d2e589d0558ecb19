// SPDX-License-Identifier: MIT
#include "heddle/run/arena.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <utility>

#include "sanitized.hpp"

using namespace heddle;

namespace {

void use(Arena& arena, std::int64_t offset, std::int64_t elements) { (void)arena.floats(offset, elements); }

}  // namespace

TEST_CASE("an arena has the bytes that were asked for, all zero, at a multiple of 64") {
  for (const std::int64_t bytes : {64, 4096, 64 * 1001}) {
    Arena arena{bytes};
    CHECK(arena.size() == Bytes{bytes});
    CHECK(reinterpret_cast<std::uintptr_t>(arena.bytes(0)) % 64 == 0);
    bool zero = true;
    for (std::int64_t i = 0; i < bytes; ++i) zero = zero && arena.bytes(i)[0] == std::byte{0};
    CHECK(zero);
  }
}

TEST_CASE("an offset is a place: the same offset gives the same floats, another one others") {
  Arena arena{256};
  arena.floats(64, 16)[3] = 2.5F;
  CHECK(arena.floats(64, 16)[3] == 2.5F);
  CHECK(arena.floats(64, 16) - arena.floats(0, 16) == 16);
  CHECK(reinterpret_cast<std::byte*>(arena.floats(128, 1)) == arena.bytes(128));
  CHECK(arena.floats(0, 16)[3] == 0);
}

TEST_CASE("the high-water mark is the end of the highest floats that were ever asked for") {
  Arena arena{1024};
  CHECK(arena.high_water() == Bytes{0});
  use(arena, 128, 16);
  CHECK(arena.high_water() == Bytes{192});
  use(arena, 0, 1);
  CHECK(arena.high_water() == Bytes{192});
  use(arena, 960, 16);
  CHECK(arena.high_water() == arena.size());
}

TEST_CASE("an arena of no bytes is there and empty") {
  const Arena arena{0};
  CHECK(arena.size() == Bytes{0});
  CHECK(arena.high_water() == Bytes{0});
}

TEST_CASE("an arena that is moved keeps its place") {
  Arena first{128};
  float* const place = first.floats(64, 16);
  Arena second = std::move(first);
  CHECK(second.floats(64, 16) == place);
}

TEST_CASE("memory that no system has is refused with both numbers") {
#if defined(HEDDLE_SANITIZED)
  MESSAGE("SKIPPED: a sanitizer ends the program where memory is asked for that it cannot give");
#else
  const auto refuse = [] { const Arena arena{std::int64_t{1} << 60}; };
  CHECK_THROWS_WITH_AS(refuse(), doctest::Contains("[heddle.R14] a device needs 1152921504606846976 bytes, but the system gives no such memory"),
                       Error);
#endif
}
