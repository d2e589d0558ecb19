// SPDX-License-Identifier: MIT
// What most tests include, and what of it depends on no test: compiled once, in instantiated.cpp.
#pragma once

#include <doctest/doctest.h>

#include "heddle/backend/cpu_threads.hpp"
#include "heddle/heddle.hpp"
#include "rooms.hpp"

extern template class heddle::run_room::LocalRanks<heddle::CpuThreads::Session>;
extern template class heddle::run_room::TrainedRanks<heddle::CpuThreads::Session, std::int32_t>;
extern template class heddle::run_room::TrainedRanks<heddle::CpuThreads::Session, float>;
extern template class heddle::run_room::TrainedRanks<heddle::CpuThreads::Session, std::int32_t, std::int32_t>;
extern template class heddle::run_room::NamedTensors<heddle::CpuThreads::Session>;
extern template class heddle::run_room::Executor<heddle::CpuThreads::Session::Endpoint>;
