// SPDX-License-Identifier: MIT
#include "heddle/seams/pledge.hpp"

#include <doctest/doctest.h>

#include <limits>
#include <string>
#include <vector>

#include "heddle/graph/optimizers/adam.hpp"
#include "heddle/graph/optimizers/sgd.hpp"

using namespace heddle;

namespace {

std::string words(auto call) {
  try {
    call();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}
std::string differ(const CallPledge& a, const CallPledge& b) { return calls_differ(0, a, 3, b).what(); }

struct Padded {
  float rate;
  bool first;
};
struct Wide {
  double rate;
};
struct Three {
  float a, b, c;
};
static_assert(are_floats<Three, 3>() && are_floats<Adam::Constants, 8>() && !are_floats<Padded, 2>() && !are_floats<Wide, 2>());

}  // namespace

TEST_CASE("the odd ranks are those that differ from most") {
  CHECK(odd_ranks(std::vector{7, 7, 7}).empty());
  CHECK(odd_ranks(std::vector{7, 8, 7, 7}) == std::vector<int>{1});
  CHECK(odd_ranks(std::vector{8, 7, 7, 9}) == std::vector<int>{0, 3});
  CHECK(odd_ranks(std::vector{7, 8}) == std::vector<int>{1});
  CHECK(ranks_in_words({2}) == "rank 2");
  CHECK(ranks_in_words({0, 1}) == "ranks 0 and 1");
  CHECK(ranks_in_words({0, 1, 3}) == "ranks 0, 1 and 3");
}

TEST_CASE("a start that differs is one sentence that names what differs, with both values") {
  const StartPledge common{.program = 1, .ranks = 3, .seed = 4, .options = 5, .learning_rate = 0.1F};
  std::vector<StartPledge> all{common, common, common};
  CHECK(words([&] { check_start(all); }).empty());
  for (StartPledge& pledge : all) pledge.learning_rate = std::numeric_limits<float>::quiet_NaN();
  CHECK(words([&] { check_start(all); }).empty());  // what is out of range is O01, elsewhere
  all = {common, common, common};
  all[2].options = 6;
  CHECK(words([&] { check_start(all); }) ==
        "[heddle.O02] rank 2 starts with other options of the optimizer than ranks 0 and 1. Fix: set the same options in every process.");
  all[2].learning_rate = 0.3F;
  CHECK(words([&] { check_start(all); }) ==
        "[heddle.O02] rank 2 starts with another learning_rate than ranks 0 and 1: rank 2 with 0.300000012, rank 0 "
        "with 0.100000001. Fix: set the same options in every process.");
  all[0].seed = 1;
  all[1].seed = 2;
  CHECK(words([&] { check_start(all); }) ==
        "[heddle.R18] ranks 1 and 2 start with another seed than rank 0: rank 1 with 2, rank 0 with 1. Fix: give the "
        "trainer the same Seed in every process.");
  all = {common, common, common};
  for (StartPledge& pledge : all) pledge.most_draws = 200;
  all[1].most_draws = 3;
  CHECK(words([&] { check_start(all); }) ==
        "[heddle.R18] rank 1 starts with another most_draws than ranks 0 and 2: rank 1 with 3, rank 0 with 200. Fix: give prove the same "
        "seed and most_draws in every process.");
  all[1].seed = 9;
  CHECK(words([&] { check_start(all); }) ==
        "[heddle.R18] rank 1 starts with another seed than ranks 0 and 2: rank 1 with 9, rank 0 with 4. Fix: give prove the same "
        "seed and most_draws in "
        "every process.");
  all[1].program = 2;
  CHECK(words([&] { check_start(all); }).find("[heddle.R08] rank 1 runs another program than ranks 0 and 2. Fix: ") == 0);
}

TEST_CASE("ranks that were compiled otherwise are told with every flag that both say and that differs") {
  std::vector<StartPledge> all(3);
  for (StartPledge& pledge : all) pledge.build = "the compiler=g++ 12;AVX=off;AVX2=off;-ffast-math=off;";
  CHECK(words([&] { check_start(all); }).empty());
  all[1].build = "the compiler=g++ 12;AVX=off;AVX2=on;-ffast-math=on;";
  CHECK(words([&] { check_start(all); }) ==
        "[heddle.R08] rank 1 was compiled otherwise than ranks 0 and 2: AVX2 is on in rank 1 and off in rank 0, -ffast-math is on in rank 1 and off "
        "in rank 0. Fix: start the same binary in every process, or compile each with the same compiler and the same flags.");
  all[0].build = all[1].build;
  all[2].build = "the compiler=clang 14;AVX=off;AVX2=on;-ffast-math=on;";
  CHECK(words([&] {
          check_start(all);
        }).find("rank 2 was compiled otherwise than ranks 0 and 1: the compiler is clang 14 in rank 2 and g++ 12 in ") != std::string::npos);
  all[2].build = "AVX2=on;-ffast-math=on;the version of Eigen=3.4.0;";  // what only one of them knows tells nothing
  CHECK(words([&] { check_start(all); }).empty());
  all[2].build = "AVX2";
  CHECK(words([&] { check_start(all); }).empty());
}

TEST_CASE("another version of Heddle is told by its version before all that it may mean otherwise") {
  std::vector<StartPledge> all(3);
  all[2].version += 2'003;
  all[2].program = 4;
  CHECK(words([&] { check_start(all); }) ==
        "[heddle.R08] rank 2 runs another version of Heddle than ranks 0 and 1: rank 2 with 0.3.3, rank 0 with 0.1.0. Fix: compile the program of "
        "every process with the same version of Heddle.");
  all[2] = {.size = 40};
  CHECK(words([&] { check_start(all); }).find("ranks 0 and 1: rank 2 with 0.1.0 in another state, rank 0 with 0.1.0. Fix: ") != std::string::npos);
  all[2] = {.mark = 7, .version = 4, .size = 0};
  CHECK(words([&] { check_start(all); }).find("ranks 0 and 1: rank 2 with an earlier one, rank 0 with 0.1.0. Fix: ") != std::string::npos);
}

TEST_CASE("calls that differ are one sentence, the cause before what follows from it") {
  const CallPledge common{.options = 1, .learning_rate = 0.5F, .order = 2, .rows = 16, .number = 4, .call = CallPledge::step, .reports = 1};
  CallPledge other = common;
  other.options = 2;
  CHECK(differ(common, other) ==
        "[heddle.O02] rank 0 makes step 4 with other options of the optimizer, of the loss, of the clip or of the loss scale than rank 3. "
        "Fix: set the same options in every process.");
  other.learning_rate = 0.25F;
  CHECK(differ(common, other) ==
        "[heddle.O02] rank 0 makes step 4 with learning_rate 0.5, rank 3 with 0.25. Fix: set the same options in every process.");
  other.reports = 0;
  CHECK(differ(common, other) ==
        "[heddle.R19] rank 0 makes step 4 and reports its loss, rank 3 does not report it. Fix: give on_step the same Every "
        "in every process, and let first_process() decide who prints.");
  CHECK(differ(other, common).find("rank 0 makes step 4 without its loss, rank 3 reports it. Fix: ") != std::string::npos);
  other.targets = 1;
  CHECK(differ(common, other) ==
        "[heddle.T10] rank 0 makes step 4 with other targets than rank 3: another number of them counts, or their classes weigh otherwise. "
        "Fix: give every process the whole batch.");
  other.order = 3;
  CHECK(differ(common, other) ==
        "[heddle.T10] rank 0 makes step 4 with other rows, or the same rows in another order, than rank 3. Fix: shuffle with the "
        "same seed and epoch in every process.");
  other.rows = 8;
  CHECK(differ(common, other) == "[heddle.T10] rank 0 makes step 4 with 16 rows, rank 3 with 8. Fix: give every process the whole batch.");
  other.call = CallPledge::evaluation;
  CHECK(differ(common, other) ==
        "[heddle.T10] rank 0 makes step 4, rank 3 evaluates after step 4. Fix: make the same calls in the same order in every "
        "process.");
  other.call = CallPledge::prediction;
  CHECK(differ({}, other).find("rank 0 is in no step, rank 3 predicts after step 4. Fix: ") != std::string::npos);
}

TEST_CASE("every option that takes part in a step changes the hash of the constants, and padding is never read") {
  const auto hash = [](const MomentumSGD::Options& options) { return hash_of_constants(MomentumSGD::constants(options, 2)); };
  const std::uint32_t usual = hash({});
  CHECK(usual == hash({}));
  CHECK(usual != 0);
  CHECK(usual != hash({.learning_rate = 2e-3}));
  CHECK(usual != hash({.momentum = 0.8}));
  CHECK(usual != hash({.dampening = 0.1}));
  CHECK(usual != hash({.weight_decay = 0.1}));
  CHECK(usual != hash({.nesterov = true}));
  CHECK(hash_of_constants(Padded{1, true}) == 0);
  CHECK(hash_of_constants(Wide{1}) == 0);
  CHECK(learning_rate_of(Adam::Options{.learning_rate = 0.5}) == 0.5F);
  CHECK(learning_rate_of(Padded{}) == 0);
  CHECK(hash_of_number(1.0, 1) != hash_of_number(1.0000001, 1));
}
