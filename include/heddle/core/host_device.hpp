// SPDX-License-Identifier: MIT
// Room: core. The only macros a user may need: one function body for host and device.
// Sees: core/language.  Does not see: every other room.
// In: a compiler.  Out: HEDDLE_HOST_DEVICE, HEDDLE_SPELLED.
#pragma once

#include "heddle/core/rooms.hpp"

#if defined(__CUDACC__)
#define HEDDLE_HOST_DEVICE __host__ __device__
#else
#define HEDDLE_HOST_DEVICE
#endif

/// What a macro stands for, as text; its own name if it is none.
#define HEDDLE_SPELLED(macro) HEDDLE_AS_TEXT(macro)
#define HEDDLE_AS_TEXT(text) #text
