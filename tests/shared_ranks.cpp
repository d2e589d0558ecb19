// SPDX-License-Identifier: MIT
// Of examples and tools that read heddle/backend/cpu_threads.hpp precompiled: what they share as compiled code.
#include "shared_ranks.hpp"

HEDDLE_SHARED_RANKS();
