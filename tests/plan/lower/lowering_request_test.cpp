// SPDX-License-Identifier: MIT
#include "heddle/plan/lower/lowering_request.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "heddle/graph/frozen.hpp"
#include "heddle/graph/layers/batch_norm.hpp"
#include "heddle/graph/layers/flatten.hpp"
#include "heddle/graph/layers/input.hpp"
#include "heddle/plan/inference.hpp"
#include "heddle/plan/lowered.hpp"
#include "heddle/plan/options/groups.hpp"
#include "heddle/policy/tensor_parallel.hpp"
#include "heddle/policy/weighted_data_parallel.hpp"
#include "plan/flow.hpp"

using namespace heddle;
using namespace heddle::tests;

namespace {

struct Torn : Sequential<Linear<8, 6>, Linear<7, 3>> {};
struct Bare : Sequential<Input<4>, ReLU> {};
template <int Rows, class Model, class Policy, class... Options> using Twice = Plan<Model, CrossEntropy, Adam, Batch<Rows>, Policy, Options...>;
using Doubled = Hybrid<DataParallel<2>, DataParallel<4>>;
using Parts = Hybrid<TensorParallel<2>, DataParallel<2>>;

/// A plan with two mistakes is refused for the same one at build and as data.
template <class P> bool refused_alike(Code code) {
  constexpr Diagnosis at_build = check<P>();
  const Diagnosis as_data = check_answers(request_of<RequestOf<P>>());
  CHECK(at_build.sentence().view().substr(0, 12) == as_data.sentence().view().substr(0, 12));
  return at_build.code == code && as_data.code == code;
}

}  // namespace

TEST_CASE("of two mistakes a plan that is data is refused for the one that a Plan is refused for") {
  CHECK(refused_alike<Twice<9, Chain, DataParallel<2>, Bucket<0_B>>>({'C', 3}));
  CHECK(refused_alike<Twice<16, Chain, Single, Bucket<0_B>, Memory<Bytes{-1}>>>({'C', 2}));
  CHECK(refused_alike<Twice<9, Chain, DataParallel<2>, Memory<Bytes{-1}>>>({'C', 2}));
  CHECK(refused_alike<Twice<16, Bare, Single, Memory<Bytes{-1}>>>({'C', 2}));
  CHECK(refused_alike<Twice<16, Torn, Single, Bucket<0_B>>>({'C', 3}));
  CHECK(refused_alike<Twice<16, Bare, Single, Bucket<0_B>>>({'C', 3}));
  CHECK(refused_alike<Twice<16, Chain, Doubled, Bucket<0_B>>>({'C', 3}));
  CHECK(refused_alike<Twice<16, Chain, Parts, Reproducible, Bucket<0_B>>>({'C', 3}));
  CHECK(refused_alike<Twice<9, Torn, DataParallel<2>>>({'G', 1}));
  CHECK(refused_alike<Twice<9, Bare, DataParallel<2>>>({'G', 9}));
  CHECK(refused_alike<Twice<16, Bare, Doubled>>({'G', 9}));
  CHECK(refused_alike<Twice<9, Chain, Doubled>>({'M', 1}));
  CHECK(refused_alike<Twice<16, Chain, Hybrid<TensorParallel<2>, Doubled>, Reproducible>>({'M', 1}));
  CHECK(refused_alike<Twice<9, Chain, Parts, Reproducible>>({'B', 1}));
}

TEST_CASE("what a plan asks is taken from its type as it stands there") {
  using P = Trained<Skips, Pipeline<Balanced<2>, OneFOneB, Microbatches<4>>, Clip<GlobalNorm>, Bucket<64_B>, Recompute<GELU>, Memory<1_MB>>;
  constexpr LoweringRequest asked = request_of<P::Request>();
  static_assert(asked.clips && !asked.scales_loss && !asked.guards && !asked.reproducible && asked.trains && asked.again.any && !asked.again.blocks);
  static_assert(asked.bucket_bytes == 64_B && asked.budget == 1_MB && asked.states == Adam::states);
  CHECK(asked.layout.chunk_count == 2);
  CHECK(asked.graph.nodes == graph_of<Skips>.nodes);
  CHECK(asked.batch.total_micro_batches() == 4);
}

TEST_CASE("the answers of parts are refused at run time by the code and in the words of the build") {
  const Graph& graph = graph_of<Chain>;
  LoweringRequest asked = request_of<Trained<Chain, Single>::Request>();
  CHECK(check_answers(asked).ok());
  asked.layout.claim(axis::data, 2);
  asked.layout.claim(axis::data, 2);
  CHECK(check_answers(asked).code == Code{'M', 1});
  asked = LoweringRequest{graph, Layout{graph}, divide_batch(Layout{graph}, BatchRequest{0})};
  CHECK(check_answers(asked).code == asked.batch.fault.code);
  CHECK_FALSE(asked.batch.fault.ok());

  using Unsound = Trained<Chain, TensorParallel<2>, Reproducible>;
  asked = request_of<Trained<Chain, TensorParallel<2>>::Request>();
  asked.reproducible = true;
  CHECK(check_answers(asked).code == Code{'B', 8});
  CHECK(check_answers(asked).sentence().view() == check<Unsound>().sentence().view());

  constexpr const Graph& untrained = graph_of<Sequential<Input<4>, ReLU>>;
  asked = LoweringRequest{untrained, Layout{untrained}, divide_batch(Layout{untrained}, BatchRequest{4})};
  CHECK(check_answers(asked).code == Code{'G', 9});
  asked.trains = false;
  CHECK(check_answers(asked).ok());
}

TEST_CASE("rows that are normalised together are in a grain of the smallest share, at run time and at build; a prediction needs none") {
  struct Pixels : Sequential<Input<6, 1, 1>, BatchNorm2d<6>, Flatten, Linear<6, 3>> {};
  const auto words = [](const LoweringRequest& asked) { return std::string{check_answers(asked).sentence().view()}; };
  LoweringRequest asked = request_of<Plan<Pixels, CrossEntropy, Adam, Batch<8>, DataParallel<4>>>();
  CHECK(words(asked) == "");
  asked.batch = divide_batch(asked.layout, BatchRequest{.batch = 8, .grain_rows = 1});
  CHECK(words(asked) ==
        "[heddle.B14] layer 1 '1' BatchNorm2d<6> normalises at least 2 rows together, but those that are summed as one, a grain of one rank, are 1. "
        "Fix: give each rank a larger batch, or name a Grain of at least 2 rows.");
  CHECK(words(asked) == std::string{check<Plan<Pixels, CrossEntropy, Adam, Batch<8>, DataParallel<4>, Grain<1>>>().sentence().view()});
  asked.trains = false;
  CHECK(words(asked) == "");
  asked.trains = true;
  asked.batch.share_count = 1 << 30;  // no share is looked at before the division is found unsound
  asked.batch.share_rows = 1 << 30;
  CHECK(words(asked) ==
        "[heddle.B13] the division of Batch<8> says share_count = 1,073,741,824, but its layout makes it 0. Fix: take what divide_batch(layout, "
        "rows) gives.");
  CHECK(check<Plan<Pixels, CrossEntropy, Adam, Batch<8>, WeightedDataParallel<3, 1>>>().ok());
  CHECK(check<Plan<Pixels, CrossEntropy, Adam, Batch<4>, WeightedDataParallel<3, 1>>>().code == Code{'B', 14});
  CHECK(check<Plan<Pixels, CrossEntropy, Adam, Batch<8>, DataParallel<2>, Accumulate<4>>>().code == Code{'B', 14});
  CHECK(check<Inference<Pixels, Batch<1>, Single>>().ok());
  struct Still : Sequential<Input<6, 1, 1>, Frozen<BatchNorm2d<6>>, Flatten, Linear<6, 3>> {};
  CHECK(check<Plan<Still, CrossEntropy, Adam, Batch<4>, DataParallel<4>>>().ok());
  struct Together : Sequential<Input<6, 1, 1>, BatchNorm2d<6, Synchronised>, Flatten, Linear<6, 3>> {};
  CHECK(check<Plan<Together, CrossEntropy, Adam, Batch<8>, DataParallel<8>>>().ok());  // of all ranks
  CHECK(check<Plan<Together, CrossEntropy, Adam, Batch<8>, DataParallel<4>, Accumulate<2>>>().ok());
  CHECK(std::string{check<Plan<Together, CrossEntropy, Adam, Batch<8>, Single, Accumulate<8>>>().sentence().view()} ==
        "[heddle.B14] layer 1 '1' BatchNorm2d<6, Synchronised> normalises at least 2 rows together, but those that are summed as one, a micro-batch "
        "of all "
        "ranks, are 1. Fix: make fewer micro-batches of the batch.");
  struct Lines : Sequential<Input<6, 1, 2>, BatchNorm2d<6>, Flatten, Linear<12, 3>> {};
  CHECK(check<Plan<Lines, CrossEntropy, Adam, Batch<4>, DataParallel<4>>>().ok());
}

TEST_CASE("a division that is not the one of its layout, and options below nothing, are refused with the numbers") {
  const auto refused = [](auto change) {
    LoweringRequest asked = request_of<Trained<Skips, Pipeline<Balanced<2>, OneFOneB, Microbatches<4>>, Recompute<GELU>>>();
    CHECK(check_answers(asked).ok());
    change(asked);
    return std::string{check_answers(asked).sentence().view()};
  };
  CHECK(refused([](LoweringRequest& r) { r.batch.micro_rows = 3; }) ==
        "[heddle.B13] the division of Batch<16> says micro_rows = 3, but its layout makes it 4. Fix: take what divide_batch(layout, rows) gives.");
  CHECK(refused([](LoweringRequest& r) { r.batch.ranks = 2; }).find("[heddle.B13] the division of Batch<16> says ranks = 2") == 0);
  CHECK(refused([](LoweringRequest& r) { r.batch.grain_rows = 0; }).find("[heddle.B13]") == 0);
  CHECK(refused([](LoweringRequest& r) { r.batch.remedy = static_cast<Remedy>(9); }).find("[heddle.B13] a batch of 16 rows") == 0);
  CHECK(refused([](LoweringRequest& r) { r.batch.batch = 2; }).find("[heddle.B02]") == 0);
  CHECK(refused([](LoweringRequest& r) { r.states = -2; }) ==
        "[heddle.L19] a request names 1 targets of a row, -2 states of a parameter, room for 0 entries and 0 instructions. Fix: name nothing below "
        "0, and at most 16 states.");
  CHECK(refused([](LoweringRequest& r) { r.most_entries = -1; }).find("[heddle.L19]") == 0);
  CHECK(refused([](LoweringRequest& r) { r.bucket_bytes = 0_B; }).find("[heddle.C03]") == 0);
  CHECK(refused([](LoweringRequest& r) { r.budget = Bytes{-1}; }).find("[heddle.C02]") == 0);
  CHECK(refused([](LoweringRequest& r) { r.again.leaf = nullptr; }).find("[heddle.L05]") == 0);
  CHECK(refused([](LoweringRequest& r) { r.target_features = std::int64_t{1} << 60; }).find("[heddle.G21]") == 0);
}

TEST_CASE("a group of frozen parameters alone that no options made is refused, unless it changes nothing") {
  struct Fixed : Sequential<Linear<8, 6>, Frozen<Linear<6, 6>>, Linear<6, 3>> {};
  using P = Trained<Fixed, Single, NoDecay<>>;
  LoweringRequest asked = request_of<P>();
  REQUIRE(check_answers(asked).ok());
  REQUIRE(asked.groups.count == 2);
  std::vector<ParameterGroup> list{{}, {1, 1, false}, {1, 10, true}};
  std::vector<std::int16_t> of(asked.groups.of_parameter, asked.groups.of_parameter + asked.graph.parameter_count);
  CHECK((of[2] == 0 && of[3] == 0));  // what is frozen is of group 0, also a bias
  asked.groups = {list.data(), of.data(), 3};
  CHECK(check_answers(asked).ok());
  of[2] = 2;
  CHECK(check_answers(asked).sentence().view() ==
        "[heddle.L20] group 2 has parameters of frozen layers alone, such as layer 1 '1' Linear<6, 6>, which are not trained, so it changes nothing. "
        "Fix: give them a group of factor 1 that decays, such as group 0 of a Plan.");
  CHECK(lower(asked).fault().code == Code{'L', 20});
  of[4] = 2;  // a trained weight has it too
  CHECK(check_answers(asked).ok());
  of[4] = 0;
  list[2] = {};
  CHECK(check_answers(asked).ok());
}

TEST_CASE("groups of parameters that no options made are refused if they are none") {
  using Grouped = Trained<Skips, Single, NoDecay<>, LearningRateFactor<"0", 1, 10>>;
  static constexpr int parameters = graph_of<Skips>.parameter_count;
  const ParameterGroups made = request_of<Grouped>().groups;
  REQUIRE(made.count == 4);
  const auto refused = [&](auto change) {
    LoweringRequest asked = request_of<Grouped>();
    std::vector<ParameterGroup> list(made.list, made.list + made.count);
    std::vector<std::int16_t> of(made.of_parameter, made.of_parameter + parameters);
    asked.groups = {list.data(), of.data(), made.count};
    CHECK(check_answers(asked).ok());
    change(asked, list, of);
    CHECK(lower(asked).fault().code == check_answers(asked).code);
    return std::string{check_answers(asked).sentence().view()};
  };
  CHECK(refused([](LoweringRequest& r, auto&, auto&) { r.groups.list = nullptr; }) ==
        "[heddle.L20] Skips is to have 4 groups of parameters, or a view of them is missing. Fix: let groups show 1 to 13 groups, and the group of "
        "each of 12 parameters.");
  CHECK(refused([](LoweringRequest& r, auto&, auto&) { r.groups.of_parameter = nullptr; }).find("[heddle.L20]") == 0);
  CHECK(refused([](LoweringRequest& r, auto&, auto&) { r.groups.count = -1; }).find("[heddle.L20] Skips is to have -1 groups") == 0);
  CHECK(refused([](LoweringRequest& r, auto&, auto&) { r.groups.count = 1 << 30; }).find("[heddle.L20] Skips is to have 1,073,741,824 groups") == 0);
  CHECK(refused([](LoweringRequest&, auto& list, auto&) { list[3].denominator = 0; }) ==
        "[heddle.L21] group 3 of parameters has the factor 1 / 0, which is not above 0. Fix: name a numerator and a denominator of at least 1.");
  CHECK(refused([](LoweringRequest&, auto& list, auto&) {
          list[0].numerator = -5;
        }).find("[heddle.L21] group 0 of parameters has the factor -5 / 1") == 0);
  CHECK(refused([](LoweringRequest&, auto&, auto& of) { of[1] = 4; }) ==
        "[heddle.L20] parameter '0.bias' is of group 4, but groups are 0 to 3. Fix: name one of them.");
  CHECK(refused([](LoweringRequest&, auto&, auto& of) { of[1] = -30000; }).find("[heddle.L20] parameter '0.bias' is of group -30,000") == 0);
}

TEST_CASE("a use of tied parameters that is of another group than its owner is refused") {
  LoweringRequest asked = request_of<Trained<Language, Single, LearningRateFactor<"wte", 1, 10>>>();
  std::vector<std::int16_t> of(asked.groups.of_parameter, asked.groups.of_parameter + asked.graph.parameter_count);
  asked.groups.of_parameter = of.data();
  CHECK(check_answers(asked).ok());
  int use = 0;
  while (asked.graph.nodes[use].tied_to < 0) ++use;
  of[static_cast<std::size_t>(asked.graph.nodes[use].first_parameter)] = 0;
  CHECK(check_answers(asked).sentence().view() ==
        "[heddle.L20] parameter 'middle.weight' is of group 0, but what it is tied to is of group 1. Fix: name one of them.");
}
