// SPDX-License-Identifier: MIT
// What most tests include, and what of it depends on no test: compiled once, in instantiated.cpp.
#pragma once

#include <doctest/doctest.h>

#include "heddle/backend/cpu_threads.hpp"
#include "heddle/heddle.hpp"

extern template class heddle::LocalRanks<heddle::CpuThreads::Session>;
extern template class heddle::NamedTensors<heddle::CpuThreads::Session>;
extern template class heddle::Executor<heddle::CpuThreads::Session::Endpoint>;
