// SPDX-License-Identifier: MIT
#include "heddle/plan/read/applied_twice.hpp"

#include <doctest/doctest.h>

#include <string>

#include "heddle/heddle.hpp"

using namespace heddle;

namespace {

struct Logits : Sequential<Linear<8, 4>> {};
struct Shares : Sequential<Logits, Softmax> {};
struct Reshaped : Sequential<Input<2, 8>, Linear<8, 4>, Softmax, Flatten> {};
struct Logarithms : Sequential<Logits, LogSoftmax> {};
struct Questions : Sequential<Logits, Sigmoid> {};

template <class Model, class Loss> std::string remark() {
  AdviceReport report;
  remark_on_applied_twice<Loss>(report, graph_of<Model>);
  return report.empty() ? "" : std::string{report.remarks[0].sentence().view()};
}
struct OwnLoss {
  static constexpr std::string_view name() { return "OwnLoss"; }
};

}  // namespace

TEST_CASE("a model that ends with what its loss applies gets a remark, also behind a reshape") {
  CHECK(
      remark<Shares, CrossEntropy>() ==
      "[heddle.A12] the model ends with Softmax, but CrossEntropy takes logits and applies Softmax itself, so it is applied twice and gradients are "
      "too small. Fix: leave it out of the model that is trained; the one of a Runner may end with it.");
  CHECK(remark<Reshaped, CrossEntropyWith<Ignored<-100>>>().find("[heddle.A12] the model ends with Softmax, but CrossEntropyWith") == 0);
  CHECK(remark<Questions, BinaryCrossEntropy>().find("[heddle.A12] the model ends with Sigmoid, but BinaryCrossEntropy") == 0);
}

TEST_CASE("others get none: logits, another function, logarithms, which a softmax leaves as they are, and a loss that says nothing") {
  CHECK(remark<Logits, CrossEntropy>().empty());
  CHECK(remark<Logarithms, CrossEntropy>().empty());
  CHECK(remark<Shares, BinaryCrossEntropy>().empty());
  CHECK(remark<Questions, CrossEntropy>().empty());
  CHECK(remark<Shares, MeanSquaredError>().empty());
  CHECK(remark<Shares, OwnLoss>().empty());
}

TEST_CASE("advice gives the remark of a plan") {
  static_assert(advice<Plan<Shares, CrossEntropy, Adam, Batch<64>, Single>>().has("A12"));
  static_assert(!advice<Plan<Logits, CrossEntropy, Adam, Batch<64>, Single>>().has("A12"));
}
