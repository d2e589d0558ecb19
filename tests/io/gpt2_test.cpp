// SPDX-License-Identifier: MIT
#include "heddle/io/gpt2.hpp"

#include <doctest/doctest.h>

#include "io/idx_bytes.hpp"

using namespace heddle;
using idx_bytes::sentence;
using io_room::gpt2_tensors, io_room::read_gpt2, io_room::TensorFile;

namespace {

std::vector<float> counted(std::size_t n) {
  std::vector<float> values(n);
  for (std::size_t i = 0; i < n; ++i) values[i] = static_cast<float>(i);
  return values;
}
/// Two features, as files had them before "transformer." was written, with masks.
TensorFile old_file(const std::string& prefix = "") {
  TensorFile file;
  file.metadata["format"] = "pt";
  file.put(prefix + "wte.weight", {3, 2}, counted(6));
  file.put(prefix + "h.0.attn.bias", {1, 1, 4, 4}, counted(16));
  file.put(prefix + "h.0.attn.masked_bias", {}, counted(1));
  file.put(prefix + "h.0.attn.c_attn.weight", {2, 6}, counted(12));
  file.put(prefix + "h.0.attn.c_attn.bias", {6}, counted(6));
  file.put(prefix + "h.0.attn.c_proj.weight", {2, 2}, counted(4));
  file.put(prefix + "h.0.mlp.c_fc.weight", {2, 8}, counted(16));
  return file;
}

}  // namespace

TEST_CASE("weights of a Conv1D are turned, square ones as well, and all else stays") {
  for (const std::string prefix : {"", "transformer."}) {
    const TensorFile made = gpt2_tensors(old_file(prefix));
    CHECK(made.tensors().size() == 5);
    CHECK(made.metadata.at("format") == "pt");
    CHECK(made.shape("h.0.attn.c_attn.weight") == std::vector<std::int64_t>{6, 2});
    const auto turned = made.get<float>("h.0.attn.c_attn.weight");
    CHECK(std::vector<float>(turned.begin(), turned.end()) == std::vector<float>{0, 6, 1, 7, 2, 8, 3, 9, 4, 10, 5, 11});
    const auto square = made.get<float>("h.0.attn.c_proj.weight");
    CHECK(std::vector<float>(square.begin(), square.end()) == std::vector<float>{0, 2, 1, 3});
    CHECK(made.shape("h.0.mlp.c_fc.weight") == std::vector<std::int64_t>{8, 2});
    const auto table = made.get<float>("wte.weight");
    CHECK(std::vector<float>(table.begin(), table.end()) == counted(6));
    CHECK(made.contains("h.0.attn.c_attn.bias"));
  }
}

TEST_CASE("a file of another model, or with the layout of Linear, is refused in one sentence") {
  TensorFile other;
  other.put("0.weight", {3, 2}, counted(6));
  CHECK(sentence([&] { static_cast<void>(gpt2_tensors(other)); }) ==
        "[heddle.D29] there is no tensor 'wte.weight' among the 1 of the file. Fix: load a GPT-2 of Hugging Face.");
  for (const std::vector<std::int64_t>& shape : {std::vector<std::int64_t>{}, {1}, {1, 1, 1}}) {
    TensorFile flat;
    flat.put("transformer.wte.weight", shape, counted(1));
    CHECK(sentence([&] { static_cast<void>(gpt2_tensors(flat)); }) ==
          "[heddle.D29] tensor 'transformer.wte.weight' of the file has " + std::to_string(shape.size()) +
              " dimensions, not the 2 of a table of tokens. Fix: load a GPT-2 of Hugging Face.");
  }
  TensorFile numbers = old_file();
  numbers.put("h.0.ln_1.weight", {1}, std::vector<std::int64_t>{1});
  numbers.put("h.0.ln_1.bias", {1}, std::vector<std::int32_t>{1});
  CHECK(sentence([&] { static_cast<void>(gpt2_tensors(numbers, "'a.safetensors'")); }) ==
        "[heddle.D29] 'a.safetensors' has tensors of no floats: 'h.0.ln_1.bias' I32, 'h.0.ln_1.weight' I64. Fix: convert them to F32 before saving.");
  CHECK(sentence([&] { static_cast<void>(gpt2_tensors(gpt2_tensors(old_file()))); }) ==
        "[heddle.D29] tensor 'h.0.attn.c_attn.weight' of the file has 6 rows, but a GPT-2 of Hugging Face with 2 features has as many of these. Fix: "
        "load a file "
        "that has the layout of Linear as it is, by its path.");
  CHECK(sentence([] { static_cast<void>(read_gpt2("no_such_file.safetensors")); }).substr(0, 12) == "[heddle.D01]");
}

TEST_CASE("a file is read by its path") {
  const idx_bytes::Folder folder{"gpt2_file"};
  std::ofstream{folder.path / "model.safetensors", std::ios::binary} << old_file().serialise();
  CHECK(read_gpt2(folder.path / "model.safetensors").shape("h.0.mlp.c_fc.weight") == std::vector<std::int64_t>{8, 2});
}

TEST_CASE("two tensors that would have one name are refused, whichever the alphabet would keep") {
  for (const std::string name : {"wte.weight", "h.0.ln_1.weight"}) {
    TensorFile twice = old_file("transformer.");
    twice.put("transformer.h.0.ln_1.weight", {2}, counted(2));
    twice.put(name, {2}, counted(2));
    CHECK(sentence([&] { static_cast<void>(gpt2_tensors(twice)); }) ==
          "[heddle.D29] the file has 'transformer." + name + "' and '" + name + "', which would have one name. Fix: keep one of both.");
  }
}

TEST_CASE("a weight without elements is turned at once, however long its empty rows are") {
  TensorFile empty = old_file();
  empty.put("h.0.mlp.c_fc.weight", {std::int64_t{1} << 58, 0}, std::vector<float>{});
  CHECK(gpt2_tensors(empty).shape("h.0.mlp.c_fc.weight") == std::vector<std::int64_t>{0, std::int64_t{1} << 58});
  empty.put("transformer.", {}, counted(1));
  CHECK(gpt2_tensors(empty).contains("transformer."));
}

TEST_CASE("masks may have any type: older files have them as bytes or truth values, and they are passed over") {
  const idx_bytes::Folder folder{"gpt2_masks"};
  TensorFile with = old_file();
  std::string bytes = with.serialise();
  const std::size_t mask = bytes.find("\"h.0.attn.bias\":{\"dtype\":\"F32\",\"shape\":[1,1,4,4]");
  REQUIRE(mask != std::string::npos);
  bytes.replace(bytes.find("\"F32\",\"shape\":[1,1,4,4]", mask), 23, "\"U8\",\"shape\":[1,1,8,8] ");
  std::ofstream{folder.path / "model.safetensors", std::ios::binary} << bytes;
  const TensorFile read = read_gpt2(folder.path / "model.safetensors");
  CHECK(read.tensors().size() == 5);
  const auto table = read.get<float>("wte.weight");
  CHECK(std::vector<float>(table.begin(), table.end()) == counted(6));
  CHECK(sentence([&] { static_cast<void>(TensorFile::read(folder.path / "model.safetensors")); }).find("[heddle.D25]") == 0);
}
