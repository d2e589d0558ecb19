// SPDX-License-Identifier: MIT
// What most tests include, and what of it depends on no test: compiled once, in instantiated.cpp.
#pragma once

#include <doctest/doctest.h>

#include "heddle/backend/cpu_threads.hpp"
#include "heddle/heddle.hpp"
#include "rooms.hpp"

#include "shared_ranks.hpp"
