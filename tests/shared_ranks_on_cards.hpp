// SPDX-License-Identifier: MIT
// What trainers on cards do once the type of their plan is forgotten, as shared_ranks.hpp has it of those on threads: compiled once for all tests.
#pragma once

#include <cstdint>

#include "heddle/backend/cuda_one_card.hpp"
#include "heddle/backend/cuda_threads.hpp"

// NOLINTBEGIN(bugprone-macro-parentheses): `extern`, or nothing
#define HEDDLE_SHARED_RANKS_OF(WHERE, BACKEND)                                                 \
  WHERE template class heddle::run_room::LocalRanks<heddle::BACKEND::Session>;                 \
  WHERE template class heddle::run_room::TrainedRanks<heddle::BACKEND::Session, std::int32_t>; \
  WHERE template class heddle::run_room::NamedTensors<heddle::BACKEND::Session>;               \
  WHERE template class heddle::run_room::Executor<heddle::BACKEND::Session::Endpoint, heddle::BACKEND::Session::Device>
#define HEDDLE_SHARED_RANKS_ON_CARDS(WHERE)   \
  HEDDLE_SHARED_RANKS_OF(WHERE, CudaOneCard); \
  HEDDLE_SHARED_RANKS_OF(WHERE, CudaThreads)
// NOLINTEND(bugprone-macro-parentheses)
HEDDLE_SHARED_RANKS_ON_CARDS(extern);
