// SPDX-License-Identifier: MIT
// Room: run. Parameters of a trainer as a file, and back: strict about names, shapes and types; all processes succeed, or all say why not.
// Sees: io/safetensors, io/tensor_writer, run/local_ranks.  Does not see: plans as types, any backend by name.
// In: the ranks of a trainer; a path, a file in memory, or another trainer.  Out: the file; the parameters set.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "heddle/io/safetensors.hpp"
#include "heddle/io/tensor_writer.hpp"
#include "heddle/run/agreement.hpp"
#include "heddle/run/local_ranks.hpp"
#include "heddle/run/results.hpp"
#include "heddle/run/strict_load.hpp"

namespace heddle::inline run_room {

/// What has parameters: a file by its path or in memory, a Runner, a Trainer under any plan. Those that gather from ranks are not const.
template <class Source> inline constexpr bool has_stored_tensors = requires(Source& source, const std::string& name) {
  source.tensors();
  source.template get<float>(name);
};
template <class Source> inline constexpr bool has_own_parameters = requires(Source& source, const std::string& name) {
  source.parameter_names();
  source.parameter_shape(name);
  source.parameter(name);
};
template <class Source>  // no concept: compilers would explain it
inline constexpr bool is_parameter_source = is_path<Source> || has_stored_tensors<Source> || has_own_parameters<Source>;

[[nodiscard]] inline std::vector<std::int64_t> sizes_of(const Shape& shape) { return {shape.sizes, shape.sizes + shape.dimensions}; }

/// Writes all parameters, one at a time: no process holds more than one whole. The first process writes; if it cannot, all throw its sentence.
///
/// Errors  D20 unwritable; D14, D15, D21
/// Tested  run/parameter_file_test, backend/cpu_mpi_test
template <class Session, class Late = void> void save_parameters(LocalRanks<Session>& ranks, const std::string& path) {
  NamedTensors<Session>& tensors = ranks.resting("save()");
  using Writer = FloatTensorWriter<Late>;
  std::vector<typename Writer::Told> told;
  for (const std::string& name : tensors.names()) told.push_back({name, sizes_of(tensors.shape(tensors.find(name)))});
  std::sort(told.begin(), told.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
  const bool writes = ranks.first_process();
  std::optional<Writer> file;
  std::optional<Error> problem;
  const auto in_first_process = [&](auto action) {
    if (writes && !problem) problem = error_of([&] { within_memory(path, action, "save where it is free"); });
  };
  const auto tell = [&] { throw_everywhere(ranks.session(), ranks.writing_rank(), problem); };
  in_first_process([&] { file.emplace(path, told); });
  tell();  // before any tensor is gathered in vain
  for (const auto& tensor : told) {
    const std::vector<float> values = tensors.parameter(tensors.find(tensor.name), 0);
    in_first_process([&] { file->append(values); });
  }
  in_first_process([&] { file->commit(); });
  tell();
}

/// What a source of parameters has: names, shapes, types.
template <class Source> [[nodiscard]] std::vector<NamedShape> shapes_of(const Source& source) {
  std::vector<NamedShape> shapes;
  if constexpr (requires { source.tensors(); })
    for (const auto& [name, tensor] : source.tensors()) shapes.push_back({name, tensor.shape, tensor.type_name()});
  else
    for (const std::string& name : source.parameter_names()) shapes.push_back({name, sizes_of(source.parameter_shape(name))});
  return shapes;
}

/// Also of numbers that are not equal to themselves.
[[nodiscard]] inline bool same_bytes(std::span<const float> a, std::span<const float> b) {
  return a.size() == b.size() && std::equal(a.begin(), a.end(), b.begin(),
                                            [](float x, float y) { return std::bit_cast<std::uint32_t>(x) == std::bit_cast<std::uint32_t>(y); });
}

/// Sets all parameters from a file in memory, a trainer or a runner. Nothing is changed unless all processes have what the model takes.
///
/// Errors  D16 with all differences; R28 processes that have other values
/// Tested  run/parameter_file_test, run/runner_test, backend/cpu_mpi_test
template <class Session, class Source>
void take_parameters(LocalRanks<Session>& ranks, NamedTensors<Session>& tensors, std::string_view model, Source& source,
                     const std::string& path = {}) {
  std::vector<std::string> names = tensors.names();
  const auto values = [&](const std::string& name) -> decltype(auto) {
    if constexpr (requires { source.parameter(name); })
      return source.parameter(name);
    else
      return source.template get<float>(name);
  };
  in_every_process(ranks.session(), ranks.ranks(), [&] {
    std::vector<NamedShape> wanted;
    for (const std::string& name : names) wanted.push_back({name, sizes_of(tensors.shape(tensors.find(name)))});
    const std::vector<NamedShape> given = shapes_of(source);
    const std::vector<TiedName> ties = tensors.ties();
    refuse_other_tensors(model, path, wanted, given, ties,
                         [&](const std::string& a, const std::string& b) { return same_bytes(values(a), values(b)); });
    for (std::string& name : names) name = given_name(name, ties, given);
  });
  if constexpr (requires { source.tensors(); }) {
    BitHash bits;
    if (live_apart(ranks.session(), ranks.ranks()))
      for (const std::string& name : names) bits.add(values(name));
    refuse_other_numbers(ranks.session(), ranks.ranks(), bits.value, [](int rank) {
      return Error(Code{'R', 28}, "rank " + std::to_string(rank) +
                                      " has read other parameters than rank 0, so they would not agree. Fix: give every process the same file.");
    });
  }
  for (const std::string& name : names) tensors.write(tensors.find(name), values(name));
}

/// The same from a path: every process reads the file.
///
/// Errors  D01 unreadable, D14, D16, D21 to D28 a file that is damaged, R28
template <class Session, class Source, class Late = void> void load_parameters(LocalRanks<Session>& ranks, std::string_view model, Source& source) {
  ranks.change("load()", [&](NamedTensors<Session>& tensors) {
    if constexpr (is_path<Source>) {
      std::optional<TensorsOfFile<Late>> file;
      in_every_process(ranks.session(), ranks.ranks(), [&] { file.emplace(TensorsOfFile<Late>::read(source)); });
      take_parameters(ranks, tensors, model, *file, path_text(source));
    } else {
      take_parameters(ranks, tensors, model, source);
    }
  });
}

}  // namespace heddle::inline run_room
