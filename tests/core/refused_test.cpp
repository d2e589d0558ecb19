// SPDX-License-Identifier: MIT
#include "heddle/core/refused.hpp"

#include <doctest/doctest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

using namespace heddle;

namespace {

constexpr RefusedNumber number{};
constexpr RefusedFact fact{};
constexpr RefusedBytes bytes{};

template <int> struct Sized {};

}  // namespace

TEST_CASE("an answer about a refused plan compares as true with everything, on either side") {
  static_assert(number == 4 && number != 4 && number > 100 && 4 <= number && number == number);
  static_assert(fact && !fact && fact == false && (!fact) == fact);
  CHECK((bytes < 2_MiB && bytes > 2_MiB && bytes == Bytes{7} && Bytes{8} == bytes && bytes.value == 9 && bytes == bytes));
}

TEST_CASE("what is computed with it compares as true as well") {
  static_assert(number + 1 == 7 && (number - 3) * 2.5 > 1e9 && 7 % number == 0);
  static_assert(bytes == 2 * 3 * Bytes{4} / number && bytes + bytes < 2_MB && bytes / 3 == 5_MB);
  CHECK(Bytes{4 * number} == bytes);
}

TEST_CASE("a loop that counts up to it ends, also inside another one, where the compiler evaluates it") {
  constexpr auto counted = [] {
    int steps = 0;
    for (int i = 0; i < number; ++i)
      for (std::size_t j = 0; j != number; ++j) ++steps;
    for (std::int64_t i = 1; i <= number; ++i) ++steps;
    return steps;
  }();
  static_assert(counted == 256 * 256 + 255);
  CHECK((255 < number && 255 != number && 4 <= bytes.value));
}

TEST_CASE("it stands where a number, a fact or bytes are needed") {
  [[maybe_unused]] std::array<char, std::size_t{number}> one{};
  [[maybe_unused]] const Sized<number> sized{};
  const Bytes taken = bytes;
  CHECK((std::to_string(number) == "1" && taken.value == 0 && one.size() == 1));
}

TEST_CASE("every call and every place of a refused word is the answer") {
  constexpr RefusedWord<RefusedBytes> sent{};
  constexpr RefusedWord<RefusedFact> has{};
  static_assert(sent() == 7_MB && sent(0, number) < 1_B && sent[3] == Bytes{4} && has('A', 3) && !has[0]);
  CHECK(5 * RefusedFlops{} < Flops{1});
}
