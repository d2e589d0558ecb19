// SPDX-License-Identifier: MIT
#include "heddle/backend/cuda_processes.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "backend/plans_on_cards.hpp"
#include "cuda_emulator/cuda_emulator.hpp"
#include "heddle/backend/cuda_threads.hpp"
#include "heddle/heddle.hpp"

using namespace heddle;
using namespace plans_on_cards;

namespace {

std::vector<std::string> notes;
/// A meeting of one process, which notes what it is asked.
struct Alone {
  using World = std::vector<std::string>*;
  static World world() { return &notes; }
  Alone(World to, const StartPledge& start, std::chrono::nanoseconds) : notes_(to) {
    note("start with " + std::to_string(start.ranks) + (has_tf32(start) ? ", TF32 is told" : ""));
  }
  static bool has_tf32(const StartPledge& start) { return start.build.view().find("TF32=off;") != std::string_view::npos; }
  [[nodiscard]] Rank rank() const { return Rank{0}; }
  [[nodiscard]] int local_rank() const { return 0; }
  [[nodiscard]] NameOfMachine machine() const { return transport_room::this_machine(); }
  void begin_call(const CallPledge& call) {
    note("call of " + std::to_string(call.rows) + " rows after " + (cuda_emulator::counts().kernels == kernels_ ? "nothing" : "kernels"));
    if (call.rows == 12) throw Error(Code{'T', 10}, "other rows");
    kernels_ = -1;
  }
  void end_call() { note("end"); }
  void share(Rank, std::span<std::byte>) {}
  void gather(std::span<std::byte>) {}
  void await(WaitOfProcess& wait, std::int64_t) {
    REQUIRE((wait.describe().view() == "the queue of rank 0" || wait.describe().view() == "NCCL's connections of rank 0"));
    CHECK_FALSE(wait.needs(0));
    CHECK(wait.needs(1));
    while (!wait.done()) {
    }
  }
  void give_up(Rank rank, const std::string& why) { note("rank " + std::to_string(rank.value) + " gives up: " + why); }
  void note(const std::string& words) { notes_->push_back(words); }
  World notes_;
  long kernels_ = cuda_emulator::counts().kernels;
};
static_assert(MeetingOfProcesses<Alone>);

struct CudaAlone : CudaThreads {
  using Session = CardSession<Alone>;
};

}  // namespace

TEST_CASE("processes are asked before anything of a call is queued, and hear why one of them stops") {
  notes.clear();
  const Cards cards{{.devices = 1}};
  Trainer<Of<Single>, CudaAlone> trainer{{.learning_rate = 1e-2}, Seed{3}};
  trainer.step(Rows(16).batch());
  CHECK(said([&] { trainer.step(Rows(12).batch()); }) == "[heddle.T10] other rows");
  std::string all;
  for (const std::string& note : notes) all += note + '\n';
  CAPTURE(all);
  CHECK(notes == std::vector<std::string>{"start with 1, TF32 is told", "call of 16 rows after nothing", "end", "call of 12 rows after kernels",
                                          "rank 0 gives up: [heddle.T10] other rows", "rank 0 gives up: [heddle.T10] other rows"});
}

TEST_CASE("a process takes the card of its place on its machine, or the one that it sees") {
  const auto card = [](int cards, int rank, int local) {
    const Cards there{{.devices = cards}};
    return card_of_process(rank, local);
  };
  CHECK(card(4, 6, 2) == 2);
  CHECK(card(1, 6, 2) == 0);
  CHECK(said([&] { static_cast<void>(card(2, 6, 2)); }) ==
        "[heddle.R37] rank 6 is process 2 of its machine, counted from 0, and sees 2 cards. Fix: start as many processes on each machine as it has "
        "cards, or look at CUDA_VISIBLE_DEVICES.");
}

TEST_CASE("cards of one name on two machines are two") {
  PlaceOfCard a, b;
  a.card = b.card = {'0'};
  CHECK(a == b);
  b.machine.name = {'b'};
  CHECK_FALSE(a == b);
}
