// SPDX-License-Identifier: MIT
#include "heddle/cost/search/searched_model.hpp"

#include <doctest/doctest.h>

#include "cost/search/models.hpp"

using namespace heddle;
using namespace heddle::extending;
using tests::small_model;

namespace {

struct NoBlocks : Sequential<Linear<4, 8>, ReLU, Linear<8, 2>> {};

}  // namespace

TEST_CASE("a model that is searched has its names, its two graphs, and what its optimizer keeps") {
  CHECK(small_model().model == "Searched");
  CHECK(small_model().loss == "CrossEntropy");
  CHECK(small_model().optimizer == "Adam");
  CHECK(small_model().states == 2);
  CHECK(small_model().has_blocks);
  CHECK(small_model().graph_for({}).output().type == ElementType::float32);
  CHECK(small_model().graph_for({.rounds_values = true}).output().type == ElementType::bfloat16);
  CHECK_FALSE(searched_model<NoBlocks, MeanSquaredError, SGD>().has_blocks);
  CHECK(searched_model<NoBlocks, MeanSquaredError, SGD>().target_features == 2);
}

TEST_CASE("a request divides the batch, and what cannot be is in it as a sentence") {
  const LoweringRequest sound = request_for(small_model(), {.stages = 2, .micro_batches = 4, .data = 2}, 32, 1_MB);
  CHECK(sound.layout.fault.ok());
  CHECK(sound.batch.micro_rows == 4);
  CHECK(sound.budget == 1_MB);
  CHECK(sound.fitted);
  CHECK(request_for(small_model(), {.tensor = 7}, 32, 0_B).layout.fault.code == Code{'P', 1});
  CHECK(request_for(small_model(), {.stages = 4, .micro_batches = 2}, 32, 0_B).layout.fault.code == Code{'S', 2});
  CHECK(request_for(small_model(), {.data = 3}, 32, 0_B).batch.fault.code == Code{'B', 1});
  CHECK(request_for(small_model(), {.shard = 3}, 32, 0_B).layout.fault.code == Code{'M', 5});
}

TEST_CASE("bytes are told in hundredths of the unit that suits them, up where they are what is needed") {
  using cost_room::bytes_words;
  CHECK(bytes_words(Bytes{67'350'000'000}) == "67.35 GB");
  CHECK(bytes_words(Bytes{67'354'999'999}) == "67.35 GB");
  CHECK(bytes_words(Bytes{67'350'000'001}, true) == "67.36 GB");
  CHECK(bytes_words(Bytes{67'350'000'000}, true) == "67.35 GB");
  CHECK(bytes_words(Bytes{999'999'999}) == "1.00 GB");
  CHECK(bytes_words(Bytes{203'640}) == "203.64 KB");
  CHECK(bytes_words(Bytes{2'030'000}) == "2.03 MB");
  CHECK(bytes_words(Bytes{994}) == "994 B");
  CHECK(bytes_words(Bytes{0}) == "0 B");
}
