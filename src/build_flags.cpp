// SPDX-License-Identifier: MIT
// Of heddle::compiled: whether the program was compiled as the library was.
// Eigen comes first: it tells its version and its alignment.
#include "heddle/compute/eigen/eigen_core.hpp"

#include "heddle/run/build_flags.hpp"

namespace heddle::run_room {

static_assert([] {
  for (const BuildFlag& flag : flags_of_this_file)
    if (flag.value == BuildFlag::unseen || (std::string_view{flag.name} == "the hash of the headers" && flag.value == BuildFlag::no_hash))
      return false;
  return true;
}());

namespace {
/// Of the first file of the program that differs; made when it is first asked for, which is before main begins.
std::string& noted() {
  static std::string differences;
  return differences;
}
}  // namespace

bool note_build(std::span<const BuildFlag> program) {
  if (noted().empty()) noted() = flags_that_differ(program, flags_of_this_file);
  return noted().empty();
}
void refuse_other_build() {
  if (!noted().empty()) refuse_build(noted());
}

}  // namespace heddle::run_room
