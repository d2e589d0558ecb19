// SPDX-License-Identifier: MIT
#include "heddle/run/world.hpp"

#include <doctest/doctest.h>

#include "run/fake_machine.hpp"

using namespace heddle;
using heddle::tests::FakeMachine;

namespace {

void is_world(const FakeMachine& machine, std::string_view launcher, int size, int rank, int local_rank, int local_size) {
  const World world = read_world(machine.environment());
  CAPTURE(launcher);
  CHECK(world.launcher == launcher);
  CHECK(world.size == size);
  CHECK(world.rank == rank);
  CHECK(world.local_rank == local_rank);
  CHECK(world.local_size == local_size);
  CHECK(world.fault.ok());
}

std::string fault_of(const FakeMachine& machine) { return std::string{read_world(machine.environment()).fault.sentence().view()}; }

}  // namespace

TEST_CASE("without a launcher there is one process") { is_world(FakeMachine{}, "", 1, 0, 0, 0); }

TEST_CASE("each launcher is read by its own variables") {
  FakeMachine torchrun, open_mpi, pmi, slurm;
  torchrun.variable("WORLD_SIZE", "4").variable("RANK", "3").variable("LOCAL_RANK", "1").variable("LOCAL_WORLD_SIZE", "2");
  is_world(torchrun, "torchrun", 4, 3, 1, 2);
  open_mpi.variable("OMPI_COMM_WORLD_SIZE", "6").variable("OMPI_COMM_WORLD_RANK", "5").variable("OMPI_COMM_WORLD_LOCAL_RANK", "2");
  open_mpi.variable("OMPI_COMM_WORLD_LOCAL_SIZE", "3");
  is_world(open_mpi, "Open MPI", 6, 5, 2, 3);
  pmi.variable("PMI_SIZE", "2").variable("PMI_RANK", "1");
  is_world(pmi, "PMI", 2, 1, 0, 0);
  slurm.variable("SLURM_STEP_NUM_TASKS", "8").variable("SLURM_PROCID", "7").variable("SLURM_LOCALID", "3");
  is_world(slurm, "Slurm", 8, 7, 3, 0);
}

TEST_CASE("Slurm counts only inside srun: in an allocation, its script and its interactive step one program is alone") {
  FakeMachine allocation, script, interactive;
  allocation.variable("SLURM_NTASKS", "8");
  script.variable("SLURM_NTASKS", "8").variable("SLURM_PROCID", "0").variable("SLURM_LOCALID", "0");
  interactive.variable("SLURM_NTASKS", "8")
      .variable("SLURM_PROCID", "0")
      .variable("SLURM_STEP_ID", "4294967290")
      .variable("SLURM_STEP_NUM_TASKS", "1");
  is_world(allocation, "", 1, 0, 0, 0);
  is_world(script, "", 1, 0, 0, 0);
  is_world(interactive, "Slurm", 1, 0, 0, 0);
}

TEST_CASE("R03: cards are not for several processes of mpirun or srun, which threads on cores may be; one process is fine") {
  const auto words = [](const FakeMachine& machine) {
    return std::string{run_room::refuse_processes_on_cards(4, "CudaThreads", "on cards of one process", machine.environment()).sentence().view()};
  };
  FakeMachine nothing, open_mpi, pmi, slurm, script, one, torchrun, no_number;
  open_mpi.variable("OMPI_COMM_WORLD_SIZE", "2").variable("OMPI_COMM_WORLD_RANK", "1");
  pmi.variable("PMI_SIZE", "3").variable("PMI_RANK", "0");
  slurm.variable("SLURM_STEP_NUM_TASKS", "2").variable("SLURM_NTASKS", "2").variable("SLURM_PROCID", "1");
  script.variable("SLURM_NTASKS", "8").variable("SLURM_PROCID", "0");
  one.variable("WORLD_SIZE", "1").variable("OMPI_COMM_WORLD_SIZE", "1").variable("OMPI_COMM_WORLD_RANK", "0").variable("SLURM_STEP_NUM_TASKS", "2");
  torchrun.variable("WORLD_SIZE", "2").variable("RANK", "0").variable("OMPI_COMM_WORLD_SIZE", "3").variable("OMPI_COMM_WORLD_RANK", "0");
  no_number.variable("PMI_SIZE", "many");
  CHECK(words(open_mpi) ==
        "[heddle.R03] OMPI_COMM_WORLD_SIZE says 2 processes, but CudaThreads runs the 4 ranks of the plan on cards of one process, so each process "
        "would take the same cards. Fix: start one process, use CudaMpi, or unset OMPI_COMM_WORLD_SIZE where each has cards and a training of its "
        "own.");
  CHECK(run_room::refuse_processes_on_cards(1, "CudaOneCard", "on one card of one process", pmi.environment())
            .sentence()
            .view()
            .find("runs the 1 rank of the plan on one card of one process, so each process would") != std::string_view::npos);
  CHECK(words(pmi).find("[heddle.R03] PMI_SIZE says 3 processes, but CudaThreads") == 0);
  CHECK(words(slurm).find("[heddle.R03] SLURM_STEP_NUM_TASKS says 2 processes, but CudaThreads") == 0);
  CHECK(words(torchrun).find("[heddle.R03] WORLD_SIZE says 2 processes, but CudaThreads") == 0);
  CHECK(words(no_number).find("[heddle.R20] PMI_SIZE is 'many'") == 0);
  for (const FakeMachine* const fine : {&nothing, &script, &one}) CHECK(words(*fine) == "");
  for (const FakeMachine* const machine : {&open_mpi, &pmi, &slurm}) CHECK(RanksAsThreads::refusal(4, machine->environment()).ok());
}

TEST_CASE("the first launcher is believed, and who disagrees is named") {
  FakeMachine both;
  both.variable("SLURM_STEP_NUM_TASKS", "1")
      .variable("SLURM_PROCID", "0")
      .variable("OMPI_COMM_WORLD_SIZE", "4")
      .variable("OMPI_COMM_WORLD_RANK", "2");
  is_world(both, "Open MPI", 4, 2, 0, 0);
  const World world = read_world(both.environment());
  REQUIRE(world.other_answers.size() == 1);
  CHECK(world.other_answers.front() == "SLURM_STEP_NUM_TASKS");
  both.variable("SLURM_STEP_NUM_TASKS", "4");
  CHECK(read_world(both.environment()).other_answers.empty());
}

TEST_CASE("beside MPI the variables say the same, or one sentence has both numbers") {
  const auto words = [](const FakeMachine& machine, int size, int rank) {
    return std::string{beside_mpi(size, rank, machine.environment()).sentence().view()};
  };
  FakeMachine nothing, agreed, only_size, only_rank, no_number;
  agreed.variable("WORLD_SIZE", "4").variable("RANK", "2");
  only_size.variable("WORLD_SIZE", "4");
  only_rank.variable("RANK", "2");
  no_number.variable("WORLD_SIZE", "4").variable("RANK", "two");
  for (const FakeMachine* const fine : {&nothing, &agreed, &only_size, &only_rank}) CHECK(words(*fine, 4, 2) == "");
  CHECK(words(only_rank, 4, 1) == "");  // without a world the name may mean anything
  CHECK(words(agreed, 4, 1) ==
        "[heddle.R10] RANK is 2, but MPI has made this process rank 1 of 4. Fix: start with mpirun alone, or unset RANK and WORLD_SIZE.");
  CHECK(words(agreed, 3, 2) ==
        "[heddle.R03] WORLD_SIZE says 4 processes, but MPI has started 3. Fix: start them with mpirun -np 4, or unset WORLD_SIZE.");
  CHECK(words(agreed, 1, 0).find("WORLD_SIZE says 4 processes, but MPI has started 1.") != std::string::npos);  // without mpirun
  CHECK(words(no_number, 4, 2).find("[heddle.R20] RANK is 'two'") == 0);
}

TEST_CASE("R03: one device and one process are counted as one") {
  CHECK(other_number_of_processes(1, 3).sentence().view() ==
        "[heddle.R03] the plan has 1 device, but MPI has started 3 processes, and each is one rank. Fix: start as many processes as devices: "
        "./heddle run -np 1 PROGRAM, or mpirun -np 1 PROGRAM.");
}

TEST_CASE("R20: variables that make no world are one sentence") {
  FakeMachine words, outside, alone, trailing, negative;
  words.variable("WORLD_SIZE", "four").variable("RANK", "0");
  CHECK(fault_of(words) ==
        "[heddle.R20] WORLD_SIZE is 'four', which is no number from 1 on. Fix: start with torchrun, mpirun or srun, or unset "
        "WORLD_SIZE.");
  outside.variable("WORLD_SIZE", "2").variable("RANK", "2");
  CHECK(fault_of(outside) ==
        "[heddle.R20] RANK is 2, but WORLD_SIZE says that there are 2 processes. Fix: count ranks from 0, or let a launcher set "
        "both.");
  alone.variable("WORLD_SIZE", "2");
  CHECK(fault_of(alone).find("WORLD_SIZE says 2 processes, but RANK is not set") != std::string::npos);
  trailing.variable("WORLD_SIZE", "2x").variable("RANK", "0");
  CHECK_FALSE(fault_of(trailing).empty());
  negative.variable("OMPI_COMM_WORLD_SIZE", "2").variable("OMPI_COMM_WORLD_RANK", "-1");
  CHECK_FALSE(fault_of(negative).empty());
  CHECK(fault_of(FakeMachine{}.variable("WORLD_SIZE", "1")).empty());
  CHECK_FALSE(fault_of(FakeMachine{}.variable("WORLD_SIZE", "")).empty());
}
