// SPDX-License-Identifier: MIT
#include "heddle/cost/search/layer_times.hpp"

#include <doctest/doctest.h>

#include <limits>
#include <string>
#include <vector>

#include "cost/search/models.hpp"

using namespace heddle;
using namespace heddle::extending;
using namespace heddle::tests;

namespace {

struct Net : Sequential<Linear<4, 3>, Residual<Linear<3, 3>, ReLU>, Linear<3, 2>> {};  // layers 0, 1, 2, the sum 3, 4

constexpr const Graph& graph = graph_of<Net>;

LayerTimes times() { return layer_times(graph, 8, {Seconds{1}, Seconds{2}, Seconds{0}, Seconds{0.5}, Seconds{3}}); }
std::string refusal(const LayerTimes& of) { return std::string{check_times(graph, of).sentence().view()}; }

}  // namespace

TEST_CASE("times of a model name its layers as a state_dict does, and are accepted in any order") {
  LayerTimes of = times();
  CHECK(of.model == "Net");
  CHECK(of.layers.size() == 5);
  CHECK(of.layers[1].name == "1.0 Linear<3, 3>");
  CHECK(of.layers[3].name == "1 Add");
  CHECK(refusal(of) == "");
  std::swap(of.layers[0], of.layers[4]);
  CHECK(refusal(of) == "");
  CHECK(cost_room::by_layer(graph, of) == cost_room::by_layer(graph, times()));
}

TEST_CASE("times of another model are refused with both names") {
  CHECK(check_times(graph_of<Searched>, times()).sentence().view() ==
        "[heddle.M22] a profile is of 'Net', but a plan is searched for Searched. Fix: measure the layers of Searched.");
  LayerTimes of = times();
  of.layers[1].name = "1.0 Linear<3, 4>";
  CHECK(refusal(of) ==
        "[heddle.M22] a profile calls layer 1 '1.0 Linear<3, 4>', that of Net is '1.0 Linear<3, 3>'. Fix: measure the layers of "
        "that model again.");
}

TEST_CASE("a layer too few, too many or twice is refused with its name") {
  LayerTimes of = times();
  of.layers.pop_back();
  CHECK(refusal(of) == "[heddle.M22] a profile lacks layer 4 '2 Linear<3, 2>' of Net. Fix: measure the layers of that model again.");
  of = times();
  of.layers.push_back(of.layers[1]);
  CHECK(refusal(of) == "[heddle.M22] a profile has layer 1 '1.0 Linear<3, 3>' twice. Fix: keep one of them.");
  of.layers[5].layer = 5;
  CHECK(refusal(of) == "[heddle.M22] a profile has layer 5, but those of Net are 0 to 4. Fix: measure the layers of that model again.");
  of.layers[5].layer = -1;
  CHECK(refusal(of).find("[heddle.M22] a profile has layer -1,") == 0);
}

TEST_CASE("seconds of another number of layers stay so many, and are refused") {
  const std::vector<Seconds> none, four(4, Seconds{1}), six(6, Seconds{1});
  CHECK(layer_times(graph, 8, none).layers.empty());
  CHECK(refusal(layer_times(graph, 8, none)) ==
        "[heddle.M22] a profile lacks layer 0 '0 Linear<4, 3>' of Net. Fix: measure the layers of that model again.");
  CHECK(layer_times(graph, 8, four).layers.size() == 4);
  CHECK(refusal(layer_times(graph, 8, four)) ==
        "[heddle.M22] a profile lacks layer 4 '2 Linear<3, 2>' of Net. Fix: measure the layers of that model again.");
  CHECK(refusal(layer_times(graph, 8, six)) ==
        "[heddle.M22] a profile has layer 5, but those of Net are 0 to 4. Fix: measure the layers of that model again.");
}

TEST_CASE("seconds and rows that cannot be are refused with their number") {
  for (const auto& [value, word] : {std::pair{-1.0, "-1"}, std::pair{std::numeric_limits<double>::quiet_NaN(), "no number"},
                                    std::pair{std::numeric_limits<double>::infinity(), "infinite"}, std::pair{2e9, "2e9"}}) {
    LayerTimes of = times();
    of.layers[2].seconds.value = value;
    CHECK(refusal(of) ==
          std::string{"[heddle.M22] a profile has layer 2 '1.1 ReLU' with "} + word + " seconds. Fix: give it a number from 0 to 1e9.");
  }
  LayerTimes of = times();
  of.rows = 0;
  CHECK(refusal(of) == "[heddle.M22] a profile is of 0 rows. Fix: say how many rows its seconds are of, from 1 to 1000000.");
  of = times();
  for (LayerTime& time : of.layers) time.seconds.value = 0;
  CHECK(refusal(of) == "[heddle.M22] a profile says that no layer takes any time. Fix: measure the layers of that model again.");
}
