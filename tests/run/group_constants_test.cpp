// SPDX-License-Identifier: MIT
#include "heddle/run/group_constants.hpp"

#include <doctest/doctest.h>

#include <cstring>

#include "heddle/graph/optimizers/adam.hpp"
#include "heddle/graph/optimizers/sgd.hpp"

using namespace heddle;

namespace {

constexpr ParameterGroup list[] = {{}, {1, 10, true}, {3, 2, false}};
constexpr std::int16_t of[] = {0, 1, 2};
constexpr ParameterGroups groups{list, of, 3};

struct Plain {
  struct Options {
    float learning_rate = 0.5F;
    int rounds = 3;
  };
};

}  // namespace

TEST_CASE("a group changes the learning rate and the weight decay, and nothing else") {
  const AdamW::Options given{.learning_rate = 0.01, .beta1 = 0.8, .epsilon = 1e-6, .weight_decay = 0.1};
  const AdamW::Options slower = options_of(given, list[1]);
  CHECK(slower.learning_rate == 0.01 / 10);
  CHECK(slower.weight_decay == 0.1);
  CHECK(slower.beta1 == 0.8);
  CHECK(slower.epsilon == 1e-6);
  const AdamW::Options faster = options_of(given, list[2]);
  CHECK(faster.learning_rate == 0.01 * 3 / 2);
  CHECK(faster.weight_decay == 0);
  CHECK(options_of(given, list[0]).learning_rate == 0.01);
}

TEST_CASE("options that lack one of them, or have it as a float, are taken") {
  CHECK(options_of(Plain::Options{}, {1, 4, false}).learning_rate == 0.125F);
  CHECK(options_of(Plain::Options{}, {1, 4, false}).rounds == 3);
}

TEST_CASE("constants are made of the options of each group, and anew in every step") {
  GroupConstants<MomentumSGD> made;
  MomentumSGD::Options options{.learning_rate = 1, .momentum = 0.5, .weight_decay = 0.25};
  const MomentumSGD::Constants* all = made.make(options, 1, groups);
  CHECK(all[0].learning_rate == 1);
  CHECK(all[1].learning_rate == 0.1F);
  CHECK(all[1].weight_decay == 0.25F);
  CHECK(all[2].learning_rate == 1.5F);
  CHECK(all[2].weight_decay == 0);
  CHECK(all[2].keep == 0);  // the first step
  options.learning_rate = 2;
  const MomentumSGD::Constants* later = made.make(options, 2, groups);
  CHECK(later == all);  // in the same memory
  CHECK(later[1].learning_rate == 0.2F);
  CHECK(later[2].keep == 0.5F);
}

TEST_CASE("without groups there is one, and its hash is that of its constants") {
  GroupConstants<SGD> made;
  const SGD::Options options{.learning_rate = 0.5, .weight_decay = 0.125};
  const SGD::Constants* one = made.make(options, 1, {});
  const SGD::Constants wanted = SGD::constants(options, 1);
  CHECK(std::memcmp(one, &wanted, sizeof wanted) == 0);
  CHECK(made.hash() == hash_of_constants(wanted));
}

TEST_CASE("the hash tells the options of every group") {
  GroupConstants<SGD> made;
  const SGD::Options options{.learning_rate = 0.5, .weight_decay = 0.125};
  (void)made.make(options, 1, groups);
  const std::uint32_t before = made.hash();
  constexpr ParameterGroup other[] = {{}, {1, 10, true}, {3, 2, true}};
  (void)made.make(options, 1, {other, of, 3});
  CHECK(made.hash() != before);
  (void)made.make(options, 1, {});
  CHECK(made.hash() != before);
}

TEST_CASE("options are refused as they are, and as they are for a group") {
  const auto refused = [](double rate) { return GroupConstants<SGD>::check({.learning_rate = rate}, groups); };
  CHECK(refused(0.1).ok());
  CHECK(refused(-1).sentence().view().find("[heddle.O01] SGD has learning_rate = -1,") == 0);
  CHECK(refused(3e38).sentence().view().find("[heddle.O01] SGD has learning_rate = 4.5e+38,") == 0);
  CHECK(GroupConstants<SGD>::check({.learning_rate = 3e38}, {}).ok());
}
