// SPDX-License-Identifier: MIT
// Tests ask the rooms for what users do not write: here their names are visible in heddle, as if each test stood in its room.
// CMake reads this file before each test (-include). Programs of users, also those of tests/fail, examples and tools, do not have it.
#pragma once

#include "heddle/core/rooms.hpp"
#include "plan/noticed.hpp"

namespace heddle {
using namespace backend_room;  // and so all rooms below it
namespace extending {}
using namespace extending;  // kernels are declared there
}
