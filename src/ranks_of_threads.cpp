// SPDX-License-Identifier: MIT
// Of heddle::compiled: everything that a trainer does with threads once the type of its plan is forgotten.
#include "heddle/backend/cpu_threads.hpp"
#include "heddle/run/trained_ranks_bodies.hpp"

HEDDLE_RANKS_OF_THREADS();
