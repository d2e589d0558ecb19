// SPDX-License-Identifier: MIT
// Room: tests. Whether this program is built with the address or the thread sanitizer, on g++ and clang.
// Sees: nothing.  Does not see: anything of Heddle.
// Out: HEDDLE_SANITIZED, defined or not.
#pragma once

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define HEDDLE_SANITIZED
#endif
#elif defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define HEDDLE_SANITIZED
#endif
