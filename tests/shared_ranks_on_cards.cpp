// SPDX-License-Identifier: MIT
// What tests of cards share as compiled code.
#include "shared_ranks_on_cards.hpp"

HEDDLE_SHARED_RANKS_ON_CARDS();
