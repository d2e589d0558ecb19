// SPDX-License-Identifier: MIT
// Room: core. Refuses another language than C++20 in one sentence, before the compiler meets anything that it does not know.
// Sees: nothing.  Does not see: every other room.
// In: the language that the compiler was told.  Out: one error, or nothing. Every header comes here before its own first line.
#pragma once

#if __cplusplus < 202002L
// A file that is not there ends the compilation: after #error the compilers go on, with hundreds of errors.
#include "[heddle.L13] Heddle is written in C++20, but this file is compiled as older C++. Fix: add -std=c++20 to the command."
#endif

#include "heddle/core/compiled_rooms.hpp"
