// SPDX-License-Identifier: MIT
#include "heddle/run/build_flags.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <set>
#include <string>

using namespace heddle;

namespace {

std::int64_t value_of(std::string_view name) {
  for (const BuildFlag& flag : flags_of_this_file)
    if (flag.name == name) return flag.value;
  return -2;
}

}  // namespace

TEST_CASE("a macro counts as told if it is defined and not 0") {
#define HEDDLE_TEST_ON 1
#define HEDDLE_TEST_EMPTY
#define HEDDLE_TEST_OFF 0
  static_assert(told("x", "HEDDLE_TEST_ON", HEDDLE_SPELLED(HEDDLE_TEST_ON)).value == 1);
  static_assert(told("x", "HEDDLE_TEST_EMPTY", HEDDLE_SPELLED(HEDDLE_TEST_EMPTY)).value == 1);
  static_assert(told("x", "HEDDLE_TEST_OFF", HEDDLE_SPELLED(HEDDLE_TEST_OFF)).value == 0);
  static_assert(told("x", "HEDDLE_TEST_NONE", HEDDLE_SPELLED(HEDDLE_TEST_NONE)).value == 0);
}

TEST_CASE("this file knows what it was compiled with") {
  CHECK(value_of("NDEBUG") == -2);  // asserts change neither the layout of an object nor a result
#ifdef __AVX2__
  CHECK(value_of("AVX2") == 1);
#else
  CHECK(value_of("AVX2") == 0);
#endif
  for (const char* flag : {"-ffast-math", "-ffinite-math-only", "-fassociative-math", "-freciprocal-math", "-fno-signed-zeros", "-fno-math-errno",
                           "-fsingle-precision-constant", "-mfpmath=387"})
    CHECK_MESSAGE(value_of(flag) == 0, flag);
  CHECK(value_of("sizeof(Program)") == sizeof(Program));
  CHECK((value_of("the compiler") > BuildFlag::clang) == (std::string{__VERSION__}.find("lang") != std::string::npos));
  std::set<std::string> names;
  for (const BuildFlag& flag : flags_of_this_file) CHECK_MESSAGE(names.insert(flag.name).second, flag.name, " stands twice");
}

TEST_CASE("ranks tell each other all flags that bits depend on, and no others") {
  const Text<1000> all = build_in_words();
  CHECK_FALSE(all.cut);
  for (const BuildFlag& flag : flags_of_this_file) {
    const std::string_view name = flag.name;
    const bool known = flag.value != BuildFlag::unseen && !(name == "the hash of the headers" && flag.value == BuildFlag::no_hash);
    const bool told = (';' + std::string{all.view()}).find(';' + std::string{name} + '=' + in_words(flag) + ';') != std::string::npos;
    CHECK_MESSAGE(told == (known && name.find("_GLIBCXX") != 0 && name.find("sizeof") != 0), name);
  }
}

TEST_CASE("every flag that differs is named with both values, and nothing else") {
  const std::array<BuildFlag, 5> one{{{"the compiler", 12}, {"AVX2", 0}, {"FMA", 1}, {"EIGEN_MAX_ALIGN_BYTES", 16}, {"the version of Eigen", 30490}}};
  CHECK(flags_that_differ(one, one).empty());
  CHECK(flags_that_differ(flags_of_this_file, flags_of_this_file).empty());
  auto other = one;
  other[1].value = 1;
  CHECK(flags_that_differ(one, other) == "AVX2 is off in the program and on in the library");
  CHECK(flags_that_differ(other, one) == "AVX2 is on in the program and off in the library");
  other[0].value = BuildFlag::clang + 14;
  other[3].value = 64;
  CHECK(flags_that_differ(other, one) ==
        "the compiler is clang 14 in the program and g++ 12 in the library, AVX2 is on in the program and off in the library, "
        "EIGEN_MAX_ALIGN_BYTES is 64 in the program and 16 in the library");
}

TEST_CASE("versions are told as they are written, and headers by their hash") {
  const std::array<BuildFlag, 3> one{
      {{"the version of Heddle", 1'002'003}, {"the version of Eigen", 30'409}, {"the hash of the headers", 0x0123456789abcde}}};
  auto other = one;
  other[0].value = 2'000;
  other[1].value = 50'001;
  other[2].value = BuildFlag::no_hash;
  CHECK(flags_that_differ(one, other) ==
        "the version of Heddle is 1.2.3 in the program and 0.2.0 in the library, the version of Eigen is 3.4.9 in the program and 5.0.1 in the "
        "library, "
        "the hash of the headers is 0123456789abcde in the program and unknown in the library");
  CHECK(hash_in_words(0x7edcba987654321) == "7edcba987654321");
}

TEST_CASE("a file that does not see Eigen agrees with every version of it; a flag that only one side knows is no difference") {
  const std::array<BuildFlag, 1> seen{{{"the version of Eigen", 30490}}}, unseen{{{"the version of Eigen", BuildFlag::unseen}}};
  CHECK(flags_that_differ(unseen, seen).empty());
  CHECK(flags_that_differ(seen, unseen).empty());
  const std::array<BuildFlag, 1> newer{{{"a flag of tomorrow", 1}}};
  CHECK(flags_that_differ(newer, seen).empty());
}

TEST_CASE("a program that differs is told what differs and what to do") {
  CHECK_THROWS_WITH_AS(
      refuse_build("AVX2 is on in the program and off in the library"),
      "[heddle.R33] this program and heddle::compiled were not compiled alike: AVX2 is on in the program and off in the library. Fix: "
      "compile both from the same headers with the same flags, or link heddle::eigen in place of heddle::compiled.",
      Error);
}

TEST_CASE("where Heddle is compiled with the program no build is refused") { CHECK_NOTHROW(refuse_other_build()); }
