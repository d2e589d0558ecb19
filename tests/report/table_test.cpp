// SPDX-License-Identifier: MIT
#include "heddle/report/table.hpp"

#include <doctest/doctest.h>

#include <type_traits>

#include <cstdint>
#include <string>

#include "heddle/heddle.hpp"

using namespace heddle;

namespace {

struct Small : Sequential<Linear<64, 64, NoBias>, ReLU, Linear<64, 10, NoBias>> {};

struct Shared : Sequential<Linear<64, 64, NoBias>, ReLU, Tied<"again", Linear<64, 64, NoBias>, To<"0">>, Linear<64, 10, NoBias>> {};

/// The numbers that stand before "bytes" in the last line of a table.
std::int64_t bytes_named(const std::string& text) {
  std::int64_t sum = 0;
  for (std::size_t at = text.find(" bytes "); at != std::string::npos; at = text.find(" bytes ", at + 1)) {
    std::string number = text.substr(text.rfind(' ', at - 1) + 1, at - text.rfind(' ', at - 1) - 1);
    std::erase(number, ',');
    sum += std::stoll(number);
  }
  return sum;
}

template <class Model, class... Parts> void check_sum() {
  using ThePlan = Plan<Model, CrossEntropy, Adam, Batch<64>, Parts...>;
  const std::string text = table<ThePlan>();
  CAPTURE(text);
  CHECK(bytes_named(text) == traffic<ThePlan>().total().value);
}

}  // namespace

TEST_CASE("the bytes that a table names add up to all that a step moves") {
  check_sum<Small, DataParallel<4>>();
  check_sum<Small, Sharded<2>>();
  check_sum<Small, Sharded<2>, Accumulate<4>, Clip<GlobalNorm>>();
  check_sum<Small, Sharded<2, OptimizerState>, LossScaling>();
  check_sum<Small, DataParallel<2>, Guarded>();
  check_sum<Small, TensorParallel<2>, Clip<GlobalNorm>>();
  check_sum<Small, WeightedDataParallel<3, 1>>();
  check_sum<Shared, Hybrid<Pipeline<Balanced<2>, OneFOneB, Microbatches<2>>, Sharded<2, Gradients>, DataParallel<2>>>();
}

TEST_CASE("what is sharded is gathered, and a table says how much") {
  // (N-1) x (64 x 64 + 64 x 10) x 4 bytes: gradients are scattered once, parameters gathered in the forward and in the backward
  CHECK(table<Plan<Small, CrossEntropy, Adam, Batch<64>, Sharded<2>>>().find(
            "one step moves 18,944 bytes of gradients over axis shard and 37,888 bytes of gathered parameters over axis shard;") !=
        std::string::npos);
}

TEST_CASE("columns are as wide as their characters, and a word that is too long is cut between two of them") {
  const std::string umlauts = "Gr\xC3\xB6\xC3\x9F\x65";  // 5 characters, 7 bytes
  CHECK(padded(umlauts, 6) == " " + umlauts);
  CHECK(shortened(umlauts, 5) == umlauts);
  CHECK(shortened("x" + umlauts, 5) == "xG...");
  CHECK(shortened("\xC3\x9F\xC3\x9F\xC3\x9F\xC3\x9F\xC3\x9F", 4) == "\xC3\x9F...");
  Grid grid{"lr"};
  grid.add({umlauts, "1"});
  grid.add({"plain", "23"});
  CHECK(grid.text() == umlauts + "   1\nplain  23\n");
  std::string wide;
  for (int i = 0; i < 120; ++i) wide += "\xC3\xBC";
  grid.add({wide, "4"});
  const std::string text = grid.text();
  CHECK(is_utf8(text));
  CHECK(characters_of(text.substr(text.find("\xC3\xBC"))) == most_columns + 1);
  CHECK(text.ends_with("\xC3\xBC...   4\n"));
  const std::string folded = wrapped("", wide.substr(0, 160) + ' ' + wide.substr(0, 40), 0);
  CHECK(folded == wide.substr(0, 160) + '\n' + wide.substr(0, 40) + '\n');
  CHECK(wrapped("", wide.substr(0, 120) + ' ' + wide.substr(0, 40), 0).find('\n') == 161);  // 81 characters are one line
}

TEST_CASE("a table names devices, layers, memory and what moves") {
  using Spread = Plan<Small, CrossEntropy, Adam, Batch<64>, Hybrid<Pipeline<Balanced<2>, OneFOneB, Microbatches<2>>, DataParallel<2>>>;
  const std::string text = table<Spread>();
  CHECK(text.find("Small: 4 devices (stage 2 x data 2), batch 64 = 2 shares x 2 micro-batches x 16 rows\n") == 0);
  CHECK(text.find("\n    0          0             16.0            16.0            32.0") != std::string::npos);
  CHECK(text.find("\n    1        1-2") != std::string::npos);
  // 2 replicas x 2 micro-batches x 2 directions x 16 rows x 64 features x 4 bytes; 2 (N-1) x (64 x 64 + 64 x 10) x 4 bytes
  CHECK(text.find("over all ranks, one step moves 32,768 bytes between stages and 37,888 bytes of gradients over axis data;") != std::string::npos);
}

TEST_CASE("the rows of the first line multiply out to the batch, or it says what does not") {
  const auto first_line = []<class P>(std::type_identity<P>) {
    const std::string text = table<P>();
    return text.substr(0, text.find('\n'));
  };
  using Shares = Plan<Small, CrossEntropy, SGD, Batch<128>, WeightedDataParallel<3, 1>>;
  CHECK(first_line(std::type_identity<Shares>{}) == "Small: 2 devices (data 2), batch 128 = 2 shares x 1 micro-batch x 96 or 32 rows");
  using Inner = Plan<Small, CrossEntropy, SGD, Batch<64>, Hybrid<Sharded<2>, WeightedDataParallel<3, 1>>, Accumulate<2>>;
  CHECK(first_line(std::type_identity<Inner>{}).ends_with("batch 64 = 4 shares x 2 micro-batches x 12 or 4 rows"));
  using Many = Plan<Small, CrossEntropy, SGD, Batch<30>, WeightedDataParallel<5, 4, 3, 2, 1>>;
  CHECK(first_line(std::type_identity<Many>{}).ends_with("batch 30 = 5 shares x 1 micro-batch x 2 to 10 rows"));
  using Kept = Plan<Small, CrossEntropy, SGD, Batch<9, KeepLast>, DataParallel<8>>;
  CHECK(first_line(std::type_identity<Kept>{}).ends_with("batch 9 in room for 16 = 8 shares x 1 micro-batch x 2 rows"));
  using Dropped = Plan<Small, CrossEntropy, SGD, Batch<15, DropLast>, DataParallel<8>>;
  CHECK(first_line(std::type_identity<Dropped>{}).ends_with("batch 15, of which 8 are taken = 8 shares x 1 micro-batch x 1 row"));
}

TEST_CASE("the idle share of unequal replicas is that of one: a share is taken to fit the speed of its device") {
  const auto last_words = []<class P>(std::type_identity<P>) {
    const std::string text = table<P>();
    return text.substr(text.find("stages idle"));
  };
  using Shares = Plan<Small, CrossEntropy, SGD, Batch<128>, WeightedDataParallel<3, 1>>;
  CHECK(last_words(std::type_identity<Shares>{}) == "stages idle 0.0 % if only work takes time and devices are as fast as their shares are large\n");
  using Kept = Plan<Small, CrossEntropy, SGD, Batch<9, KeepLast>, DataParallel<8>>;
  CHECK(last_words(std::type_identity<Kept>{}) == "stages idle 0.0 % if only work takes time and all ranks have all their rows\n");
}

TEST_CASE("the idle share of a table is that of the stages as they are, the one that docs/tour.md prints") {
  struct Mnist : Sequential<Named<"linear1", Linear<784, 50>>, ReLU, Named<"linear2", Linear<50, 10>>> {};
  using Both = Plan<Mnist, CrossEntropy, Adam, Batch<64>, Hybrid<Pipeline<Balanced<2>, OneFOneB, Microbatches<4>>, DataParallel<2>>>;
  CHECK(
      table<Both>().ends_with("over all ranks, one step moves 25,600 bytes between stages and 318,080 bytes of gradients over axis data; stages idle "
                              "49.0 % if only work takes "
                              "time\n"));
  static_assert(bubble_percent(Both::training) == 49);  // 20 if the stages were equal
}

TEST_CASE("one device has no axis, moves nothing and is never idle") {
  using Alone = Plan<Small, CrossEntropy, SGD, Batch<64>, Single>;
  const std::string text = table<Alone>();
  CHECK(text.find("Small: 1 device (no axis)") == 0);
  CHECK(text.find("over all ranks, one step moves nothing; stages idle 0.0 %") != std::string::npos);
}

TEST_CASE("a table says what the backward runs again") {
  struct Deep : Sequential<Linear<64, 64>, Repeat<3, Sequential<Linear<64, 32, NoBias>, Tanh, Linear<32, 64>>>, Linear<64, 10>> {};
  using Again = Plan<Deep, CrossEntropy, SGD, Batch<64>, Single, Recompute<EveryBlock>>;
  constexpr std::int64_t operations = 3 * (2 * 64 * 32 + graph_of<Deep>.leaf(2).forward_flops);
  CHECK(table<Again>().find("; the backward runs " + std::to_string(operations) + " operations of a row's forward again;") != std::string::npos);
}

TEST_CASE("a device that holds two parts lists the layers of both") {
  struct A : Linear<64, 64, NoBias> {};
  struct B : Linear<64, 10, NoBias> {};
  struct Parts : Sequential<A, ReLU, B> {};
  using Back = Plan<Parts, CrossEntropy, SGD, Batch<64>, Pipeline<Stage<A, On<0>>, Stage<ReLU, On<1>>, Stage<B, On<0>>>>;
  CHECK(table<Back>().find("\n    0       0, 2") != std::string::npos);
}
