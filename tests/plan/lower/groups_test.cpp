// SPDX-License-Identifier: MIT
#include "heddle/plan/lower/groups.hpp"

#include <doctest/doctest.h>

#include <string>

#include "heddle/graph/frozen.hpp"
#include "heddle/graph/layers/batch_norm.hpp"
#include "heddle/graph/layers/flatten.hpp"
#include "heddle/graph/layers/input.hpp"
#include "heddle/graph/tied.hpp"
#include "heddle/plan/inference.hpp"
#include "plan/plans.hpp"

using namespace heddle;
using namespace heddle::tests;

namespace {

struct Inner : Residual<Named<"up", Linear<16, 32>>, GELU, Named<"down", Linear<32, 16>>> {};
struct Deep : Sequential<Named<"stem", Linear<8, 16>>, Named<"blocks", Repeat<2, Inner>>, Named<"head", Linear<16, 4>>> {};
struct Positions : Sequential<Linear<8, 6>, ReLU, Repeat<2, Residual<Linear<6, 6>, Tanh>>> {};  // 0.weight, 2.0.0.weight
struct TiedEnds : Sequential<Named<"in", Linear<6, 6>>, Tanh, Tied<"out", Linear<6, 6>, To<"in">>, Named<"last", Linear<6, 3>>> {};
struct Tuned : Sequential<Frozen<Named<"stem", Linear<8, 16>>>, Frozen<Named<"blocks", Repeat<2, Inner>>>, Named<"head", Linear<16, 4>>> {};
struct FrozenBiases : Sequential<Frozen<Linear<8, 6>>, ReLU, Linear<6, 3, NoBias>> {};
struct Tracking : Sequential<Input<3, 2, 2>, Named<"norm", BatchNorm2d<3>>, Flatten, Named<"head", Linear<12, 4>>> {};
struct NoBiases : Sequential<Linear<8, 6, NoBias>, ReLU, Linear<6, 3, NoBias>> {};

/// An optimizer whose Options have neither of what groups change.
struct Signs {
  [[maybe_unused]] static constexpr int states = 0;
  struct Options {
    double rate = 1e-3;
  };
  struct Constants {
    float rate;
  };
  static constexpr std::string_view name() { return "Signs"; }
  static Constants constants(const Options& o, std::int64_t) { return {static_cast<float>(o.rate)}; }
  static void update(const Constants& c, float& parameter, float gradient) { parameter -= gradient > 0 ? c.rate : -c.rate; }
  static Diagnosis check(const Options&) { return {}; }
};

/// "stem.weight 1/10, stem.bias 1/10 no decay": what parameters have that are not of group 0.
template <class Model, class... Options> std::string said() {
  constexpr auto chosen = ChosenGroups<Model, AdamW, Options...>::value;
  if (!chosen.fault.ok()) return std::string{chosen.fault.sentence().view()};
  const Graph& graph = graph_of<Model>;
  std::string all;
  for (int n = 0; n < graph.node_count; ++n)
    for (int k = 0; k < graph.nodes[n].parameter_count; ++k) {
      const ParameterGroup group = chosen.view().of(graph.nodes[n].first_parameter + k);
      if (group == ParameterGroup{}) continue;
      all += (all.empty() ? "" : ", ") + std::string{graph.parameter_name(n, k).view()};
      if (group.scales()) all += ' ' + std::to_string(group.numerator) + '/' + std::to_string(group.denominator);
      if (!group.decays) all += " no decay";
    }
  return all;
}

}  // namespace

TEST_CASE("a name is whole words of a state_dict name, anywhere, or at the front if it begins with a number") {
  static_assert(has_words("head.bias", "head") && has_words("head.bias", "head.bias") && has_words("head.bias", "bias"));
  static_assert(has_words("blocks.1.up.bias", "up") && has_words("blocks.1.up.bias", "blocks.1") && has_words("blocks.1.up.bias", "up.bias"));
  static_assert(!has_words("header.bias", "head") && !has_words("head.bias", "ead") && !has_words("head.bias", "head.b") &&
                !has_words("head", "head.bias") && !has_words("head.bias", ""));
  static_assert(has_words("0.weight", "0") && !has_words("2.0.weight", "0") && has_words("2.0.weight", "2.0") && !has_words("20.weight", "2"));
  CHECK_FALSE(has_words("", "head"));
}

TEST_CASE("NoDecay<> means what has fewer than two dimensions, and a name means what lies below it") {
  CHECK(said<Deep, NoDecay<"head">>() == "head.weight no decay, head.bias no decay");
  CHECK(said<Deep, NoDecay<"stem.weight", "blocks.0.down.bias">>() == "stem.weight no decay, blocks.0.down.bias no decay");
  CHECK(said<Deep, NoDecay<"down">>() ==
        "blocks.0.down.weight no decay, blocks.0.down.bias no decay, blocks.1.down.weight no decay, blocks.1.down.bias no decay");
  CHECK(said<Deep, NoDecay<>>() ==
        "stem.bias no decay, blocks.0.up.bias no decay, blocks.0.down.bias no decay, blocks.1.up.bias no decay, "
        "blocks.1.down.bias no decay, head.bias no decay");
  CHECK(said<Positions, NoDecay<"0">>() == "0.weight no decay, 0.bias no decay");
  CHECK(said<Positions, NoDecay<"2.1">>() == "2.1.0.weight no decay, 2.1.0.bias no decay");
  CHECK(said<Deep>() == "");
  static_assert(!ChosenGroups<Deep, AdamW>::value.view().any());
}

TEST_CASE("options of groups add up, and of two factors the name of more words counts") {
  CHECK(said<Deep, NoDecay<>, NoDecay<"head.weight">, LearningRateFactor<"head", 1, 10>, LearningRateFactor<"stem", 3>>() ==
        "stem.weight 3/1, stem.bias 3/1 no decay, blocks.0.up.bias no decay, blocks.0.down.bias no decay, blocks.1.up.bias no decay, "
        "blocks.1.down.bias no decay, head.weight 1/10 no decay, head.bias 1/10 no decay");
  CHECK(said<Deep, LearningRateFactor<"blocks.1.up", 1, 4>, LearningRateFactor<"blocks", 1, 2>, LearningRateFactor<"blocks.1", 1, 3>>() ==
        "blocks.0.up.weight 1/2, blocks.0.up.bias 1/2, blocks.0.down.weight 1/2, blocks.0.down.bias 1/2, blocks.1.up.weight 1/4, "
        "blocks.1.up.bias 1/4, blocks.1.down.weight 1/3, blocks.1.down.bias 1/3");
  CHECK(said<Deep, LearningRateFactor<"head", 2, 2>>() == "");                                                                     // the factor 1
  static_assert(ChosenGroups<Deep, AdamW, LearningRateFactor<"head", 2, 4>, LearningRateFactor<"stem", 1, 2>>::value.count == 2);  // one factor
  static_assert(ChosenGroups<Deep, SGD, LearningRateFactor<"head", 1, 2>, NoDecay<>>::value.fault.ok());
}

TEST_CASE("two names of as many words for one parameter are refused, unless one of more words decides") {
  CHECK(said<Deep, LearningRateFactor<"blocks", 1, 2>, LearningRateFactor<"bias", 2>>() ==
        "[heddle.L20] Deep has a parameter 'blocks.0.up.bias' of two factors, of 'blocks' and of 'bias'. Fix: name the one that counts by more "
        "words of the parameter's name.");
  CHECK(said<Deep, LearningRateFactor<"stem", 1, 2>, LearningRateFactor<"bias", 2>, LearningRateFactor<"stem.bias", 5>>().find("stem.bias 5/1") !=
        std::string::npos);
}

TEST_CASE("uses of tied parameters have the group of their owner, by whichever of their names") {
  CHECK(said<TiedEnds, LearningRateFactor<"in.weight", 1, 2>>() == "in.weight 1/2, out.weight 1/2");
  CHECK(said<TiedEnds, LearningRateFactor<"out.weight", 1, 2>>() == "in.weight 1/2, out.weight 1/2");
  CHECK(said<TiedEnds, NoDecay<"out.bias">>() == "in.bias no decay, out.bias no decay");
  CHECK(said<TiedEnds, LearningRateFactor<"in", 1, 2>, LearningRateFactor<"out", 1, 3>>().find(
            "[heddle.L20] TiedEnds has a parameter 'in.weight' of two "
            "factors, of 'in' and of 'out'") == 0);
}

TEST_CASE("names that mean nothing or are said twice are refused with L20") {
  CHECK(said<Deep, NoDecay<"haed">>() == "[heddle.L20] Deep has no parameter of the name 'haed'. Fix: use words of a name such as 'stem.weight'.");
  CHECK(said<Deep, LearningRateFactor<"", 2>>().find("[heddle.L20] Deep has no parameter of the name ''") == 0);
  CHECK(said<NoBiases, NoDecay<>>() ==
        "[heddle.L20] NoBiases has no parameter of fewer than two dimensions, so NoDecay<> means none. Fix: name "
        "parameters such as '0.weight', or drop it.");
  CHECK(said<Deep, NoDecay<"head", "head">>() == "[heddle.L20] NoDecay names 'head' twice. Fix: keep one of them.");
  CHECK(said<Deep, NoDecay<"head">, NoDecay<"stem", "head">>() == "[heddle.L20] NoDecay names 'head' twice. Fix: keep one of them.");
  CHECK(said<Deep, NoDecay<>, NoDecay<>>() == "[heddle.L20] NoDecay<> is named twice. Fix: keep one of them.");
  CHECK(said<Deep, LearningRateFactor<"head", 2>, LearningRateFactor<"head", 1, 2>>() ==
        "[heddle.L20] LearningRateFactor names 'head' twice. Fix: keep one of them.");
  CHECK(said<Deep, LearningRateFactor<"head", 2>, NoDecay<"head">>() == "head.weight 2/1 no decay, head.bias 2/1 no decay");
}

TEST_CASE("names that mean frozen parameters alone are refused with L20, and those that mean others too are not") {
  CHECK(said<Tuned, NoDecay<"stem">>() ==
        "[heddle.L20] Tuned has parameters of the name 'stem' in frozen layers alone, which are not trained, so NoDecay of it changes nothing. Fix: "
        "drop it, or use words of a name such as 'head.weight'.");
  CHECK(said<Tuned, NoDecay<>, LearningRateFactor<"blocks.1.up", 1, 10>>() ==
        "[heddle.L20] Tuned has parameters of the name 'blocks.1.up' in frozen layers alone, which are not trained, so LearningRateFactor of it "
        "changes nothing. Fix: drop it, or use words of a name such as 'head.weight'.");
  CHECK(said<Tuned, NoDecay<"down", "head">>().find("[heddle.L20] Tuned has parameters of the name 'down' in frozen layers alone") == 0);
  CHECK(said<FrozenBiases, NoDecay<>>() ==
        "[heddle.L20] FrozenBiases has parameters of fewer than two dimensions in frozen layers alone, which are not trained, so NoDecay<> means "
        "none. Fix: name parameters such as '2.weight', or drop it.");
  CHECK(said<Tuned, NoDecay<>, LearningRateFactor<"weight", 1, 2>>().find("head.weight 1/2, head.bias no decay") != std::string::npos);
  CHECK(check<Plan<Tuned, CrossEntropy, AdamW, Batch<64>, Single, NoDecay<"stem">>>().code == "L20");
}

TEST_CASE("what a layer tracks has no group, and names that mean nothing else are refused with L20") {
  CHECK(said<Tracking, NoDecay<>>() == "norm.weight no decay, norm.bias no decay, head.bias no decay");
  CHECK(said<Tracking, LearningRateFactor<"norm", 1, 2>>() == "norm.weight 1/2, norm.bias 1/2");
  CHECK(said<Tracking, NoDecay<"running_mean">>() ==
        "[heddle.L20] Tracking has parameters of the name 'running_mean' in what layers track alone, which are not trained, so NoDecay of it changes "
        "nothing. Fix: drop it, or use words of a name such as 'norm.weight'.");
}

TEST_CASE("a factor that is not above 0 is refused with L21, and an optimizer without what a group changes with L22") {
  CHECK(said<Deep, LearningRateFactor<"head", 0>>() ==
        "[heddle.L21] LearningRateFactor of 'head' is 0 / 1, which is not above 0. Fix: name a numerator "
        "and a denominator of at least 1, or Frozen<L> for a layer that is not to change.");
  CHECK(
      said<Deep, LearningRateFactor<"head", -1>>().ends_with("-1 / 1, which is not above 0. Fix: name a numerator and a denominator of at least 1."));
  CHECK(said<Deep, LearningRateFactor<"head", 1, 0>>().find("[heddle.L21]") == 0);
  CHECK(said<Deep, LearningRateFactor<"head", -1, -10>>().find("[heddle.L21]") == 0);
  const auto refused = [](const Diagnosis& found) { return std::string{found.sentence().view()}; };
  CHECK(refused(ChosenGroups<Deep, Signs, NoDecay<>>::value.fault) ==
        "[heddle.L22] NoDecay changes weight_decay, which the Options of Signs do not have. Fix: drop NoDecay, or add weight_decay to them.");
  CHECK(refused(ChosenGroups<Deep, Signs, LearningRateFactor<"head", 2>>::value.fault) ==
        "[heddle.L22] LearningRateFactor changes learning_rate, which the Options of Signs do not have. Fix: drop LearningRateFactor, or add "
        "learning_rate to them.");
}

TEST_CASE("a plan that is refused for its groups says so, and an Inference takes none") {
  CHECK(check<Plan<Mnist, CrossEntropy, AdamW, Batch<64>, Single, NoDecay<"linear3">>>().code == "L20");
  CHECK(check<Plan<Mnist, CrossEntropy, AdamW, Batch<64>, Single, LearningRateFactor<"linear1", 0>>>().code == "L21");
  CHECK(RequestOf<Inference<Mnist, Batch<64>, Single, NoDecay<>>>::parts.code == Code{'L', 10});
}
