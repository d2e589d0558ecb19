// SPDX-License-Identifier: MIT
// Room: core. The macros: one function body for host and device, and functions that run at most once or before an error.
// Sees: core/language.  Does not see: every other room.
// In: a compiler.  Out: HEDDLE_HOST_DEVICE, HEDDLE_COLD, HEDDLE_APART, HEDDLE_SPELLED.
#pragma once

#include "heddle/core/rooms.hpp"

#if defined(__CUDACC__)
#define HEDDLE_HOST_DEVICE __host__ __device__
#else
#define HEDDLE_HOST_DEVICE
#endif

/// Before a function that only makes a sentence, or that a step never calls: compilers make it small, which takes them half the time.
/// g++ takes whoever calls it in any case for cold as well, up to `main`. So of a check that passes in every step only what it throws is marked, and
/// what is called in any case, as to set up a trainer, is called by a function with HEDDLE_APART: g++ looks neither into it nor past it.
#if defined(__GNUC__)
#define HEDDLE_COLD __attribute__((cold, noinline))
#else
#define HEDDLE_COLD
#endif
#if defined(__GNUC__) && !defined(__clang__)
#define HEDDLE_APART __attribute__((noipa))
#else
#define HEDDLE_APART
#endif

/// What a macro stands for, as text; its own name if it is none.
#define HEDDLE_SPELLED(macro) HEDDLE_AS_TEXT(macro)
#define HEDDLE_AS_TEXT(text) #text
