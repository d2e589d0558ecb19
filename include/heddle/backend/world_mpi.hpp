// SPDX-License-Identifier: MIT
// Room: backend. The processes that MPI has started, if the variables of another launcher do not say otherwise.
// Sees: seams, transport/mpi_process, transport/mpi_last_words, run/world, run/run_main.  Does not see: compute, plans.
// In: MPI and the environment.  Out: the communicator whose processes are ranks; who of them says what ends the program.
#pragma once

#include "heddle/transport/mpi_header.hpp"

#include <chrono>
#include <cstdio>
#include <functional>
#include <span>
#include <string>
#include <thread>

#include "heddle/run/run_main.hpp"
#include "heddle/run/world.hpp"
#include "heddle/seams/error.hpp"
#include "heddle/transport/mpi_last_words.hpp"
#include "heddle/transport/mpi_process.hpp"

namespace heddle::backend_room {

/// The world of every pairing with processes. MPI says how many there are and which this one is; RANK and WORLD_SIZE, which torchrun sets, must say
/// the same if they are there.
///
/// Errors  R03 another number of processes, R10 another rank, R20 no numbers
/// Tested  backend/world_mpi_test
[[nodiscard]] inline MPI_Comm agreed_world() {
  const MPI_Comm world = MpiProcess::instance().world();
  int processes = 0;
  int rank = 0;
  MPI_Comm_size(world, &processes);
  MPI_Comm_rank(world, &rank);
  if (const Diagnosis odd = beside_mpi(processes, rank); !odd.ok()) throw Error{odd};
  return world;
}

/// Says the sentence where no MPI is there to compare it: it has not begun, and may wait for a process that never begins it, or it has ended. Process
/// 0 speaks at once and ends, upon which mpirun ends the others. Another process is still there after a while only if process 0 goes on: it says its
/// own.
///
/// Tested  processes/mains_check
inline void tell_without_mpi(const LastSentence& last, int process, std::chrono::nanoseconds patience = std::chrono::seconds{3}) {
  if (process == 0) return last.say();
  std::fflush(stdout);  // whoever is ended while it waits has printed what it had
  std::this_thread::sleep_for(patience);
  last.say(process);
}

/// What run_main does with the sentence that ends a process. One process says what all have found. A lost rank is told by each process that has lost
/// it, and what only some have found by each of these. A process that ends while others go on does not wait for them in MPI_Finalize. One that has
/// lost a silent rank compares nothing: it knows that not all end, and the others wait for it already.
///
/// Tested  processes/mains_check, backend/world_mpi_test
inline void tell_among_processes(const LastSentence& last) {
  int running = 0;
  int ended = 0;
  MPI_Initialized(&running);
  MPI_Finalized(&ended);
  if (running == 0 || ended != 0) return tell_without_mpi(last, read_world(process_environment, std::span{launchers}.subspan(1)).rank);
  MpiProcess& mpi = MpiProcess::instance();
  int process = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &process);
  if (last.of_a_lost_rank) last.say(process);
  if (last.of_a_lost_rank && !mpi.finalizes_at_the_end()) return;
  const HowProcessesEnd ending = compare_last_words(MPI_COMM_WORLD, std::hash<std::string>{}(last.text));
  if (ending == HowProcessesEnd::alone) mpi.finalize_at_the_end(false);
  if (last.of_a_lost_rank || (ending == HowProcessesEnd::with_one_sentence && process > 0)) return;
  last.say(ending == HowProcessesEnd::with_one_sentence ? -1 : process);
}
inline const bool tells_among_processes = (tell_with_processes = &tell_among_processes, true);

}  // namespace heddle::backend_room
