// SPDX-License-Identifier: MIT
#include "heddle/transport/mpi_control.hpp"

#include <doctest/doctest.h>

#include <map>

#include "transport/mpi_ranks.hpp"

using namespace heddle;
using heddle::tests::FirstRanks;

TEST_CASE("everybody hears whom a rank waits for, and every last word") {
  const FirstRanks ranks{3};
  if (!ranks.taking_part()) return;
  MpiCommunicator comm{ranks.get(), std::chrono::minutes{2}};
  MpiControl control{comm};
  std::map<int, ControlMessage> lost, waiting;
  const auto listen = [&] {
    control.listen([&](int from, const ControlMessage& message) { (message.kind == ControlMessage::lost ? lost : waiting)[from] = message; });
    std::this_thread::yield();
  };
  CHECK_FALSE(control.all_gone());
  ControlMessage question;
  question.kind = ControlMessage::asks;
  question.say("a gather");
  for (const int awaited : {0, 1, 9, 4000, ControlMessage::most_ranks}) question.await(awaited);
  if (comm.rank() == 2) CHECK((control.tell_waiting(0, question) && control.tell_waiting(1, question)));
  while (comm.rank() != 2 && waiting.empty()) listen();
  if (comm.rank() != 2) {
    REQUIRE((waiting.count(2) == 1 && waiting[2].kind == ControlMessage::asks));
    CHECK(std::string{waiting[2].why} == "a gather");
    for (const int awaited : {0, 1, 9, 4000}) CHECK(waiting[2].awaits(awaited));
    for (const int other : {2, 8, 10, 3999, ControlMessage::most_ranks}) CHECK_FALSE(waiting[2].awaits(other));
  }
  MPI_Barrier(ranks.get());
  control.tell_lost(1, comm.rank() == 0 ? std::string(5000, 'x') : "it threw");
  while (!control.all_gone() || !control.farewell_has_left()) listen();
  CHECK(lost.size() == 2);
  for (const auto& [from, message] : lost) {
    CHECK(message.rank == 1);
    CHECK(std::string{message.why} == (from == 0 ? std::string(ControlMessage::most_words, 'x') : "it threw"));
  }
}
