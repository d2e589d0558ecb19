// SPDX-License-Identifier: MIT
#include "heddle/core/type_name.hpp"

#include <doctest/doctest.h>

namespace outer::inner {
struct Plain {};
template <int In, int Out> struct Sized {};
template <class... Types> struct Holds {};
}  // namespace outer::inner

namespace {
struct Hidden {};
}  // namespace

using namespace heddle;

TEST_CASE("a type is named without its namespaces") {
  static_assert(type_name<outer::inner::Plain>().view() == "Plain");
  static_assert(type_name<outer::inner::Sized<784, 50>>().view() == "Sized<784, 50>");
  CHECK(type_name<int>().view() == "int");
}

TEST_CASE("namespaces are removed inside template arguments as well") {
  static_assert(type_name<outer::inner::Holds<outer::inner::Plain, outer::inner::Sized<1, 2>>>().view() == "Holds<Plain, Sized<1, 2>>" ||
                type_name<outer::inner::Holds<outer::inner::Plain, outer::inner::Sized<1, 2>>>().view() == "Holds<Plain, Sized<1, 2> >");
  CHECK(type_name<outer::inner::Holds<>>().view() == "Holds<>");
}

TEST_CASE("a type of an unnamed namespace is named like any other") { CHECK(type_name<Hidden>().view() == "Hidden"); }

TEST_CASE("a name that is too long is cut at 64 characters") {
  using outer::inner::Holds;
  using outer::inner::Plain;
  constexpr auto name = type_name<Holds<Plain, Plain, Plain, Plain, Plain, Plain, Plain, Plain, Plain, Plain, Plain>>();
  static_assert(name.length == 64);
  CHECK(name.view().substr(0, 19) == "Holds<Plain, Plain,");
}

TEST_CASE("a report names a longer type, and cuts it once") {
  using outer::inner::Holds;
  using outer::inner::Plain;
  using Six = Holds<Plain, Plain, Plain, Plain, Plain, Plain>;
  CHECK(long_type_name<Holds<Six, Plain>>().view() == "Holds<Holds<Plain, Plain, Plain, Plain, Plain, Plain>, Plain>");
  CHECK(long_type_name<Holds<Six, Six>>().view().substr(0, 71) == "Holds<Holds<Plain, Plain, Plain, Plain, Plain, Plain>, Holds<Plain, Pla");
  CHECK_FALSE(long_type_name<Holds<Six, Six>>().cut);
  const auto cut = long_type_name<Holds<Six, Six, Six, Six, Six, Six>>();
  CHECK(cut.length == 240);
  CHECK(cut.view().ends_with("..."));
  CHECK_FALSE(cut.view().ends_with("...."));
}

TEST_CASE("each type has one number, and no two types share one") {
  using outer::inner::Sized;
  static_assert(type_id<Sized<1, 2>>() == type_id<Sized<1, 2>>());
  static_assert(type_id<Sized<1, 2>>() != type_id<Sized<2, 1>>());
  CHECK(type_id<Hidden>() != type_id<outer::inner::Plain>());
}
