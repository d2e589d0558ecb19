// SPDX-License-Identifier: MIT
// What tests share as compiled code, and one test that all of them have: each plan that a program names is lowered once more while it runs.
#include "instantiated.hpp"

#include "plan/same_program.hpp"

template class heddle::run_room::LocalRanks<heddle::CpuThreads::Session>;
template class heddle::run_room::TrainedRanks<heddle::CpuThreads::Session, std::int32_t>;
template class heddle::run_room::TrainedRanks<heddle::CpuThreads::Session, float>;
template class heddle::run_room::NamedTensors<heddle::CpuThreads::Session>;
template class heddle::run_room::Executor<heddle::CpuThreads::Session::Endpoint>;

TEST_CASE("every plan whose Program stands in this test is lowered to the same Program while it runs") {
  using namespace heddle::tests;
  for (const NoticedPlan& plan : noticed_plans()) lowers_alike(CompiledPlan{plan.request(), plan.training, plan.evaluation});
}
