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
#include "heddle/run/parameter_source.hpp"
#include "heddle/run/results.hpp"
#include "heddle/run/strict_load.hpp"

namespace heddle::run_room {

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

/// Also of numbers that are not equal to themselves.
[[nodiscard]] inline bool same_bytes(std::span<const float> a, std::span<const float> b) {
  return a.size() == b.size() && std::equal(a.begin(), a.end(), b.begin(),
                                            [](float x, float y) { return std::bit_cast<std::uint32_t>(x) == std::bit_cast<std::uint32_t>(y); });
}

/// Sets all parameters. Nothing is changed unless the names and shapes in all processes are those that the model takes. `path` names the file.
///
/// Errors  D16 with all differences; R28 processes that have other values
/// Tested  run/parameter_file_test, run/runner_test, backend/cpu_mpi_test
template <class Session>
void take_parameters(LocalRanks<Session>& ranks, NamedTensors<Session>& tensors, std::string_view model, ParameterSource& source,
                     const std::string& path = {}) {
  std::vector<std::string> names = tensors.names();
  std::vector<float> room, room_of_other;
  in_every_process(ranks.session(), ranks.ranks(), [&] {
    std::vector<NamedShape> wanted;
    for (const std::string& name : names) wanted.push_back({name, sizes_of(tensors.shape(tensors.find(name)))});
    const std::vector<NamedShape> given = source.shapes();
    const std::vector<TiedName> ties = tensors.ties();
    refuse_other_tensors(model, path, wanted, given, ties, [&](const std::string& a, const std::string& b) {
      return same_bytes(source.values(a, room), source.values(b, room_of_other));
    });
    for (std::string& name : names) name = given_name(name, ties, given);
  });
  if (source.from_a_file()) {
    BitHash bits;
    if (live_apart(ranks.session(), ranks.ranks()))
      for (const std::string& name : names) bits.add(source.values(name, room));
    refuse_other_numbers(ranks.session(), ranks.ranks(), bits.value, [](int rank) {
      return Error(Code{'R', 28}, "rank " + std::to_string(rank) +
                                      " has read other parameters than rank 0, so they would not agree. Fix: give every process the same file.");
    });
  }
  for (const std::string& name : names) tensors.write(tensors.find(name), source.values(name, room));
}

/// From a file in memory, a trainer or a runner.
template <class Session> void load_parameters(LocalRanks<Session>& ranks, std::string_view model, ParameterSource& source) {
  ranks.change("load()", [&](NamedTensors<Session>& tensors) { take_parameters(ranks, tensors, model, source); });
}
/// From a path: every process reads the file.
///
/// Errors  D01 unreadable, D14, D16, D21 to D28 a file that is damaged, R28
template <class Session, class Late = void> void load_parameter_file(LocalRanks<Session>& ranks, std::string_view model, const std::string& path) {
  ranks.change("load()", [&](NamedTensors<Session>& tensors) {
    std::optional<TensorsOfFile<Late>> file;
    in_every_process(ranks.session(), ranks.ranks(), [&] { file.emplace(TensorsOfFile<Late>::read(path)); });
    SourceOf<TensorsOfFile<Late>> stored{*file};
    take_parameters(ranks, tensors, model, stored, path);
  });
}

}  // namespace heddle::run_room
