// SPDX-License-Identifier: MIT
#include "heddle/run/labels.hpp"

#include <doctest/doctest.h>

#include "heddle/graph/losses/cross_entropy.hpp"
#include "says.hpp"

using namespace heddle;
using heddle::tests::sentence;
using run_room::refuse_other_labels;

TEST_CASE("a label that is no class is refused with its row, position, loss and number, unless it counts nothing") {
  TargetRanges row;
  row.append({0, 2, 10, &CrossEntropyWith<Ignored<-100>>::counts, false, "digit"});
  row.append({2, 1, 0, nullptr, false, "angle"});
  const TargetValue targets[] = {0, 9, 0.5F, -100, 3, 2.5F};
  refuse_other_labels(row, targets, 2, 3, 0);
  const TargetValue wrong[] = {0, 9, 0.5F, -100, 10, 2.5F};
  refuse_other_labels(row, wrong, 1, 3, 0);
  CHECK(sentence([&] { refuse_other_labels(row, wrong, 2, 3, 8); }) ==
        "[heddle.D08] row 9 of the batch has label 10 at position 1 for 'digit', which has 10 classes. Fix: use labels from 0 to 9.");
}

TEST_CASE("of one loss the model is named") {
  const TargetRanges row = graph_room::target_ranges_of<CrossEntropy>(Spec{Shape{4}});
  const std::int32_t targets[] = {3, -1};
  CHECK(sentence([&] { refuse_other_labels(row, targets, 2, 1, 0); }) ==
        "[heddle.D08] row 1 of the batch has label -1, but the model gives 4 classes. Fix: use labels from 0 to 3.");
  CHECK(run_room::label_at(targets, 1) == -1);
}
