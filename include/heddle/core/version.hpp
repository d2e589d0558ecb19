// SPDX-License-Identifier: MIT
// Room: core. The one place where the version is written; CMake and Conan read these three lines.
// Sees: core/language.  Does not see: every other room.
// In: nothing.  Out: version_major, version_minor, version_patch.
#pragma once

#include "heddle/core/language.hpp"

namespace heddle::inline core_room {

inline constexpr int version_major = 0;
inline constexpr int version_minor = 1;
inline constexpr int version_patch = 0;

}  // namespace heddle::inline core_room
