// SPDX-License-Identifier: MIT
// What most tests of rooms include that lower plans and run none: precompiled for them.
#pragma once

#include <doctest/doctest.h>

#include "heddle/heddle.hpp"
#include "heddle/plan/lowered.hpp"
#include "rooms.hpp"
