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
static_assert(bytes_of(ElementType::float32) == 4 && bytes_of(ElementType::int32) == 4);
static_assert(name_of(ElementType::float32) == "float32" && name_of(ElementType::int32) == "int32");

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

TEST_CASE("a product beyond what is counted stays at the limit and is not negative") {
  static_assert(Shape{std::int64_t{1} << 40, std::int64_t{1} << 40}.elements() == most_countable);
  static_assert(Shape{std::int64_t{1} << 30, std::int64_t{1} << 30}.elements() == most_countable);
  static_assert(counted_product(most_countable, most_countable) == most_countable && counted_sum(most_countable, most_countable) == most_countable);
  static_assert(counted_sum(2, 3) == 5 && counted_product(2, 3) == 6);
  CHECK(Shape{-2, -2}.elements() == 0);
}

TEST_CASE("a shape with a size below 1 or more than four dimensions is not sound") {
  static_assert(Shape{}.sound() && Shape{1, 2, 3, 4}.sound());
  static_assert(!Shape{-4}.sound() && !Shape{3, 0}.sound() && !Shape{1, 2, 3, 4, 5}.sound());
  static_assert(Shape{1, 2, 3, 4, 5}.dimensions == 4 && Shape{1, 2, 3, 4, 5}.surplus == 1);
  static_assert(!(Shape{1, 2, 3, 4, 5} == Shape{1, 2, 3, 4}));
  CHECK(spelled(Shape{1, 2, 3, 4, 5, 6}) == "(1, 2, 3, 4, and 2 more)");
}

TEST_CASE("two specs are equal if shape and element type are") {
  CHECK(Spec{Shape{50}} == Spec{Shape{50}, ElementType::float32});
  CHECK_FALSE(Spec{Shape{50}} == Spec{Shape{50}, ElementType::int32});
  CHECK_FALSE(Spec{Shape{50}} == Spec{Shape{51}});
  CHECK(Spec{Shape{2, 3}}.elements() == 6);
}

TEST_CASE("an element type has a name and a number of bytes") {
  static_assert(bytes_of(ElementType::float32) == 4 && bytes_of(ElementType::int32) == 4 && bytes_of(ElementType::uint8) == 1 && float_bytes == 4);
  CHECK(name_of(ElementType::float32) == "float32");
  CHECK(name_of(ElementType::int32) == "int32");
  CHECK(name_of(ElementType::uint8) == "uint8");
}
