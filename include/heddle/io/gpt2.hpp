// SPDX-License-Identifier: MIT
// Room: io. A GPT-2 checkpoint of Hugging Face, with the layouts of Linear: what load() of a model with its names takes.
// Sees: io/safetensors.  Does not see: models, plans, backends.
// In: a path, or a TensorFile.  Out: a TensorFile.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "heddle/io/file.hpp"
#include "heddle/io/safetensors.hpp"

namespace heddle::io_room {

/// Whether a tensor of a GPT-2 of Hugging Face is the weight of a Conv1D, which is stored as (In, Out): "h.0.attn.c_attn.weight" is one.
[[nodiscard]] inline bool is_conv1d_weight(std::string_view name) {
  constexpr std::array<std::string_view, 3> ends{"c_attn.weight", "c_proj.weight", "c_fc.weight"};
  return std::any_of(ends.begin(), ends.end(), [&](std::string_view end) { return name.ends_with(end); });
}
/// Whether it is a mask, which is no parameter: "h.0.attn.bias" of 4 dimensions is one, "h.0.attn.c_attn.bias" is none.
[[nodiscard]] inline bool is_attention_mask(std::string_view name) { return name.ends_with(".attn.bias") || name.ends_with(".attn.masked_bias"); }

/// The tensors of a GPT-2 of Hugging Face under the names and with the shapes of a model of Linear: weights of its Conv1D, (In, Out), become
/// (Out, In); "transformer." before names is left out, and so are masks. Its activation is GELUTanh.
///
/// Shape   "h.0.attn.c_attn.weight" (768, 2304) becomes (2304, 768)
/// Errors  D29 if there is no table "wte.weight", a tensor is of no floats, or a weight has the layout of Linear already
/// Source  sources.md#gpt2-checkpoint
/// Tested  io/gpt2_test, golden/gpt2_checkpoint_test
[[nodiscard]] inline TensorFile gpt2_tensors(const TensorFile& given) {
  constexpr std::string_view before = "transformer.";
  const std::string prefix = given.contains(std::string{before} + "wte.weight") ? std::string{before} : std::string{};
  const std::vector<std::int64_t>& table = given.shape(prefix + "wte.weight");
  if (table.size() != 2)
    refuse_tensors(Code{'D', 29},
                   "tensor " + cited(prefix + "wte.weight") + " has " + std::to_string(table.size()) + " dimensions, not the 2 of a table of tokens",
                   "load a GPT-2 of Hugging Face");
  const std::int64_t width = table[1];
  TensorFile made;
  made.metadata = given.metadata;
  for (const auto& [full_name, tensor] : given.tensors()) {
    const std::string name = full_name.starts_with(prefix) ? full_name.substr(prefix.size()) : full_name;
    if (is_attention_mask(name)) continue;
    const std::span<const float> values = given.get<float>(full_name);
    if (!is_conv1d_weight(name) || tensor.shape.size() != 2) {
      made.put(name, tensor.shape, values);
      continue;
    }
    const auto in = static_cast<std::size_t>(tensor.shape[0]), out = static_cast<std::size_t>(tensor.shape[1]);
    if (name.ends_with("c_attn.weight") && tensor.shape[0] != width)
      refuse_tensors(Code{'D', 29},
                     "tensor " + cited(full_name) + " has " + std::to_string(in) + " rows, but a GPT-2 of Hugging Face with " +
                         std::to_string(width) + " features has as many of these",
                     "load a file that has the layout of Linear as it is, by its path");
    std::vector<float> turned(values.size());
    for (std::size_t i = 0; i < in; ++i)
      for (std::size_t o = 0; o < out; ++o) turned[o * in + i] = values[i * out + o];
    made.put(name, {tensor.shape[1], tensor.shape[0]}, turned);
  }
  return made;
}

/// The same of a safetensors file: trainer.load(extending::read_gpt2("model.safetensors")).
/// Errors  those of TensorFile::read, and D29
[[nodiscard]] inline TensorFile read_gpt2(const auto& path) {
  return within_memory(path, [&] { return gpt2_tensors(TensorFile::read(path)); });
}

}  // namespace heddle::io_room

namespace heddle::extending {
using io_room::read_gpt2;
}  // namespace heddle::extending
