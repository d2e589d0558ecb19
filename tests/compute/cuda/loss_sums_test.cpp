// SPDX-License-Identifier: MIT
#include "heddle/compute/cuda/loss_sums.hpp"

#include <doctest/doctest.h>

#include "compute/cuda/against_loops.hpp"

using namespace heddle;
using against_loops::Card;
using conformance::CardTensors;

TEST_CASE("a loss that reads a part of each position finds its vectors and targets") {
  LossCallIn<CudaMemory> call;
  call.rows = 3;
  call.features = 8 * 14;
  call.target_features = 40;
  const PlaceOfLoss place{.reads = Spec{Shape{10}}, .first = 4, .positions = 8, .stride = 14, .first_target = 5, .targets = 1};
  const LossPlaces labels(call, place, 1);
  CHECK((labels.vectors() == 24 && labels.length == 10 && !labels.packed() && !labels.dense()));
  CHECK((labels.output_of(0) == 4 && labels.output_of(9) == 112 + 14 + 4 && labels.target_of(9) == 40 + 5 + 1));
  const PlaceOfLoss several{.reads = Spec{Shape{2, 4}}, .first = 8, .positions = 8, .stride = 16, .targets = 2};
  call.features = 8 * 16;
  const LossPlaces inner(call, several, 2);  // two vectors of 4 at each position
  CHECK((inner.packed() && inner.vectors() == 48 && inner.output_of(3) == 16 + 8 + 4 && inner.target_of(3) == 3));
}

TEST_CASE("a loss that reads all of an output is dense, and packed where its vectors are") {
  LossCallIn<CudaMemory> call;
  call.rows = 2;
  call.features = 24;
  const LossPlaces labels(call, whole_output(call, 3), 3), numbers(call, whole_output(call, 24), 1);
  CHECK((labels.dense() && labels.packed() && labels.length == 8 && labels.output_of(4) == 32 && labels.target_of(4) == 4));
  CHECK((numbers.dense() && numbers.length == 24 && numbers.target_of(1) == 24));
}

TEST_CASE("what a mean divides by is what counts for the loss in hand") {
  CudaNumbers numbers;
  numbers.total_rows = 4;
  numbers.counted[1] = {8, 2.5};
  CHECK((LossDivisor{8, 1, true, false}.of(numbers) == 24 && LossDivisor{8, 1, false, false}.of(numbers) == 32));
  CHECK((LossDivisor{8, 1, true, true}.of(numbers) == 2.5 && LossDivisor{8, 0, true, false}.of(numbers) == 32));
}

TEST_CASE("one block adds the sums of any number of blocks, of none as well") {
  const Card all;
  for (const std::int64_t count : {0, 1, 255, 2048}) {
    std::vector<double> sums(static_cast<std::size_t>(count), 0.5);
    float loss = conformance::nan;
    CardTensors card;
    LossCallIn<CudaMemory> call;
    call.workspace = card.given(sums.data(), count);
    call.loss = card.made(&loss, 1);
    call.space = card.space({});
    finish_loss(call, count, 4);
    card.finish();
    CHECK(loss == static_cast<float>(count) / 8);
  }
}
