// SPDX-License-Identifier: MIT
#include "heddle/plan/read/whole_sequences.hpp"

#include <doctest/doctest.h>

#include <string>

#include "heddle/heddle.hpp"
#include "heddle/plan/lowered.hpp"
#include "plan/plans.hpp"

using namespace heddle;
using namespace heddle::tests;

namespace {

using Pair = Residual<Linear<8, 32>, GELU, Linear<32, 8>>;
struct Framed : Sequential<Input<16, 8>, Linear<8, 8>, Repeat<2, Pair>, Linear<8, 8>> {};
struct Begins : Sequential<Input<16, 8>, Repeat<2, Pair>, Linear<8, 8>> {};
struct Uneven : Sequential<Input<15, 8>, Linear<8, 8>, Repeat<2, Pair>, Linear<8, 8>> {};
struct Unmarked : Sequential<Linear<8, 8>, Repeat<2, Pair>, Linear<8, 8>> {};

template <class Model, class Policy = TensorParallel<2, SequenceParallel>> std::string remark() {
  using Trained = Plan<Model, MeanSquaredError, Adam, Batch<8>, Policy>;
  constexpr Layout layout = plan_room::RequestOf<Trained>::layout;
  AdviceReport report;
  remark_on_whole_sequences(report, training_of<Trained>(), layout.splits_sequences);
  return report.empty() ? "" : std::string{report.remarks[0].sentence().view()};
}

}  // namespace

TEST_CASE("sequences that are split, or were not asked to be, get no remark") {
  CHECK(remark<Framed>().empty());
  CHECK(remark<Begins, TensorParallel<2>>().empty());
  CHECK(remark<Begins, DataParallel<2>>().empty());
}

TEST_CASE("the remark says why no value is split: the ends of the model, the length, or no mark") {
  CHECK(
      remark<Begins>() ==
      "[heddle.A11] SequenceParallel splits no value of Begins, so each of the 2 ranks of axis tensor holds what lies between split layers whole, "
      "because input and output of the model are whole, and so is a Repeat that begins with one or ends with the other. Fix: put a layer before and "
      "behind it, or use TensorParallel<2>.");
  CHECK(remark<Uneven>().find("because 2 does not divide its sequence of 15. Fix: use a sequence whose length 2 divides, or TensorParallel<2>.") !=
        std::string::npos);
  CHECK(remark<Unmarked>().find("because no layer marks a sequence. Fix: use TensorParallel<2>, or mark one") != std::string::npos);
}

TEST_CASE("one value in parts is enough") {
  struct Partly : Sequential<Input<16, 8>, Repeat<2, Pair>, Linear<8, 8>, Residual<Linear<8, 32>, GELU, Linear<32, 8>>, Linear<8, 8>> {};
  CHECK(remark<Partly>().empty());
  struct Whole : Sequential<Input<16, 8>, Repeat<2, Pair>, Linear<8, 8>> {};
  CHECK_FALSE(remark<Whole>().empty());
}
