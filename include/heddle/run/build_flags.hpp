// SPDX-License-Identifier: MIT
// Room: run. What a file was compiled with, as far as code or bits depend on it, compared with what heddle::compiled was compiled with.
// Sees: core, plan/program, seams/error.  Does not see: policies, threads, any backend.
// In: macros of the compiler, of the standard library and of Eigen.  Out: flags_of_this_file, flags_that_differ, refuse_other_build, build_in_words.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "heddle/core/host_device.hpp"
#include "heddle/core/text.hpp"
#include "heddle/core/version.hpp"
#include "heddle/core/written.hpp"
#include "heddle/plan/program/program.hpp"
#include "heddle/run/step_input.hpp"
#include "heddle/seams/error.hpp"
#if (defined(HEDDLE_COMPILED) || defined(HEDDLE_CUDA_KERNELS)) && __has_include("headers_hash.hpp")
#include "headers_hash.hpp"  // of CMake: beside this file where Heddle is installed
#endif

namespace heddle::run_room {

/// A flag by the name that users know, and what it is: {"AVX2", 1}. Every version of Heddle can read it.
struct BuildFlag {
  const char* name;
  std::int64_t value;
  static constexpr std::int64_t unseen = -1;   ///< fits everything: the version of Eigen, of a file that includes no Eigen
  static constexpr std::int64_t no_hash = 0;   ///< fits no other: headers of nobody knows where
  static constexpr std::int64_t clang = 1000;  ///< compilers are told apart by their number: g++ 12 is 12, clang 14 is 1014
};

/// 1 of a macro that is defined and not 0: told("AVX2", "__AVX2__", HEDDLE_SPELLED(__AVX2__)).
[[nodiscard]] constexpr BuildFlag told(const char* name, std::string_view macro, std::string_view spelled) {
  return {name, spelled != macro && spelled != "0" ? 1 : 0};
}

/// The same in all files that are compiled alike; of others the linker takes those of one file, as it does of their code.
inline constexpr BuildFlag build_flags[] = {
    {"the version of Heddle", HEDDLE_VERSION},
#if defined(__clang__)
    {"the compiler", BuildFlag::clang + __clang_major__},
#else
    {"the compiler", __GNUC__},
#endif
    told("SSE3", "__SSE3__", HEDDLE_SPELLED(__SSE3__)),
    told("SSE4.1", "__SSE4_1__", HEDDLE_SPELLED(__SSE4_1__)),
    told("AVX", "__AVX__", HEDDLE_SPELLED(__AVX__)),
    told("AVX2", "__AVX2__", HEDDLE_SPELLED(__AVX2__)),
    told("FMA", "__FMA__", HEDDLE_SPELLED(__FMA__)),
    told("F16C", "__F16C__", HEDDLE_SPELLED(__F16C__)),
    told("AVX512F", "__AVX512F__", HEDDLE_SPELLED(__AVX512F__)),
    told("AVX512DQ", "__AVX512DQ__", HEDDLE_SPELLED(__AVX512DQ__)),
    told("AVX512VL", "__AVX512VL__", HEDDLE_SPELLED(__AVX512VL__)),
    told("SVE", "__ARM_FEATURE_SVE", HEDDLE_SPELLED(__ARM_FEATURE_SVE)),
    told("-ffast-math", "__FAST_MATH__", HEDDLE_SPELLED(__FAST_MATH__)),
    told("-ffinite-math-only", "__FINITE_MATH_ONLY__", HEDDLE_SPELLED(__FINITE_MATH_ONLY__)),
    told("-fassociative-math", "__ASSOCIATIVE_MATH__", HEDDLE_SPELLED(__ASSOCIATIVE_MATH__)),  // this and the next two: of g++ alone
    told("-freciprocal-math", "__RECIPROCAL_MATH__", HEDDLE_SPELLED(__RECIPROCAL_MATH__)),
    told("-fno-signed-zeros", "__NO_SIGNED_ZEROS__", HEDDLE_SPELLED(__NO_SIGNED_ZEROS__)),
    told("-fno-math-errno", "__NO_MATH_ERRNO__", HEDDLE_SPELLED(__NO_MATH_ERRNO__)),
    {"-fsingle-precision-constant", sizeof(1.0) == sizeof(float) ? 1 : 0},
#ifdef __FLT_EVAL_METHOD__
    {"-mfpmath=387", __FLT_EVAL_METHOD__ == 2 ? 1 : 0},
#endif
    told("_GLIBCXX_ASSERTIONS", "_GLIBCXX_ASSERTIONS", HEDDLE_SPELLED(_GLIBCXX_ASSERTIONS)),
    told("_GLIBCXX_DEBUG", "_GLIBCXX_DEBUG", HEDDLE_SPELLED(_GLIBCXX_DEBUG)),
    told("_GLIBCXX_USE_CXX11_ABI", "_GLIBCXX_USE_CXX11_ABI", HEDDLE_SPELLED(_GLIBCXX_USE_CXX11_ABI)),
    told("EIGEN_DONT_VECTORIZE", "EIGEN_DONT_VECTORIZE", HEDDLE_SPELLED(EIGEN_DONT_VECTORIZE)),
#if defined(EIGEN_MAX_ALIGN_BYTES)
    {"EIGEN_MAX_ALIGN_BYTES", EIGEN_MAX_ALIGN_BYTES},
#elif defined(__AVX512F__)
    {"EIGEN_MAX_ALIGN_BYTES", 64},  // what Eigen takes where nothing was said
#elif defined(__AVX__)
    {"EIGEN_MAX_ALIGN_BYTES", 32},
#else
    {"EIGEN_MAX_ALIGN_BYTES", 16},
#endif
#if defined(EIGEN_WORLD_VERSION)
    {"the version of Eigen", EIGEN_WORLD_VERSION * 10'000 + EIGEN_MAJOR_VERSION * 100 + EIGEN_MINOR_VERSION},
#else
    {"the version of Eigen", BuildFlag::unseen},
#endif
#if defined(HEDDLE_HEADERS_HASH)
    {"the hash of the headers", HEDDLE_HEADERS_HASH},
#else
    {"the hash of the headers", BuildFlag::no_hash},  // of headers that CMake has not installed
#endif
    {"sizeof(Program)", sizeof(Program)},
    {"sizeof(StepInput)", sizeof(StepInput)},
};

// In a namespace without a name: each file has its own flags, and the linker must not take those of one file for all.
namespace {

constexpr auto flags_of_this_file = std::to_array(build_flags);

}  // namespace

/// "1.2.3" of 1002003, whose parts are below 1000, and "3.4.0" of 30400, whose are below 100.
[[nodiscard]] inline std::string version_in_words(std::int64_t number, std::int64_t limit) {
  return std::to_string(number / limit / limit) + '.' + std::to_string(number / limit % limit) + '.' + std::to_string(number % limit);
}
/// "0123456789abcde", or "unknown".
[[nodiscard]] inline std::string hash_in_words(std::int64_t hash) {
  if (hash == BuildFlag::no_hash) return "unknown";
  std::string digits;
  for (int shift = 56; shift >= 0; shift -= 4) digits += "0123456789abcdef"[hash >> shift & 15];
  return digits;
}

/// "on", "g++ 12", "3.4.0": the value of a flag as users know it.
[[nodiscard]] inline std::string in_words(const BuildFlag& flag) {
  const std::string_view name = flag.name;
  if (name == "the version of Heddle") return version_in_words(flag.value, 1'000);
  if (name == "the version of Eigen") return version_in_words(flag.value, 100);
  if (name == "the hash of the headers") return hash_in_words(flag.value);
  if (name == "the compiler")
    return flag.value > BuildFlag::clang ? "clang " + std::to_string(flag.value - BuildFlag::clang) : "g++ " + std::to_string(flag.value);
  return flag.value > 1 ? std::to_string(flag.value) : flag.value == 1 ? "on" : "off";
}

/// What ranks that are processes tell each other: "the compiler=g++ 12;AVX2=on;". Checks of the standard library and sizes change no bits.
///
/// Tested  run/build_flags_test
[[nodiscard]] HEDDLE_COLD inline Text<1000> build_in_words() {
  Text<1000> all;
  for (const BuildFlag& flag : build_flags) {
    const std::string_view name = flag.name;
    const bool unknown = flag.value == BuildFlag::unseen || (name == "the hash of the headers" && flag.value == BuildFlag::no_hash);
    if (!unknown && !name.starts_with("_GLIBCXX") && !name.starts_with("sizeof")) all << name << '=' << std::string_view{in_words(flag)} << ';';
  }
  return all;
}

/// "AVX2 is off in the program and on in the library, the compiler is clang 14 in ..."; empty if they agree.
///
/// Tested  run/build_flags_test
[[nodiscard]] inline std::string flags_that_differ(std::span<const BuildFlag> program, std::span<const BuildFlag> library) {
  std::string all;
  for (const BuildFlag& mine : program)
    for (const BuildFlag& theirs : library) {
      const bool known = mine.value != BuildFlag::unseen && theirs.value != BuildFlag::unseen;
      if (std::string_view{mine.name} != theirs.name || mine.value == theirs.value || !known) continue;
      all += (all.empty() ? "" : ", ") + std::string{mine.name} + " is " + in_words(mine) + " in the program and " + in_words(theirs) +
             " in the library";
    }
  return all;
}

/// Errors  R33 of flags that differ
[[noreturn]] HEDDLE_COLD inline void refuse_build(const std::string& differences) {
  throw Error(Code{'R', 33},
              written({"this program and heddle::compiled were not compiled alike: ", differences,
                       ". Fix: compile both from the same headers with the same flags, or link heddle::eigen in place of heddle::compiled."}));
}

#ifdef HEDDLE_COMPILED
/// In heddle::compiled. Notes how the flags of one file of the program differ from the library's, before main begins.
bool note_build(std::span<const BuildFlag> program);
/// In heddle::compiled. Errors  R33 if a file of the program was compiled with other flags
void refuse_other_build();

namespace {
[[maybe_unused]] const bool build_is_noted = note_build(flags_of_this_file);
}  // namespace
#else
/// Where Heddle is compiled with the program there is no other build.
inline void refuse_other_build() {}
#endif

}  // namespace heddle::run_room
