// SPDX-License-Identifier: MIT
// Of heddle::compiled: everything that a trainer does with threads once the type of its plan is forgotten.
#include "heddle/backend/cpu_threads.hpp"
#include "heddle/run/trained_ranks_bodies.hpp"

template class heddle::run_room::TrainedRanks<heddle::backend_room::ThreadSession, std::int32_t>;
template class heddle::run_room::TrainedRanks<heddle::backend_room::ThreadSession, float>;
template class heddle::run_room::TrainedRanks<heddle::backend_room::ThreadSession, std::int32_t, std::int32_t>;
template class heddle::run_room::TrainedRanks<heddle::backend_room::ThreadSession, float, std::int32_t>;
