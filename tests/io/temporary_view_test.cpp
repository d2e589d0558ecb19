// SPDX-License-Identifier: MIT
#include "heddle/io/temporary_view.hpp"

#include <doctest/doctest.h>

#include <string>
#include <utility>
#include <vector>

#include "heddle/io/safetensors.hpp"
#include "heddle/io/synthetic.hpp"

using namespace heddle;

TEST_CASE("what has a name is seen in place") {
  view_of_a_temporary<true>();
  const Dataset data = synthetic(Seed{1}, 4, 4, 2);
  CHECK(data.images().data() == data.images().data());
  TensorFile file;
  file.put("x", {2}, std::vector<float>{1, 2});
  CHECK(file.get<float>("x").data() == file.get<float>("x", {2}).data());
  CHECK(&file.tensors() == &file.tensors());
  CHECK(&file.shape("x") == &file.shape("x"));
}

TEST_CASE("sizes and tensors of a temporary file are copies") {
  const auto made = [] {
    TensorFile file;
    file.put("x", {2, 1}, std::vector<float>{1, 2});
    return file;
  };
  const auto& shape = made().shape("x");
  CHECK(shape == std::vector<std::int64_t>{2, 1});
  std::string names;
  for (const auto& [name, tensor] : made().tensors()) names += name + std::to_string(tensor.shape.size());
  CHECK(names == "x2");
}
