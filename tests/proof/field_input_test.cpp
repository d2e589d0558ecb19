// SPDX-License-Identifier: MIT
#include "heddle/proof/field_input.hpp"

#include <doctest/doctest.h>

#include "heddle/backend/field_threads.hpp"

using namespace heddle;

namespace {

struct Net
    : Sequential<Inputs<Input<3>, Input<2>, Input<4>>, Branches<Add, Sequential<Embedding<5, 1>, Flatten>, Sequential<FromInput<1>, Linear<2, 3>>,
                                                                Sequential<FromInput<2>, Rescaling<>, Linear<4, 3>>>> {};
const FieldWork& work() {
  static const FieldWork of = field_work<Net, CrossEntropy, SGD>();
  return of;
}

}  // namespace

TEST_CASE("each input of a model is drawn with the elements that it has, in numbers of its own") {
  const DrawnField drawn{Seed{3}, 0, FieldMode::values};
  const FieldNumbers a(work(), 4, 1), b(work(), 4, 2);
  CHECK((a.ids.size() == 12 && a.inputs.empty() && a.bytes.empty()));
  CHECK((a.more[0].inputs.size() == 8 && a.more[1].bytes.size() == 16));
  CHECK(a.all_inputs() == a.ids.data());
  CHECK(a.more[1].all_inputs() == a.more[1].bytes.data());
  for (const std::int32_t id : a.ids) CHECK((id >= 0 && id < 5));
  CHECK(a.more[0].inputs != b.more[0].inputs);
  CHECK(a.more[1].bytes != b.more[1].bytes);
  FieldInput other;
  other.draw(graph_of<Net>, 1, 4, 99);
  CHECK(other.inputs != a.more[0].inputs);
  const DrawnField degrees{Seed{3}, 0, FieldMode::degrees};
  for (const float input : FieldNumbers(work(), 4, 1).more[0].inputs) CHECK(Field::read(input) == 1);
}
