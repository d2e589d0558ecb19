// SPDX-License-Identifier: MIT
// Room: io. A GPT-2 checkpoint of Hugging Face, with the layouts of Linear: what load() of a model with its names takes.
// Sees: io/safetensors.  Does not see: models, plans, backends.
// In: a path, or a TensorFile.  Out: a TensorFile.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "heddle/io/file.hpp"
#include "heddle/io/safetensors.hpp"

namespace heddle::io_room {

/// Whether a tensor of a GPT-2 of Hugging Face is the weight of a Conv1D, which is stored as (In, Out): "h.0.attn.c_attn.weight" is one.
[[nodiscard]] inline bool is_conv1d_weight(std::string_view name) {
  constexpr std::array<std::string_view, 3> ends{"c_attn.weight", "c_proj.weight", "c_fc.weight"};
  return std::any_of(ends.begin(), ends.end(), [&](std::string_view end) { return name.ends_with(end); });
}
/// Whether it is a mask, which is no parameter, of whatever type: "h.0.attn.bias" is one, "h.0.attn.c_attn.bias" is none.
[[nodiscard]] inline bool is_attention_mask(std::string_view name) { return name.ends_with(".attn.bias") || name.ends_with(".attn.masked_bias"); }

/// The weight of a Conv1D as that of a Linear: (In, Out) becomes (Out, In).
[[nodiscard]] inline StoredTensor turned_weight(StoredTensor tensor) {
  const std::vector<float>& values = std::get<std::vector<float>>(tensor.elements);
  std::vector<float> turned(values.size());
  const std::size_t in = values.empty() ? 0 : static_cast<std::size_t>(tensor.shape[0]), out = static_cast<std::size_t>(tensor.shape[1]);
  for (std::size_t i = 0; i < in; ++i)
    for (std::size_t o = 0; o < out; ++o) turned[o * in + i] = values[i * out + o];
  std::swap(tensor.shape[0], tensor.shape[1]);
  tensor.elements = std::move(turned);
  return tensor;
}

/// What is wrong with a file as a GPT-2 of Hugging Face; `whose` names it: all tensors of no floats in one sentence.
inline void refuse_other_gpt2(const TensorFile& given, const std::string& prefix, const std::string& whose) {
  const std::string table = prefix + "wte.weight";
  if (!given.contains(table))
    refuse_tensors(Code{'D', 29}, "there is no tensor " + cited(table) + " among the " + std::to_string(given.tensors().size()) + " of " + whose,
                   "load a GPT-2 of Hugging Face");
  if (given.shape(table).size() != 2)
    refuse_tensors(Code{'D', 29},
                   "tensor " + cited(table) + " of " + whose + " has " + std::to_string(given.shape(table).size()) +
                       " dimensions, not the 2 of a table of tokens",
                   "load a GPT-2 of Hugging Face");
  constexpr int most_named = 8;
  std::string names;
  int others = 0;
  for (const auto& [name, tensor] : given.tensors())
    if (!is_attention_mask(name) && tensor.type_name() != "F32" && ++others <= most_named)
      names += (names.empty() ? "" : ", ") + cited(name) + " " + std::string{tensor.type_name()};
  if (others > 0)
    refuse_tensors(
        Code{'D', 29},
        whose + " has tensors of no floats: " + names + (others > most_named ? " and " + std::to_string(others - most_named) + " more" : ""),
        "convert them to F32 before saving");
  if (prefix.empty()) return;
  for (const auto& [name, tensor] : given.tensors())
    if (name.starts_with(prefix) && given.contains(name.substr(prefix.size())))
      refuse_tensors(Code{'D', 29}, whose + " has " + cited(name) + " and " + cited(name.substr(prefix.size())) + ", which would have one name",
                     "keep one of both");
}

/// The tensors of a GPT-2 of Hugging Face under the names and with the shapes of a model of Linear: weights of its Conv1D, (In, Out), become
/// (Out, In); "transformer." before names is left out, and so are masks. Its activation is GELUTanh. Beside the file it takes the memory of one
/// tensor.
///
/// Shape   "h.0.attn.c_attn.weight" (768, 2304) becomes (2304, 768)
/// Errors  D29 if there is no table "wte.weight", tensors are of no floats, two would have one name, or a weight has the layout of Linear already
/// Source  sources.md#gpt2-checkpoint
/// Tested  io/gpt2_test, golden/gpt2_checkpoint_test
[[nodiscard]] inline TensorFile gpt2_tensors(TensorFile given, const std::string& whose = "the file") {
  constexpr std::string_view before = "transformer.";
  const std::string prefix = given.contains(std::string{before} + "wte.weight") ? std::string{before} : std::string{};
  refuse_other_gpt2(given, prefix, whose);
  const std::int64_t width = given.shape(prefix + "wte.weight")[1];
  std::vector<std::string> names;
  for (const auto& [name, tensor] : given.tensors())
    if (!is_attention_mask(name)) names.push_back(name);
  TensorFile made;
  made.metadata = given.metadata;
  for (const std::string& full_name : names) {
    StoredTensor tensor = given.take(full_name);
    const std::string name = full_name.starts_with(prefix) && full_name.size() > prefix.size() ? full_name.substr(prefix.size()) : full_name;
    const bool turns = is_conv1d_weight(name) && tensor.shape.size() == 2;
    if (turns && name.ends_with("c_attn.weight") && tensor.shape[0] != width)
      refuse_tensors(Code{'D', 29},
                     "tensor " + cited(full_name) + " of " + whose + " has " + std::to_string(tensor.shape[0]) +
                         " rows, but a GPT-2 of Hugging Face with " + std::to_string(width) + " features has as many of these",
                     "load a file that has the layout of Linear as it is, by its path");
    made.put(name, turns ? turned_weight(std::move(tensor)) : std::move(tensor));
  }
  return made;
}

/// The same of a safetensors file: trainer.load(extending::read_gpt2("model.safetensors")).
/// Errors  those of TensorFile::read, but for types of masks, and D29
[[nodiscard]] inline TensorFile read_gpt2(const auto& path) {
  return within_memory(path, [&] { return gpt2_tensors(TensorFile::read(path, &is_attention_mask), quoted_path(path_text(path))); });
}

}  // namespace heddle::io_room

namespace heddle::extending {
using io_room::read_gpt2;
}  // namespace heddle::extending
