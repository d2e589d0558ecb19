// SPDX-License-Identifier: MIT
#include "instantiated.hpp"

template class heddle::run_room::LocalRanks<heddle::CpuThreads::Session>;
template class heddle::run_room::TrainedRanks<heddle::CpuThreads::Session, std::int32_t>;
template class heddle::run_room::TrainedRanks<heddle::CpuThreads::Session, float>;
template class heddle::run_room::NamedTensors<heddle::CpuThreads::Session>;
template class heddle::run_room::Executor<heddle::CpuThreads::Session::Endpoint>;
