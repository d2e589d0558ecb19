// SPDX-License-Identifier: MIT
#include "heddle/graph/named.hpp"

#include <doctest/doctest.h>

#include "heddle/graph/layers/linear.hpp"
#include "heddle/graph/layers/relu.hpp"
#include "heddle/graph/repeat.hpp"
#include "heddle/graph/residual.hpp"
#include "heddle/graph/sequential.hpp"
#include "heddle/graph/tied.hpp"
#include "heddle/graph/trace.hpp"

using namespace heddle;

namespace {

template <class Model> constexpr Diagnosis fault_of() { return graph_of<Model>.fault; }

/// A user's named layer, derived to read well in errors.
struct Head : Named<"head", Linear<4, 2>> {};

}  // namespace

TEST_CASE("a name stands in a state_dict where the number would stand") {
  constexpr const Graph& graph = graph_of<Sequential<Named<"linear1", Linear<8, 4>>, ReLU, Named<"linear2", Linear<4, 2>>, Linear<2, 2>>>;
  static_assert(graph.fault.ok());
  CHECK(graph.parameter_name(0, 0).view() == "linear1.weight");
  CHECK(graph.parameter_name(0, 1).view() == "linear1.bias");
  CHECK(graph.name(1).view() == "1");
  CHECK(graph.parameter_name(2, 0).view() == "linear2.weight");
  CHECK(graph.parameter_name(3, 0).view() == "3.weight");
}

TEST_CASE("names nest, and a derived type keeps its name") {
  constexpr const Graph& graph = graph_of<Named<"net", Sequential<Named<"body", Sequential<Linear<8, 4>, ReLU>>, Head>>>;
  static_assert(graph.fault.ok());
  CHECK(graph.parameter_name(0, 0).view() == "net.body.0.weight");
  CHECK(graph.parameter_name(2, 0).view() == "net.head.weight");
}

TEST_CASE("a layer that has two names is refused, or two layers could have the same") {
  using Twice = Sequential<Named<"a", Named<"x", Linear<6, 8>>>, ReLU, Named<"b", Named<"x", Linear<8, 2>>>>;
  constexpr Diagnosis found = fault_of<Twice>();
  static_assert(found.code == Code{'G', 4});
  CHECK(found.sentence().view() ==
        "[heddle.G04] the layer named 'a' in the model is named 'x' too, but a state_dict has one name for it. Fix: keep one of them, or put "
        "Sequential between both.");
  static_assert(fault_of<Sequential<Named<"first", Head>, ReLU, Named<"second", Head>>>().code == Code{'G', 4});
  static_assert(fault_of<Sequential<Linear<8, 4>, Named<"o", Linear<4, 4>>, Tied<"a", Named<"x", Linear<4, 4>>, To<"o">>>>().code == Code{'G', 4});
  static_assert(fault_of<Named<"outer", Named<"inner", Linear<8, 4>>>>().code == Code{'G', 4});
  constexpr const Graph& nested =
      graph_of<Sequential<Named<"a", Sequential<Named<"x", Linear<6, 8>>>>, Named<"b", Sequential<Named<"x", Linear<8, 2>>>>>>;
  static_assert(nested.fault.ok());
  CHECK(nested.parameter_name(0, 0).view() == "a.x.weight");
  CHECK(nested.parameter_name(1, 0).view() == "b.x.weight");
}

TEST_CASE("a name that stands twice among siblings is refused with both places") {
  constexpr Diagnosis found = fault_of<Sequential<Named<"a", Linear<8, 4>>, ReLU, Named<"a", Linear<4, 2>>>>();
  static_assert(found.code == Code{'G', 4});
  CHECK(found.sentence().view() == "[heddle.G04] the name 'a' stands twice in the model: as layer 0 and as layer 2. Fix: rename one of them.");
  static_assert(fault_of<Sequential<Named<"a", Linear<8, 4>>, Residual<Named<"a", Linear<4, 4>>>>>().ok());  // other siblings
  static_assert(fault_of<Sequential<Head, Named<"head", Linear<2, 2>>>>().code == Code{'G', 4});
}

TEST_CASE("a name may not be the number of a sibling without a name") {
  CHECK(fault_of<Sequential<Linear<8, 4>, Named<"0", Linear<4, 2>>>>().sentence().view() ==
        "[heddle.G04] the name '0' of layer 1 in the model is the number of layer 0. Fix: use a name that is no number.");
  static_assert(fault_of<Sequential<Named<"1", Linear<8, 4>>, Linear<4, 2>>>().code == Code{'G', 4});
  static_assert(fault_of<Sequential<Named<"1", Linear<8, 4>>, Named<"0", Linear<4, 2>>>>().ok());
  CHECK(fault_of<Sequential<Named<"7", Linear<8, 4>>, Linear<4, 2>>>().ok());
}

TEST_CASE("a name that is empty or has a dot or a star cannot stand in a state_dict") {
  static_assert(fault_of<Sequential<Named<"", Linear<8, 4>>>>().code == Code{'G', 4});
  static_assert(fault_of<Sequential<Named<"a.b", Linear<8, 4>>>>().code == Code{'G', 4});
  static_assert(fault_of<Sequential<Named<"a*", Linear<8, 4>>>>().code == Code{'G', 4});
  static_assert(fault_of<Sequential<Named<"a_b1", Linear<8, 4>>>>().ok());
  CHECK(fault_of<Sequential<Linear<8, 8>, Residual<Named<"x.y", Linear<8, 8>>>>>().words.view().find(
            "the name 'x.y' of layer 0 in '1' cannot stand") != std::string_view::npos);
}

TEST_CASE("labels are read off types, and digits are compared with numbers") {
  static_assert(label_of<Head>() == "head" && label_of<ReLU>().empty());
  static_assert(is_name("a_b1") && !is_name("") && !is_name("a.b") && !is_name("*"));
  static_assert(place_named("12") == 12 && place_named("0") == 0 && place_named("") == -1 && place_named("x1") == -1 && place_named("02") == -1);
  CHECK(label_of<Named<"x", ReLU>>() == "x");
}

TEST_CASE("the name of a whole model follows the same rule") {
  static_assert(fault_of<Named<"a.b", Linear<8, 4>>>().code == Code{'G', 4});
  static_assert(fault_of<Sequential<Named<"outer", Sequential<Named<"in.ner", Linear<8, 4>>>>>>().code == Code{'G', 4});
  CHECK(fault_of<Named<"whole", Linear<8, 4>>>().ok());
}

TEST_CASE("a name that is too long to be kept is refused, not cut") {
  using Long = Named<"a_name_of_forty_characters_for_one_layer", Linear<8, 8>>;
  static_assert(fault_of<Sequential<Long>>().ok());
  constexpr Diagnosis found = fault_of<Sequential<Named<"a_name_of_forty_characters_for_one_block", Sequential<Long>>>>();  // 40 + 1 + 40
  static_assert(found.code == Code{'G', 4});
  CHECK(found.words.view().find("has more than 80 characters") != std::string_view::npos);
}

TEST_CASE("the longest name that is kept has all its words, numbers of repetitions without commas") {
  using Long = Named<"a_name_of_forty_characters_for_one_layer", Linear<8, 8>>;
  constexpr const Graph& graph = graph_of<Sequential<Named<"a_name_of_thirty_seven_characters_xyz", Repeat<700, Long>>>>;
  static_assert(graph.fault.code == Code{'G', 4});  // the name of what is repeated would be that of all
  constexpr const Graph& deep =
      graph_of<Sequential<Named<"a_name_of_seventy_characters_that_are_kept_whole_as_they_were_written_", Repeat<1'300, Linear<8, 8>>>>>;
  static_assert(deep.fault.ok());
  CHECK(deep.parameter_name(1'299, 0).view() == "a_name_of_seventy_characters_that_are_kept_whole_as_they_were_written_.1299.weight");
}

TEST_CASE("a name of hundreds of characters leaves the sentence its remedy") {
  using Endless = Named<
      "a_name_that_goes_on_and_on_and_on_and_on_and_on_and_on_and_on_and_on_and_on_and_on_and_on_and_on_and_on_and_on_and_on_and_on_and_on_and_on_and"
      "_on_and_on_and_on_and_on_and_on_and_on_and_on_and_on_and_on_and_on_and_on_and_on_and_on_and_on_and_on_and_on_and_on_and_on_and_on_and_on_and_"
      "on"
      "_on_and_on_and_on_and_on_and_on_and_on_and_on_and_on_and_on_and_on_and_on_and_on_and_on_and_on_and_on_and_on_and_on_and_on_and_on_and_on_and_"
      "on",
      Linear<8, 8>>;
  for (const Diagnosis& found : {fault_of<Sequential<Endless>>(), fault_of<Sequential<Endless, Endless>>(), fault_of<Repeat<2, Endless>>()}) {
    CHECK(found.code == Code{'G', 4});
    CHECK(found.words.view().find("Fix: ") != std::string_view::npos);
    CHECK_FALSE(found.words.cut);
  }
}

TEST_CASE("equal names are found among hundreds of siblings, the first that stood before is told") {
  const std::string_view labels[] = {"d", "b", "", "c", "a", "b", "c"};
  const bool labelled[] = {true, true, false, true, true, true, true};
  const Diagnosis found = check_sibling_names<7>(labels, labelled, "in the model");
  CHECK(found.sentence().view() == "[heddle.G04] the name 'b' stands twice in the model: as layer 1 and as layer 5. Fix: rename one of them.");
  CHECK(check_sibling_names<5>(labels, labelled, "in the model").ok());
}
