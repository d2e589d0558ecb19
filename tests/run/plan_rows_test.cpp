// SPDX-License-Identifier: MIT
#include "heddle/run/plan_rows.hpp"

#include <doctest/doctest.h>

#include <vector>

#include "heddle/heddle.hpp"
#include "heddle/io/dataset.hpp"
#include "io/idx_bytes.hpp"

using namespace heddle;
using idx_bytes::sentence;

namespace {

struct Small : Sequential<Linear<6, 4>> {};
struct Steps : Sequential<Input<2, 3>, Linear<3, 5>> {};
template <class Model, class Loss, class Rows> using Of = Plan<Model, Loss, SGD, Rows, Single>;
using Classifies = Of<Small, CrossEntropy, Batch<8>>;
using Regresses = Of<Small, MeanSquaredError, Batch<8, KeepLast>>;
using Labels = Of<Steps, CrossEntropy, Batch<8, DropLast>>;
struct Derived : Classifies {};

Dataset labelled(std::int64_t rows, std::int64_t features, int classes, std::int64_t each = 1) {
  return Dataset{LabelledRows{std::vector<float>(static_cast<std::size_t>(rows * features)),
                              std::vector<std::int32_t>(static_cast<std::size_t>(rows * each)), features, classes, each}};
}
RegressionDataset real(std::int64_t rows, std::int64_t features, std::int64_t each) {
  return RegressionDataset{RegressionRows{std::vector<float>(static_cast<std::size_t>(rows * features)),
                                          std::vector<float>(static_cast<std::size_t>(rows * each)), features, each}};
}
template <class ThePlan, class Data> std::string refusal(const Data& data) {
  return sentence([&] { static_cast<void>(data.template batches<ThePlan>()); });
}

// D12 as a value; fail/D12_labels_for_a_regression compiles one.
static_assert(RowsOfData<Classifies, std::int32_t>::found.ok() && RowsOfData<Regresses, float>::found.ok());
static_assert(RowsOfData<Classifies, float>::found.words == WrongTargets<CrossEntropy, float>::found.words);  // so that both are one error
static_assert(RowsOfData<Regresses, std::int32_t>::found.words == WrongTargets<MeanSquaredError, std::int32_t>::found.words);
static_assert(RowsOfData<Batch<8>, float>::found.code == Code{'L', 6});
static_assert(RowsOfData<Inference<Small, Batch<8>, Single>, float>::found.ok());

}  // namespace

TEST_CASE("batches of a plan have its number of rows, shuffled or not") {
  const Dataset data = labelled(24, 6, 4);
  CHECK(data.batches<Classifies>().size() == 3);
  CHECK((*data.shuffled(Seed{1}, 0).batches<Derived>().begin()).rows == 8);
  CHECK(real(20, 6, 4).batches<Regresses>().size() == 3);
  CHECK(labelled(20, 6, 5, 2).batches<Labels>().size() == 3);
  CHECK(data.batches<Inference<Small, Batch<8>, Single>>().size() == 3);
  CHECK(labelled(8, 6, 3).batches<Classifies>().size() == 1);  // fewer classes than outputs leave outputs unused
}

TEST_CASE("data that are not those of the plan are refused once, before the first step") {
  CHECK(
      refusal<Classifies>(labelled(8, 5, 4)) ==
      "[heddle.D07] the data set has 5 features a row, but Small takes 6. Fix: give rows of the model's shape, or the model the shape of the rows.");
  CHECK(refusal<Classifies>(labelled(8, 1, 4)).starts_with("[heddle.D07] the data set has 1 feature a row"));
  CHECK(refusal<Regresses>(real(8, 6, 1)) ==
        "[heddle.D07] the data set has 1 target a row, but the loss of Small takes 4. Fix: give as many targets a row as the loss takes.");
  CHECK(refusal<Labels>(labelled(8, 6, 5)).starts_with("[heddle.D07] the data set has 1 target a row, but the loss of Steps takes 2."));
  CHECK(refusal<Classifies>(labelled(8, 6, 5)) ==
        "[heddle.D08] the data set has 5 classes, but Small gives 4. Fix: give the last layer 5 outputs, or the data set its own number of classes.");
  CHECK(
      refusal<Classifies>(labelled(20, 6, 4)) ==
      "[heddle.B05] the data set has 20 rows, so its last batch has 4, and Batch<8> names no remedy. Fix: name KeepLast, PadLast or DropLast in the "
      "Batch.");
  CHECK(refusal<Classifies>(labelled(3, 6, 4)).starts_with("[heddle.B05] the data set has 3 rows, so its last batch has 3"));
  CHECK(refusal<Regresses>(real(3, 6, 4)) == "nothing was thrown");
}
