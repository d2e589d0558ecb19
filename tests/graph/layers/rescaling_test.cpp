// SPDX-License-Identifier: MIT
#include "heddle/graph/layers/rescaling.hpp"

#include <doctest/doctest.h>

#include <string>

#include "heddle/graph/layer.hpp"

using namespace heddle;

namespace {

template <class L> std::string refusal() { return std::string{L::describe(Spec{Shape{6}}).fault.sentence().view()}; }

}  // namespace

TEST_CASE("Rescaling takes bytes, gives floats of their shape, and has nothing to train or to keep") {
  static_assert(Layer<Rescaling<>>);
  constexpr Leaf leaf = Rescaling<>::describe(Spec{Shape{4, 6}, ElementType::uint8});
  static_assert(leaf.fault.ok() && leaf.in == Spec{Shape{4, 6}, ElementType::uint8} && leaf.out == Spec{Shape{4, 6}});
  static_assert(leaf.parameter_count == 0 && leaf.saves == Saves::nothing && !leaf.elementwise && leaf.signature_count == 0);
  static_assert(Rescaling<>::describe(Spec{Shape{4, 6}}).in == leaf.in);  // the first layer of a model says what the model takes
  CHECK(leaf.spelled.view() == "Rescaling<1, 255>");
}

TEST_CASE("each of the 256 numbers is the quotient, rounded once") {
  constexpr auto shades = Rescaling<>::numbers();
  static_assert(shades[0] == 0.0F && shades[255] == 1.0F && shades[51] == 0.2F);
  constexpr auto sevenths = Rescaling<3, 7>::numbers();
  for (int x = 0; x < 256; ++x) {
    CHECK(shades[static_cast<std::size_t>(x)] == static_cast<float>(x / 255.0));
    CHECK(sevenths[static_cast<std::size_t>(x)] == static_cast<float>(3 * x / 7.0));
  }
}

TEST_CASE("a number that is not between 1 and 2^16 is refused in one sentence") {
  const std::string range = " has a number that is not between 1 and 65,536. Fix: write Rescaling<> for x / 255, or Rescaling<1, 128> for x / 128.";
  CHECK(refusal<Rescaling<0>>() == "[heddle.G25] Rescaling<0, 255>" + range);
  CHECK(refusal<Rescaling<1, 0>>() == "[heddle.G25] Rescaling<1, 0>" + range);
  CHECK(refusal<Rescaling<1, -255>>() == "[heddle.G25] Rescaling<1, -255>" + range);
  CHECK(refusal<Rescaling<1, (1 << 16) + 1>>() == "[heddle.G25] Rescaling<1, 65537>" + range);
  static_assert(Rescaling<1 << 16, 1 << 16>::describe(Spec{Shape{6}}).fault.ok());
}
