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

#include "heddle/core/written.hpp"
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
/// Errors  D20 unwritable; D14, D15, D21; R04 after an interrupted call, and no file is written
/// Tested  run/parameter_file_test, backend/cpu_mpi_test
template <class Session, class Late = void> void save_parameters(LocalRanks<Session>& ranks, const std::string& path) {
  const auto resting = ranks.resting("save()");
  NamedTensors<Session>& tensors = resting.tensors;
  ranks.refuse_interrupted();
  using Writer = FloatTensorWriter<Late>;
  std::vector<typename Writer::Told> told;
  for (const std::string& name : tensors.names()) told.push_back({name, sizes_of(tensors.shape(tensors.find(name)))});
  std::sort(told.begin(), told.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
  const bool writes = ranks.first_process();
  constexpr const char* save_elsewhere = "save where it is free";
  std::optional<Writer> file;
  std::optional<Error> problem;
  const auto in_first_process = [&](auto action) {
    if (writes && !problem) problem = error_of([&] { within_memory(path, action, save_elsewhere); });
  };
  const auto tell = [&] { throw_everywhere(ranks.session(), ranks.writing_rank(), problem); };
  in_first_process([&] { file.emplace(path, told); });
  tell();  // before any tensor is gathered in vain
  for (const auto& tensor : told) {
    const std::vector<float> values = within_memory(
        path, [&] { return tensors.parameter(tensors.find(tensor.name), 0); }, save_elsewhere);
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

/// All parameters of a source by number: where they lie, or copied from a source that gathers them.
///
/// Tested  run/parameter_file_test
class GivenValues {
 public:
  /// Of the names that the tensors have in the source.
  /// Errors  D16 with all differences; R05 a source that gives fewer or more than it says
  template <class Session> void take(const NamedTensors<Session>& tensors, std::string_view model, ParameterSource& source, const std::string& path) {
    const std::vector<std::string> names = tensors.names();
    std::vector<NamedShape> wanted;
    for (const std::string& name : names) wanted.push_back({name, sizes_of(tensors.shape(tensors.find(name)))});
    const std::vector<NamedShape> given = source.shapes();
    const std::vector<TiedName> ties = tensors.ties();
    std::vector<float> room, room_of_other;
    refuse_other_tensors(model, path, wanted, given, ties, [&](const std::string& a, const std::string& b) {
      return same_bytes(source.values(a, room), source.values(b, room_of_other));
    });
    rooms_.resize(names.size());
    for (std::size_t i = 0; i < names.size(); ++i) {
      numbers_.push_back(tensors.find(names[i]));
      values_.push_back(source.values(given_name(names[i], ties, given), rooms_[i]));
      tensors.refuse_other_size(numbers_[i], values_[i]);
    }
  }
  [[nodiscard]] std::uint64_t hash() const {
    BitHash bits;
    for (const std::span<const float> values : values_) bits.add(values);
    return bits.value;
  }
  template <class Session> void write(NamedTensors<Session>& tensors) const {
    for (std::size_t i = 0; i < values_.size(); ++i) tensors.write(numbers_[i], values_[i]);
  }

 private:
  std::vector<int> numbers_;
  std::vector<std::span<const float>> values_;
  std::vector<std::vector<float>> rooms_;  // of a file none is used: its tensors lie in memory
};

/// What every process loads: complete, and the same in all of them, before the first parameter is set. `path` is the file that was named, if one was.
///
/// Errors  D16 with all differences; R05 too few elements; R28 processes with other values, or a source that throws; R04 a source that was
///         interrupted
/// Tested  run/parameter_file_test, run/runner_test, backend/cpu_mpi_test
template <class Session>
[[nodiscard]] GivenValues agreed_values(LocalRanks<Session>& ranks, const NamedTensors<Session>& tensors, std::string_view model,
                                        ParameterSource& source, const std::string& path = {}) {
  GivenValues given;
  in_every_process(ranks.session(), ranks.ranks(), [&] { given.take(tensors, model, source, path); });
  if (!live_apart(ranks.session(), ranks.ranks())) return given;
  const std::string verb = source.from_a_file() ? "has read" : "loads", what = source.from_a_file() ? "file" : "source";
  refuse_other_numbers(ranks.session(), ranks.ranks(), given.hash(), [&](int rank) {
    return Error(Code{'R', 28}, written({"rank ", rank, ' ', verb,
                                         " other parameters than rank 0, so they would not agree. Fix: give every process the same ", what, '.'}));
  });
  return given;
}

/// From a file in memory, a trainer or a runner. Either all parameters are set, on all ranks, or none.
template <class Session> void load_parameters(LocalRanks<Session>& ranks, std::string_view model, ParameterSource& source) {
  GivenValues given;
  ranks.change(
      "load()", [&](NamedTensors<Session>& tensors) { given = agreed_values(ranks, tensors, model, source); },
      [&](NamedTensors<Session>& tensors) { given.write(tensors); });
}
/// From a path: every process reads the file.
///
/// Errors  D01 unreadable, D14, D16, D21 to D28 a file that is damaged, R28
template <class Session, class Late = void> void load_parameter_file(LocalRanks<Session>& ranks, std::string_view model, const std::string& path) {
  std::optional<TensorsOfFile<Late>> file;
  GivenValues given;
  const auto read = [&](NamedTensors<Session>& tensors) {
    in_every_process(ranks.session(), ranks.ranks(), [&] { file.emplace(TensorsOfFile<Late>::read(path)); });
    SourceOf<TensorsOfFile<Late>> stored{*file};
    given = agreed_values(ranks, tensors, model, stored, path);
  };
  ranks.change("load()", read, [&](NamedTensors<Session>& tensors) { given.write(tensors); });
}

}  // namespace heddle::run_room
