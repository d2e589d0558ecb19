// SPDX-License-Identifier: MIT
#include "heddle/io/tensor_writer.hpp"

#include <doctest/doctest.h>

#include <filesystem>
#include <random>
#include <string>
#include <vector>

#include "heddle/io/safetensors.hpp"
#include "says.hpp"

using namespace heddle;
using heddle::tests::sentence;

namespace {

struct Folder {
  std::filesystem::path path = std::filesystem::temp_directory_path() / ("heddle_writer_" + std::to_string(std::random_device{}()));
  Folder() { std::filesystem::create_directories(path); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  ~Folder() { std::filesystem::remove_all(path); }
};

using Told = FloatTensorWriter<>::Told;
const std::vector<Told> two{{"a", {2, 3}}, {"b", {}}};
const std::vector<float> six{1, 2, 3, 4, 5, 6}, one{7};

}  // namespace

TEST_CASE("what is written tensor by tensor is the file that is written at once") {
  const Folder folder;
  FloatTensorWriter<> file{folder.path / "x", two};
  file.append(six);
  file.append(one);
  CHECK_FALSE(std::filesystem::exists(folder.path / "x"));
  file.commit();
  TensorFile whole;
  whole.put<float>("a", {2, 3}, six);
  whole.put<float>("b", {}, one);
  CHECK(TensorFile::read(folder.path / "x").serialise() == whole.serialise());
}

TEST_CASE("elements that are not those of the shape, a tensor that is left out and a name that cannot be stored leave no file") {
  const Folder folder;
  const std::string path = folder.path / "x";
  CHECK(sentence([&] {
          FloatTensorWriter<>{path, two}.append(one);
        }) == "[heddle.D26] the tensor to store: 'a' has shape [2, 3] but 1 elements. Fix: give as many elements as the sizes multiply to.");
  CHECK(sentence([&] {
          FloatTensorWriter<> file{path, two};
          file.append(six);
          file.commit();
        }).find("[heddle.D26] the tensor to store: 'b' was never given") == 0);
  CHECK(sentence([&] { FloatTensorWriter<>{path, {{"", {1}}}}; }).find("[heddle.D15] the tensor to store cannot have the name ''") == 0);
  CHECK(std::filesystem::is_empty(folder.path));
}
