// SPDX-License-Identifier: MIT
#include "instantiated.hpp"

template class heddle::LocalRanks<heddle::CpuThreads::Session>;
template class heddle::NamedTensors<heddle::CpuThreads::Session>;
template class heddle::Executor<heddle::CpuThreads::Session::Endpoint>;
