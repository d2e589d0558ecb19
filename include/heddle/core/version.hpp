// SPDX-License-Identifier: MIT
// Room: core. The one place where the version is written; CMake and Conan read these three lines.
// Sees: core/language.  Does not see: every other room.
// In: nothing.  Out: HEDDLE_VERSION, which #if compares, and its three numbers.
#pragma once

#include "heddle/core/rooms.hpp"

#define HEDDLE_VERSION_MAJOR 0
#define HEDDLE_VERSION_MINOR 1
#define HEDDLE_VERSION_PATCH 0

/// Version 1.2.3 is the number 1002003: #if HEDDLE_VERSION >= 1002000 asks for 1.2.0 or later.
///
/// Tested  core/version_test
#define HEDDLE_VERSION (HEDDLE_VERSION_MAJOR * 1000000 + HEDDLE_VERSION_MINOR * 1000 + HEDDLE_VERSION_PATCH)
