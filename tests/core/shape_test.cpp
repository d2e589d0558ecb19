// SPDX-License-Identifier: MIT
#include "heddle/core/shape.hpp"

#include <doctest/doctest.h>

#include <string>

using namespace heddle;

namespace {

std::string spelled(const Shape& shape) {
  Text<80> text;
  text << shape;
  return std::string{text.view()};
}

}  // namespace

static_assert(Shape{28, 28}.elements() == 784);
static_assert(Shape{28, 28}.last() == 28);
static_assert(Shape{}.elements() == 1);  // a scalar
static_assert(Shape{}.last() == 1);
static_assert(Shape{50} == Shape{50});
static_assert(!(Shape{50} == Shape{50, 1}));
static_assert(!(Shape{2, 3} == Shape{3, 2}));
static_assert(bytes_of(DType::f32) == 4 && bytes_of(DType::i32) == 4);
static_assert(name_of(DType::f32) == "float32" && name_of(DType::i32) == "int32");

TEST_CASE("a shape is written as its sizes in parentheses") {
  CHECK(spelled(Shape{50}) == "(50)");
  CHECK(spelled(Shape{28, 28}) == "(28, 28)");
  CHECK(spelled(Shape{2, 3, 4, 50000}) == "(2, 3, 4, 50,000)");
  CHECK(spelled(Shape{}) == "()");
}

TEST_CASE("elements are the product of all sizes, beyond 32 bits and with a zero") {
  CHECK(Shape{65536, 65536}.elements() == 4'294'967'296);
  CHECK(Shape{3, 0, 5}.elements() == 0);
}

TEST_CASE("two specs are equal if shape and element type are") {
  CHECK(Spec{Shape{50}} == Spec{Shape{50}, DType::f32});
  CHECK_FALSE(Spec{Shape{50}} == Spec{Shape{50}, DType::i32});
  CHECK_FALSE(Spec{Shape{50}} == Spec{Shape{51}});
  CHECK(Spec{Shape{2, 3}}.elements() == 6);
}
