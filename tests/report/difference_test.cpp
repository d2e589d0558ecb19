// SPDX-License-Identifier: MIT
#include "heddle/report/difference.hpp"

#include <doctest/doctest.h>

#include <string>

#include "heddle/heddle.hpp"

using namespace heddle;

namespace {

struct Small : Sequential<Linear<64, 64, NoBias>, ReLU, Linear<64, 10, NoBias>> {};
template <class Policy> using Training = Plan<Small, CrossEntropy, Adam, Batch<64>, Grain<16>, Policy>;
using Alone = Training<Single>;
using Spread = Training<DataParallel<2>>;
using Staged = Training<Pipeline<Balanced<2>, OneFOneB, Microbatches<4>>>;
using Split = Training<TensorParallel<2>>;

}  // namespace

TEST_CASE("a difference is a constant: the second plan less the first") {
  constexpr auto spread = difference<Alone, Spread>();
  static_assert(spread.devices() == 1 && spread.memory() < 0_B && spread.same_bits);
  static_assert(spread.moved() == traffic<Spread>().total() && spread.messages() == traffic<Spread>().messages());
  static_assert(spread.first.memory == peak_memory<Alone>() && spread.second.memory == peak_memory<Spread>());
  static_assert(difference<Spread, Alone>().memory() == Bytes{0} - spread.memory() && difference<Spread, Alone>().devices() == -1);
  static_assert(difference<Alone, Alone>().memory() == 0_B && difference<Alone, Alone>().instructions() == 0);
  static_assert(difference<Alone, Staged>().idle_percent() == bubble_percent(Staged::training) && difference<Alone, Staged>().instructions() > 0);
  static_assert(!difference<Alone, Split>().same_bits);
}

TEST_CASE("the text has a column for each plan, the difference and the ratio") {
  const std::string text = difference<Alone, Spread>().text();
  CAPTURE(text);
  CHECK(text.find("A  Single\nB  DataParallel<2>\n") == 0);
  CHECK(text.find("\ndevices  ") != std::string::npos);
  CHECK(text.find("     1        2       +1   2.00\n") != std::string::npos);
  CHECK(text.find("\nbytes a step moves                     0   37,888  +37,888      -\n") != std::string::npos);
  CHECK(text.ends_with("\nboth end with the same parameters, to the last bit\n"));
  using Roomy = Plan<Small, CrossEntropy, Adam, Batch<64>, Grain<16>, Hybrid<TensorParallel<2>, DataParallel<2>>, Memory<4_MiB>>;
  CHECK(difference<Alone, Roomy>().text().find("B  Hybrid<TensorParallel<2>, DataParallel<2>>, Memory<4_MiB>") != std::string::npos);
  using Again = Plan<Small, CrossEntropy, Adam, Recompute<ReLU>, Batch<64>, Grain<16>, Single>;
  struct Mine : Plan<Small, CrossEntropy, Adam, Batch<128>, Single> {};
  CHECK(difference<Alone, Again>().text().find("A  Single\nB  Single, Recompute<ReLU>\n") == 0);
  CHECK(difference<Again, Mine>().text().find("A  Single, Recompute<ReLU>, Batch<64>, Grain<16>\nB  Single, Batch<128>\n") == 0);
  CHECK(difference<Alone, Staged>().text().find("\nidle % of the stages  ") != std::string::npos);
  CHECK(difference<Alone, Staged>().text().find(idle_words(Staged::training).substr(12, 4)) != std::string::npos);  // as the summary says it
  CHECK(difference<Alone, Split>().text().find("\n[heddle.B12] the plans do not end with the same bits: axis tensor has 1 and 2 ranks") !=
        std::string::npos);
}
