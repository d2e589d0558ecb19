// SPDX-License-Identifier: MIT
// Room: run. What has parameters by name: a file in memory, a Runner, a Trainer under any plan.
// Sees: core, seams/error, io/file, run/strict_load, run/turns.  Does not see: plans as types, ranks, formats of files, any backend.
// In: a source of any type.  Out: ParameterSource, behind which its type is forgotten.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "heddle/core/shape.hpp"
#include "heddle/io/file.hpp"
#include "heddle/run/strict_load.hpp"
#include "heddle/run/turns.hpp"
#include "heddle/seams/error.hpp"

namespace heddle::run_room {

/// A file in memory has its tensors stored; trainers and runners gather theirs from ranks, and so are not const.
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

/// Parameters by name, wherever they come from: what a trainer loads is compiled once, not for every type that it may load.
///
/// Tested  run/parameter_source_test
class ParameterSource {
 public:
  /// Each process that reads `from_a_file` has read it by itself, and may have read something else.
  explicit ParameterSource(bool from_a_file) : from_a_file_(from_a_file) {}
  ParameterSource(const ParameterSource&) = delete;
  ParameterSource& operator=(const ParameterSource&) = delete;
  virtual ~ParameterSource() = default;

  /// Names, shapes, element types.
  [[nodiscard]] virtual std::vector<NamedShape> shapes() = 0;
  /// The elements, in `room` if they lie nowhere yet: Linear<4, 3>'s weight has 12.
  [[nodiscard]] virtual std::span<const float> values(const std::string& name, std::vector<float>& room) = 0;
  [[nodiscard]] bool from_a_file() const { return from_a_file_; }

 private:
  bool from_a_file_;
};

/// The parameters of one source, which outlives this.
template <class Source> class SourceOf final : public ParameterSource {
  static constexpr bool is_stored = has_stored_tensors<Source>;

 public:
  explicit SourceOf(Source& source) : ParameterSource(is_stored), source_(source) {}

  /// From here on a trainer takes no step: all values are of the same one.
  /// Errors  R04 of a trainer whose call was interrupted: its parameters are those of no step; R11 of one with a call under way in another thread
  [[nodiscard]] std::vector<NamedShape> shapes() override {
    std::vector<NamedShape> all;
    if constexpr (requires { CallTurns::Turn{source_.reading("")}; }) {
      turn_.reset();  // its own, of an earlier call
      turn_ = source_.reading("load() of the parameters of a trainer");
    }
    if constexpr (requires { source_.interrupted(); })
      if (source_.interrupted())
        throw Error(Code{'R', 4},
                    "a call of the trainer that load() is given was interrupted, so its parameters are those of no step. Fix: load those of the last "
                    "good step.");
    if constexpr (is_stored)
      for (const auto& [name, tensor] : source_.tensors()) all.push_back({name, tensor.shape, tensor.type_name()});
    else
      for (const std::string& name : source_.parameter_names()) all.push_back({name, sizes_of(source_.parameter_shape(name))});
    return all;
  }
  [[nodiscard]] std::span<const float> values(const std::string& name, std::vector<float>& room) override {
    if constexpr (is_stored)
      return source_.template get<float>(name);
    else
      return room = source_.parameter(name);
  }

 private:
  Source& source_;
  CallTurns::Turn turn_;
};

}  // namespace heddle::run_room
