// SPDX-License-Identifier: MIT
#include "heddle/backend/world_folder.hpp"

#include <doctest/doctest.h>

#include <map>

using namespace heddle;

namespace {

Environment of(std::map<std::string, std::string> variables) {
  return [variables = std::move(variables)](const char* name) {
    const auto at = variables.find(name);
    return at == variables.end() ? std::nullopt : std::optional{at->second};
  };
}
std::string place(const Environment& environment) {
  try {
    const MeetingPlace found = place_of_process(environment);
    return std::to_string(found.rank) + " of " + std::to_string(found.ranks) + " in " + found.folder;
  } catch (const Error& error) {
    return error.what();
  }
}
std::string refusal(int ranks, const Environment& environment) {
  const Diagnosis odd = RanksInFolder::refusal(ranks, environment);
  return odd.ok() ? "" : std::string{odd.sentence().view()};
}

}  // namespace

TEST_CASE("rank and number of ranks are those of torchrun or srun, and each run has a folder of its own where its launcher names it") {
  CHECK(place(of({{"RANK", "5"}, {"WORLD_SIZE", "8"}, {"HEDDLE_MEETING", "/shared"}})) == "5 of 8 in /shared");
  CHECK(place(of({{"RANK", "5"}, {"WORLD_SIZE", "8"}, {"HEDDLE_MEETING", "/shared"}, {"TORCHELASTIC_RUN_ID", "none"}})) == "5 of 8 in /shared");
  CHECK(place(of({{"RANK", "5"}, {"WORLD_SIZE", "8"}, {"HEDDLE_MEETING", "/shared"}, {"TORCHELASTIC_RUN_ID", "a/../b 7"}})) ==
        "5 of 8 in /shared/run_a_.._b_7-dce4f3ba8fc7efed");
  std::map<std::string, std::string> unnamed{{"RANK", "5"}, {"WORLD_SIZE", "8"}, {"HEDDLE_MEETING", "/shared"}, {"TORCHELASTIC_RUN_ID", "none"}};
  unnamed["MASTER_ADDR"] = "node7";
  CHECK(place(of(unnamed)) == "5 of 8 in /shared");
  unnamed["MASTER_PORT"] = "29500";
  CHECK(place(of(unnamed)) == "5 of 8 in /shared/run_node7.29500");
  const std::map<std::string, std::string> slurm{
      {"SLURM_PROCID", "1"}, {"SLURM_STEP_NUM_TASKS", "2"}, {"SLURM_JOB_ID", "77"}, {"HEDDLE_MEETING", "/shared"}};
  CHECK(place(of(slurm)) == "1 of 2 in /shared/run_77.0");
  auto step = slurm;
  step["SLURM_STEP_ID"] = "3";
  CHECK(place(of(step)) == "1 of 2 in /shared/run_77.3");
  auto torchrun = step;
  torchrun["RANK"] = "9";
  torchrun["WORLD_SIZE"] = "16";
  CHECK(place(of(torchrun)) == "9 of 16 in /shared");
  torchrun["TORCHELASTIC_RUN_ID"] = "none";
  torchrun["MASTER_ADDR"] = "node7";
  torchrun["MASTER_PORT"] = "29500";
  auto beside = torchrun;
  beside["SLURM_STEP_ID"] = "4";
  beside["SLURM_PROCID"] = "0";
  beside["RANK"] = "1";
  CHECK(place(of(torchrun)) == "9 of 16 in /shared/run_node7.29500");  // each machine has a torchrun in a step of its own: one run all the same
  CHECK(place(of(beside)) == "1 of 16 in /shared/run_node7.29500");
  auto by_srun = step;
  by_srun["TORCHELASTIC_RUN_ID"] = "of the shell that has started srun";
  by_srun["MASTER_ADDR"] = "node7";
  by_srun["MASTER_PORT"] = "29500";
  CHECK(place(of(by_srun)) == "1 of 2 in /shared/run_77.3");
  CHECK(place(of({{"RANK", "8"}, {"WORLD_SIZE", "8"}, {"HEDDLE_MEETING", "/shared"}})).find("[heddle.R20] RANK is 8") == 0);
  CHECK(place(of({{"RANK", "5"}, {"WORLD_SIZE", "8"}})) ==
        "[heddle.R38] processes of CudaFiles meet in a folder, but none is named: HEDDLE_MEETING is not set. Fix: set HEDDLE_MEETING to a folder "
        "that all "
        "machines share, the same in every process.");
}

TEST_CASE("runs of different names have different folders, whatever a folder cannot be called") {
  const auto folder = [](const std::string& id) { return name_of_run(of({{"TORCHELASTIC_RUN_ID", id}}), "torchrun"); };
  CHECK(folder("my-run.7") == "run_my-run.7");
  CHECK(folder("a_b") == "run_a_b");
  CHECK(folder("a/b") == "run_a_b-e620c3190468cf61");
  CHECK(folder("a b") == "run_a_b-e63f991904833892");
  const std::string longest(300, 'x');
  CHECK(folder(longest).size() < 255);
  CHECK(folder(longest + 'a') != folder(longest + 'b'));
  CHECK(folder(longest) == folder(longest));
}

TEST_CASE("doctor is told what cannot start: another number of processes, no folder") {
  const Environment two = of({{"RANK", "1"}, {"WORLD_SIZE", "2"}, {"HEDDLE_MEETING", "/shared"}});
  CHECK(refusal(2, two).empty());
  CHECK(refusal(4, two) ==
        "[heddle.R03] the plan has 4 devices, but WORLD_SIZE says 2 processes, and each is one rank. Fix: start 4 processes, with "
        "torchrun, srun, or RANK and WORLD_SIZE set in each.");
  CHECK(refusal(4, of({{"HEDDLE_MEETING", "/shared"}})) ==
        "[heddle.R03] the plan has 4 devices, but nothing says that this is one of several processes. Fix: start 4 processes, with torchrun, srun, "
        "or RANK "
        "and WORLD_SIZE set in each.");
  CHECK(refusal(2, of({{"RANK", "1"}, {"WORLD_SIZE", "2"}})).find("[heddle.R38] processes of CudaFiles meet in a folder") == 0);
  CHECK(refusal(2, of({{"RANK", "x"}, {"WORLD_SIZE", "2"}})).find("[heddle.R20]") == 0);
}

TEST_CASE("what the program says counts before the environment") {
  extending::meet_in({.folder = "/mine", .rank = 1, .ranks = 3});
  const Environment other = of({{"RANK", "5"}, {"WORLD_SIZE", "8"}, {"HEDDLE_MEETING", "/shared"}});
  CHECK(place(other) == "1 of 3 in /mine");
  CHECK(refusal(3, of({})).empty());
  CHECK(refusal(8, other).find("[heddle.R03] the plan has 8 devices, but meet_in says 3 processes") == 0);
  for (const int rank : {-1, 3}) {
    extending::meet_in({.folder = "/mine", .rank = rank, .ranks = 3});
    const std::string words =
        "[heddle.R20] this process is said to be rank " + std::to_string(rank) + " of 3. Fix: count ranks from 0, up to one less than their number.";
    CHECK(place(other) == words);
    CHECK(refusal(3, other) == words);
  }
  backend_room::said_place.reset();
  CHECK(place(other) == "5 of 8 in /shared");
}
