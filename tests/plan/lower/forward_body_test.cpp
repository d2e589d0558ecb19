// SPDX-License-Identifier: MIT
#include "heddle/plan/lower/forward_body.hpp"

#include <doctest/doctest.h>

#include <string>

#include "heddle/graph/layers/flatten.hpp"
#include "plan/plans.hpp"
#include "plan/symbols.hpp"

using namespace heddle;
using namespace heddle::tests;

namespace {

std::string shortly(const Program& p, int chunk) {
  std::string all;
  for (int e = p.forward_bodies[chunk].begin; e < p.forward_bodies[chunk].end; ++e) {
    constexpr const char* words[] = {
        "input", "targets", "leaf", "add", "copy", "loss", "leaf back", "leaf back for its input", "leaf back for its parameters", "store", "reduce"};
    all += words[static_cast<int>(p.entries[e].what)];
    if (p.entries[e].what == BodyOp::leaf_forward) all += std::to_string(p.entries[e].node);
    if (p.entries[e].when == When::reporting) all += '?';
    all += ' ';
  }
  return all;
}

struct Image : Sequential<Input<2, 4>, Flatten, Linear<8, 6>, Flatten, ReLU, Linear<6, 3>> {};

}  // namespace

TEST_CASE("a forward body loads, runs its leaves in order, and ends with the loss") {
  using P = Trained<Mnist, Single>;
  CHECK(shortly(training_of<P>(), 0) == "input leaf0 leaf1 leaf2 targets loss ");
  CHECK(shortly(evaluation_of<P>(), 0) == "input leaf0 leaf1 leaf2 store targets? loss? ");
}

TEST_CASE("the first chunk loads, the last has the loss, those between have leaves only") {
  using P = Trained<Chain, Pipeline<Balanced<3>>>;
  const Program& p = training_of<P>();
  CHECK(shortly(p, 0).substr(0, 6) == "input ");
  CHECK(shortly(p, 1).find("input") == std::string::npos);
  CHECK(shortly(p, 1).find("loss") == std::string::npos);
  CHECK(shortly(p, 2).find("targets loss ") != std::string::npos);
}

TEST_CASE("a skip of the model's input over a cut loads the input in both chunks") {
  struct OverInput : Sequential<Residual<Linear<4, 4>>, Linear<4, 3>> {};
  using P = Trained<OverInput, Pipeline<Balanced<2>>>;
  follow(training_of<P>());
  CHECK(shortly(training_of<P>(), 0) == "input leaf0 add ");
}

TEST_CASE("each entry reads what it needs, in training and in evaluation") {
  follow(training_of<Trained<Chain, Single>>());
  follow(evaluation_of<Trained<Chain, Single>>());
  follow(evaluation_of<Trained<Skips, Single>>());
  follow(evaluation_of<Trained<Skips, Pipeline<Balanced<4>>>>());
  follow(evaluation_of<Trained<Chain, Back>>());
  follow(training_of<Trained<Image, Single>>());
  follow(evaluation_of<Trained<Image, Pipeline<Balanced<4>>>>());
}

TEST_CASE("a reshape is no entry but for one copy of what its chunk did not make: it shares the place of its input") {
  CHECK(shortly(training_of<Trained<Image, Single>>(), 0) == "input copy leaf2 leaf4 leaf5 targets loss ");
}
