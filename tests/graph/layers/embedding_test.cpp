// SPDX-License-Identifier: MIT
#include "heddle/graph/layers/embedding.hpp"

#include <doctest/doctest.h>

#include "heddle/graph/layers/by_hand.hpp"
#include "heddle/graph/layers/input.hpp"
#include "heddle/graph/layers/linear.hpp"
#include "heddle/graph/local_leaf.hpp"
#include "heddle/graph/model_facts.hpp"
#include "heddle/graph/sequential.hpp"
#include "heddle/graph/trace.hpp"

using namespace heddle;

namespace {

struct Language : Sequential<Input<6>, Embedding<11, 8>, Linear<8, 11, NoBias>> {};

}  // namespace

TEST_CASE("Embedding adds a dimension of features, with PyTorch's name, shape and start") {
  constexpr Leaf leaf = Embedding<11, 8>::describe(Spec{Shape{6}});
  static_assert(leaf.fault.ok() && leaf.out.shape == Shape(6, 8) && leaf.in == Spec{Shape{6}, ElementType::int32} &&
                leaf.out.type == ElementType::float32);
  static_assert(leaf.parameter_count == 1 && leaf.parameters[0].shape == Shape(11, 8) && leaf.parameters[0].initial == Initial::normal);
  static_assert(leaf.vocabulary == 11 && leaf.saves == Saves::input && leaf.forward_flops == 0 && leaf.backward_flops == 0);
  CHECK(leaf.spelled.view() == "Embedding<11, 8>");
  CHECK(leaf.parameters[0].name.view() == "weight");
  static_assert(Embedding<11, 8>::describe(Spec{Shape{2, 3}}).out.shape == Shape(2, 3, 8));
}

TEST_CASE("a head without bias has the shape of the table, so that one weight can serve both") {
  static_assert(parameters<Language> == 2 * 88 && output_spec<Language>.shape == Shape(6, 11));
  static_assert(graph_of<Language>.leaf(2).parameters[0].shape == graph_of<Language>.leaf(1).parameters[0].shape);
  CHECK(graph_of<Language>.parameter_name(1, 0).view() == "1.weight");
}

TEST_CASE("its ways to be split keep the rules of signatures: rows of the table, or features") {
  constexpr Leaf leaf = Embedding<12, 8>::describe(Spec{Shape{6}});
  static_assert(leaf.signature_count == 2);
  for (int i = 0; i < 2; ++i) CHECK(check_signature(leaf, leaf.signatures[i]).ok());
  constexpr Leaf rows = local_leaf(leaf, leaf.signatures[0], 4);
  static_assert(rows.parameters[0].shape == Shape(3, 8) && rows.out == leaf.out && rows.vocabulary == 12);
  constexpr Leaf features = local_leaf(leaf, leaf.signatures[1], 4);
  static_assert(features.parameters[0].shape == Shape(12, 2) && features.out.shape == Shape(6, 2));
}

TEST_CASE("Row splits the vocabulary, Column the features") {
  constexpr Leaf leaf = Embedding<12, 8>::describe(Spec{Shape{6}});
  constexpr Leaf row = Row<Embedding<12, 8>>::describe(Spec{Shape{6}});
  constexpr Leaf column = Column<Embedding<12, 8>>::describe(Spec{Shape{6}});
  static_assert(row.fault.ok() && row.signature_count == 1 && row.signatures[0] == leaf.signatures[0]);
  static_assert(column.fault.ok() && column.signature_count == 1 && column.signatures[0] == leaf.signatures[1]);
}

TEST_CASE("sizes that cannot be are refused in one sentence") {
  CHECK(Embedding<0, 8>::describe(Spec{Shape{6}}).fault.sentence().view() ==
        "[heddle.G06] Embedding<0, 8> has a size that is not between 1 and 1,073,741,824. Fix: write the number of tokens and the number of features "
        "of each.");
  static_assert(Embedding<8, 0>::describe(Spec{Shape{6}}).fault.code == Code{'G', 6});
  static_assert(Embedding<(1 << 24) + 1, 8>::describe(Spec{Shape{6}}).fault.ok());  // more than floats could number
  CHECK(Embedding<11, 8>::describe(Spec{Shape{1, 2, 3, 4}}).fault.sentence().view() ==
        "[heddle.G01] Embedding<11, 8> takes ids of at most 3 dimensions but is given (1, 2, 3, 4). Fix: give it such ids.");
  static_assert(Embedding<11, 8>::describe(Spec{Shape{6}, ElementType::int32}).fault.ok());
}

TEST_CASE("the row of padding is a token, named once") {
  constexpr Leaf leaf = Embedding<11, 8, PaddingIndex<10>>::describe(Spec{Shape{6}});
  static_assert(leaf.fault.ok() && leaf.parameters[0].padding_row == 10);
  static_assert(Embedding<11, 8>::describe(Spec{Shape{6}}).parameters[0].padding_row == -1);
  CHECK(leaf.spelled.view() == "Embedding<11, 8, PaddingIndex<10>>");
  static_assert(leaf.parameters[0].in_padding_row(80) && leaf.parameters[0].in_padding_row(87) && !leaf.parameters[0].in_padding_row(79));
  static_assert(local_leaf(leaf, leaf.signatures[1], 4).parameters[0].padding_row == 10);
  CHECK(Embedding<11, 8, PaddingIndex<11>>::describe(Spec{Shape{6}}).fault.sentence().view() ==
        "[heddle.G25] Embedding<11, 8, PaddingIndex<11>> pads with token 11, which its 11 rows do not have. Fix: write one from 0 to 10.");
  static_assert(Embedding<11, 8, PaddingIndex<-1>>::describe(Spec{Shape{6}}).fault.code == Code{'G', 25});
  CHECK(Embedding<11, 8, PaddingIndex<1>, PaddingIndex<1>>::describe(Spec{Shape{6}}).fault.sentence().view() ==
        "[heddle.G25] Embedding<11, 8, PaddingIndex<1>, PaddingIndex<1>> names an option twice. Fix: keep one of them.");
  CHECK(Embedding<11, 8, NoBias>::describe(Spec{Shape{6}}).fault.sentence().view() ==
        "[heddle.G25] Embedding<11, 8, NoBias> names what is no option of Embedding. Fix: write PaddingIndex<0>, or nothing.");
}

TEST_CASE("the shape of the ids is told by Input") {
  struct Bare : Sequential<Embedding<11, 8>> {};
  static_assert(graph_of<Bare>.fault.code == Code{'G', 10});
}

TEST_CASE("one token and one feature are the least, 2^30 of each the most") {
  constexpr std::int64_t most = std::int64_t{1} << 30;
  static_assert(Embedding<1, 1>::describe(Spec{Shape{6}}).fault.ok() && Embedding<1, most>::describe(Spec{Shape{6}}).fault.ok());
  static_assert(Embedding<1, most + 1>::describe(Spec{Shape{6}}).fault.code == Code{'G', 6});
  static_assert(Embedding<most + 1, 1>::describe(Spec{Shape{6}}).fault.code == Code{'G', 6});
  static_assert(Embedding<most, 1>::describe(Spec{Shape{6}}).fault.ok());
}

TEST_CASE("ids have at most one dimension less than a value can have") {
  static_assert(Embedding<5, 4>::describe(Spec{Shape{2, 3, 4}}).fault.ok());
  static_assert(Embedding<5, 4>::describe(Spec{Shape{2, 3, 4, 5}}).fault.code == Code{'G', 1});
}

TEST_CASE("a rank finds the rows of its own part of the vocabulary, and knows those of others from what is no token") {
  constexpr Leaf whole = Embedding<1000, 8, PaddingIndex<40>>::describe(Spec{Shape{6}});
  constexpr graph_room::TableRows part(local_leaf(whole, whole.signatures[0], 4), 3, 2);
  static_assert(part.ids == 18 && part.first == 500 && part.rows == 250 && part.features == 8);
  static_assert(part.row_of(612) == 112 && part.row_of(500) == 0 && part.row_of(749) == 249);
  static_assert(part.row_of(499) == part.elsewhere && part.row_of(750) == part.elsewhere && part.row_of(40) == part.elsewhere);
  static_assert(part.row_of(1000) == part.nowhere && part.row_of(-1) == part.nowhere);
  constexpr graph_room::TableRows features(local_leaf(whole, whole.signatures[1], 4), 3, 2);
  static_assert(features.first == 0 && features.rows == 1000 && features.features == 2);
  CHECK(features.row_of(612) == 612);
  CHECK(features.padding == 40);
}
