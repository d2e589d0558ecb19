// SPDX-License-Identifier: MIT
#include "heddle/run/parameter_source.hpp"

#include <doctest/doctest.h>

#include <array>
#include <string>
#include <vector>

#include "heddle/io/safetensors.hpp"

using namespace heddle;

namespace {

/// Has what a trainer has, made anew for every question.
struct Gathers {
  int questions = 0;
  std::vector<std::string> parameter_names() { return {"weight", "bias"}; }
  Shape parameter_shape(const std::string& name) { return name == "weight" ? Shape{2, 3} : Shape{2}; }
  std::vector<float> parameter(const std::string& name) {
    ++questions;
    return std::vector<float>(name == "weight" ? 6 : 2, 0.5F);
  }
};

static_assert(is_parameter_source<Gathers> && is_parameter_source<TensorFile> && is_parameter_source<const TensorFile>);
static_assert(is_parameter_source<std::string> && is_parameter_source<const char*>);
static_assert(!is_parameter_source<int> && !is_parameter_source<const Gathers>, "what gathers from ranks is not const");

}  // namespace

TEST_CASE("what gathers its parameters lays them in the room that it is given") {
  Gathers gathers;
  SourceOf<Gathers> source{gathers};
  CHECK(!source.from_a_file());
  const std::vector<NamedShape> shapes = source.shapes();
  REQUIRE(shapes.size() == 2);
  CHECK(shapes[0].name == "weight");
  CHECK(shapes[0].words() == "[2, 3]");
  CHECK(shapes[1].words() == "[2]");
  CHECK(shapes[1].type == "F32");
  CHECK(gathers.questions == 0);  // shapes alone gather nothing
  std::vector<float> room;
  const std::span<const float> values = source.values("weight", room);
  CHECK(values.data() == room.data());
  CHECK(room == std::vector<float>(6, 0.5F));
  CHECK(gathers.questions == 1);
}

TEST_CASE("a file in memory shows its tensors where they lie, with the types that it has") {
  TensorFile file;
  file.put<float>("weight", {2, 2}, std::vector<float>{1, 2, 3, 4});
  file.put<std::int64_t>("count", {1}, std::vector<std::int64_t>{7});
  SourceOf<const TensorFile> source{file};
  CHECK(source.from_a_file());
  const std::vector<NamedShape> shapes = source.shapes();
  REQUIRE(shapes.size() == 2);
  CHECK(shapes[0].name == "count");
  CHECK(shapes[0].type == "I64");
  CHECK(shapes[1].words() == "[2, 2]");
  std::vector<float> room;
  CHECK(source.values("weight", room).data() == file.get<float>("weight").data());
  CHECK(room.empty());
  CHECK_THROWS_WITH_AS(static_cast<void>(source.values("count", room)), doctest::Contains("[heddle.D29]"), Error);
}
