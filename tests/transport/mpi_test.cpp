// SPDX-License-Identifier: MIT
#include "heddle/transport/mpi.hpp"

#include <doctest/doctest.h>
#include <malloc.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <memory>
#include <new>
#include <string>
#include <thread>
#include <vector>

#include "transport/mpi_ranks.hpp"

using namespace heddle;
using namespace std::chrono_literals;
using heddle::tests::FirstRanks;

namespace {
std::atomic<int> allocations{0};

/// What is freed while the first of these lives is not given back: whoever writes into it later is seen.
class FreedMemory {
 public:
  FreedMemory() { keeps_ = true; }
  FreedMemory(const FreedMemory&) = delete;
  FreedMemory& operator=(const FreedMemory&) = delete;
  ~FreedMemory() {
    keeps_ = false;
    while (blocks_ > 0) std::free(block_[--blocks_]);
  }
  static bool keeps(void* memory) {
    if (!keeps_ || memory == nullptr || blocks_ == std::ssize(block_)) return false;
    std::memset(memory, known, malloc_usable_size(memory));
    block_[static_cast<std::size_t>(blocks_++)] = memory;
    return true;
  }
  /// Bytes that somebody has written; -1 if more was freed than this remembers.
  [[nodiscard]] static std::ptrdiff_t written() {
    std::ptrdiff_t bytes = 0;
    for (int i = 0; i < blocks_; ++i) {
      const auto* const first = static_cast<const unsigned char*>(block_[static_cast<std::size_t>(i)]);
      const auto size = static_cast<std::ptrdiff_t>(malloc_usable_size(block_[static_cast<std::size_t>(i)]));
      bytes += size - std::count(first, first + size, known);
    }
    return blocks_ == std::ssize(block_) ? -1 : bytes;
  }

 private:
  static constexpr unsigned char known = 0xEE;
  static inline bool keeps_ = false;
  static inline int blocks_ = 0;
  static inline std::array<void*, 10000> block_{};
};
}  // namespace

// Heddle's own: MPI allocates as it pleases. g++ 12 takes an inlined replacement for a mismatched pair.
[[gnu::noinline]] void* operator new(std::size_t bytes) {
  allocations.fetch_add(1);
  if (void* memory = std::malloc(bytes)) return memory;
  throw std::bad_alloc{};
}
[[gnu::noinline]] void operator delete(void* memory) noexcept {
  if (!FreedMemory::keeps(memory)) std::free(memory);
}
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept { operator delete(memory); }

namespace {

constexpr PendingLimits four{.transfers = 4, .reductions = 4};

/// Ranks that are silent in these tests live on, so MPI can be ended in order, whatever a transport has concluded. All leave such a test together: a
/// process that takes no part in the last one would wait for the others in MPI_Finalize, which has a deadline, while they still test.
struct AllLive {
  AllLive() = default;
  AllLive(const AllLive&) = delete;
  AllLive& operator=(const AllLive&) = delete;
  ~AllLive() {
    MPI_Barrier(MPI_COMM_WORLD);
    MpiProcess::instance().finalize_at_the_end(true);
  }
};

/// The rank that the call's RankLost names, -1 if the call succeeds.
int lost_by(const auto& call) {
  try {
    call();
  } catch (const RankLost& error) {
    return error.rank().value;
  }
  return -1;
}

}  // namespace

TEST_CASE("a transport is refused in every process if the processes are not as many as its ranks") {
  const FirstRanks ranks{3};
  if (!ranks.taking_part()) return;
  CHECK_THROWS_WITH_AS((Mpi{ranks.get(), 2, {{0, 1}}, four, 2min}),
                       doctest::Contains("[heddle.R03] the plan has 2 devices, but MPI has started 3 processes"), Error);
  CHECK_THROWS_WITH_AS((Mpi{ranks.get(), 3, {{0, 1}}, four, 2min, {.program = ranks.rank() == 1 ? 5U : 6U}}),
                       doctest::Contains("[heddle.R08] rank 1 runs another program than ranks 0 and 2"), Error);
  CHECK_NOTHROW((Mpi{ranks.get(), 3, {{0, 1}}, four, 2min, {.program = 6}}));
}

TEST_CASE("more tags than MPI has are refused in words") {
  const FirstRanks ranks{2};
  if (!ranks.taking_part()) return;
  const std::vector<std::vector<int>> many(40, {0, 1});
  CHECK_THROWS_WITH_AS((Mpi{ranks.get(), 2, many, {.transfers = 1, .reductions = 100'000'000}, 2min}),
                       doctest::Contains("[heddle.T06] 40 groups with 100000000 pending collectives each need more tags"), Error);
}

TEST_CASE("scratch is that of the largest collective, known before or not") {
  const FirstRanks ranks{2};
  if (!ranks.taking_part()) return;
  const std::int64_t most = 10000;
  Mpi known{ranks.get(), 2, {{0, 1}}, {.transfers = 1, .reductions = 1, .elements = {most}}, 2min};
  Mpi unknown{ranks.get(), 2, {{0, 1}}, {.transfers = 1, .reductions = 1}, 2min};
  const Bytes before = known.scratch();
  CHECK(before >= Bytes{4 * most});
  CHECK(unknown.scratch() < before);
  std::vector<float> data(most, 1.0F);
  for (Mpi* const mpi : {&known, &unknown}) mpi->all_reduce_wait(0, mpi->all_reduce_start(0, data.data(), most));
  CHECK(data == std::vector<float>(most, 4.0F));
  CHECK(known.scratch() == before);
  CHECK(unknown.scratch() == before);
}

TEST_CASE("Heddle allocates nothing after construction where the largest collective is known") {
  const FirstRanks ranks{3};
  if (!ranks.taking_part()) return;
  Mpi mpi{ranks.get(), 3, {{0, 1, 2}}, {.transfers = 4, .reductions = 4, .elements = {50000}}, 2min};
  const int rank = mpi.rank().value;
  std::vector<float> mine(50000, 1.0F), other = mine;
  const auto step = [&] {
    const auto send = mpi.send_start((rank + 1) % 3, mine.data(), 20000);
    mpi.receive_wait((rank + 2) % 3, mpi.receive_start((rank + 2) % 3, other.data(), 20000));
    mpi.send_wait((rank + 1) % 3, send);
    mpi.all_reduce_wait(0, mpi.all_reduce_start(0, mine.data(), 50000));
    mpi.reduce_scatter_wait(0, mpi.reduce_scatter_start(0, mine.data(), other.data(), 30000));
    mpi.all_gather_wait(0, mpi.all_gather_start(0, other.data(), mine.data(), 30000));
    mpi.share(Rank{1}, std::as_writable_bytes(std::span{mine}));
  };
  step();
  const int before = allocations.load();
  for (int i = 0; i < 20; ++i) step();
  CHECK(allocations.load() == before);
}

TEST_CASE("a wait so long that ranks ask and tell each other where they wait allocates nothing") {
  const FirstRanks ranks{2};
  if (!ranks.taking_part()) return;
  Mpi mpi{ranks.get(), 2, {{0, 1}}, {.transfers = 1, .reductions = 1, .elements = {16}}, 2s};
  const int rank = mpi.rank().value;
  std::vector<float> data(16, 1.0F);
  MPI_Barrier(ranks.get());
  const int before = allocations.load();
  // Rank 1 asks after a second; rank 0 hears of it when it waits itself, and tells.
  if (rank == 0) {
    std::this_thread::sleep_for(1200ms);
    mpi.all_reduce_wait(0, mpi.all_reduce_start(0, data.data(), 16));
    mpi.receive_wait(1, mpi.receive_start(1, data.data(), 16));
  } else {
    mpi.all_reduce_wait(0, mpi.all_reduce_start(0, data.data(), 16));
    std::this_thread::sleep_for(200ms);
    mpi.send_wait(0, mpi.send_start(0, data.data(), 16));
  }
  const int taken = allocations.load() - before;  // before doctest takes some
  CAPTURE(rank);
  CHECK(taken == 0);
  CHECK(data == std::vector<float>(16, 2.0F));
}

TEST_CASE("long messages complete although both sides wait for something else first") {
  const FirstRanks ranks{2};
  if (!ranks.taking_part()) return;
  Mpi mpi{ranks.get(), 2, {{0, 1}}, four, 2min};
  const int other = 1 - mpi.rank().value;
  std::vector<float> out(300000, static_cast<float>(mpi.rank().value)), in(300000), sum(300000, 1.0F);
  const auto k = mpi.all_reduce_start(0, sum.data(), 300000);
  const auto send = mpi.send_start(other, out.data(), 300000);
  mpi.receive_wait(other, mpi.receive_start(other, in.data(), 300000));
  CHECK(in == std::vector<float>(300000, static_cast<float>(other)));
  mpi.all_reduce_wait(0, k);
  mpi.send_wait(other, send);
  CHECK(sum == std::vector<float>(300000, 2.0F));
  mpi.share(Rank{1}, std::as_writable_bytes(std::span{out}));
  CHECK(out == std::vector<float>(300000, 1.0F));
}

TEST_CASE("a deadline names the rank that is late, the operation and the sequence") {
  const AllLive live;
  const FirstRanks ranks{2};
  if (!ranks.taking_part()) return;
  for (int operation = 0; operation < 6; ++operation) {
    CAPTURE(operation);
    MPI_Barrier(ranks.get());  // the transport before is gone everywhere, so all come to the next one
    Mpi mpi{ranks.get(), 2, {{0, 1}}, four, 500ms};
    if (mpi.rank() == Rank{1}) {
      MPI_Barrier(ranks.get());
      continue;
    }
    float one = 1, two[2] = {1, 2};
    const auto expect = [&](const char* words, auto call) { CHECK_THROWS_WITH_AS(call(), doctest::Contains(words), RankLost); };
    const std::string tail = ", sequence 0: it started nothing within the deadline of 500 ms";
    const auto lost = [&](const char* what) { return "[heddle.R01] rank 1 was lost at " + std::string{what} + tail; };
    if (operation == 0) expect(lost("receive from rank 1").c_str(), [&] { mpi.receive_wait(1, mpi.receive_start(1, &one, 1)); });
    if (operation == 1) expect(lost("send to rank 1").c_str(), [&] { mpi.send_wait(1, mpi.send_start(1, &one, 1)); });
    if (operation == 2) expect(lost("all-reduce of group 0").c_str(), [&] { mpi.all_reduce_wait(0, mpi.all_reduce_start(0, &one, 1)); });
    if (operation == 3)
      expect(lost("reduce-scatter of group 0").c_str(), [&] { mpi.reduce_scatter_wait(0, mpi.reduce_scatter_start(0, two, &one, 2)); });
    if (operation == 4) expect(lost("all-gather of group 0").c_str(), [&] { mpi.all_gather_wait(0, mpi.all_gather_start(0, &one, two, 2)); });
    if (operation == 5) expect(lost("sharing what rank 1 holds").c_str(), [&] { mpi.share(Rank{1}, std::as_writable_bytes(std::span{two})); });
    MPI_Barrier(ranks.get());
  }
}

TEST_CASE("of four ranks the one that is silent in the middle of an operation is named, whoever it is") {
  const AllLive live;
  const FirstRanks ranks{4};
  if (!ranks.taking_part()) return;
  for (int silent = 0; silent < 4; ++silent)
    for (const std::int64_t elements : {8, 2000})  // of a message of 2000 MPI asks the receiver first
      for (int operation = 0; operation < 4; ++operation) {
        CAPTURE(silent);
        CAPTURE(elements);
        CAPTURE(operation);
        const auto size = static_cast<std::size_t>(elements);
        std::vector<float> data(size, 1.0F), whole(size), slice(size);  // they outlive the transport
        MPI_Barrier(ranks.get());
        Mpi mpi{ranks.get(), 4, {{0, 1, 2, 3}}, four, 1200ms};
        const int rank = mpi.rank().value;
        std::int64_t k = 0;
        if (rank != silent) MPI_Barrier(ranks.get());  // the silent one has started before anybody else, so it cannot have gone on
        if (operation == 0) k = mpi.all_reduce_start(0, data.data(), elements);
        if (operation == 1) k = mpi.reduce_scatter_start(0, data.data(), slice.data(), elements);
        if (operation == 2) {  // the second cannot be summed before the first
          mpi.all_reduce_start(0, data.data(), elements);
          k = mpi.all_gather_start(0, slice.data(), whole.data(), elements);
        }
        if (rank == silent) {
          for (int i = 0; i < 2; ++i) MPI_Barrier(ranks.get());
          continue;
        }
        const int lost = lost_by([&] {
          if (operation == 0) mpi.all_reduce_wait(0, k);
          if (operation == 1) mpi.reduce_scatter_wait(0, k);
          if (operation == 2) mpi.all_gather_wait(0, k);
          if (operation == 3) mpi.share(Rank{silent == 0 ? 1 : 0}, std::as_writable_bytes(std::span{data}));
        });
        // What the silent one has sent before may be enough; its sums are not among it, and it takes nothing.
        const bool needed = operation == 0 || (operation == 3 && elements == 2000 && rank == (silent == 0 ? 1 : 0));
        CHECK((lost == silent || (!needed && lost == -1)));
        MPI_Barrier(ranks.get());
      }
}

TEST_CASE("what a rank that was only slow sends after all does not reach memory that was freed since") {
  const AllLive live;
  const FirstRanks ranks{3};
  if (!ranks.taking_part()) return;
  enum class Late { pledge, share, element };
  for (const Late late : {Late::pledge, Late::share, Late::element}) {
    CAPTURE(static_cast<int>(late));
    std::vector<std::byte> values(1000);
    MPI_Barrier(ranks.get());
    if (ranks.rank() == 0) {  // as a transport that stops somewhere
      MpiWatch watch{ranks.get(), 2min};
      const MpiCommunicator transfers{ranks.get(), 2min}, collectives{ranks.get(), 2min};
      const auto agree = [&] { return std::make_unique<MpiAgreement>(watch.comm(), StartPledge{.ranks = 3}); };
      if (late != Late::pledge)
        for (const auto agreement = agree(); !agreement->done();) std::this_thread::yield();
      const std::int64_t heading[2] = {0, std::ssize(values)};
      for (int to = 1; to < 3 && late == Late::element; ++to) MPI_Send(heading, sizeof heading, MPI_BYTE, to, 3, watch.comm().get());
      MPI_Barrier(ranks.get());  // the others have given it up
      MpiShare share{watch.comm()};
      if (late == Late::pledge) agree();
      if (late == Late::share) share.start(0, 0, values);
      for (int to = 1; to < 3 && late == Late::element; ++to) MPI_Send(values.data(), 1000, MPI_BYTE, to, 1, watch.comm().get());
      MPI_Barrier(ranks.get());
      watch.comm().keep();
      continue;
    }
    const FreedMemory freed;
    CHECK(lost_by([&] {
            const auto mpi = std::make_unique<Mpi>(ranks.get(), 3, std::vector<std::vector<int>>{{0, 1, 2}}, four, 500ms, StartPledge{.ranks = 3});
            std::vector<std::byte> target(values.size());
            mpi->share(Rank{0}, target);
          }) == 0);
    for (int i = 0; i < 2; ++i) MPI_Barrier(ranks.get());
    CHECK(FreedMemory::written() == 0);
  }
}

TEST_CASE("a rank that was given up does not share any more, and the sentence names whose bytes it was about") {
  const AllLive live;
  const FirstRanks ranks{3};
  if (!ranks.taking_part()) return;
  Mpi mpi{ranks.get(), 3, {{0, 1, 2}}, four, 500ms};
  std::vector<std::byte> values(8);
  if (mpi.rank() == Rank{1}) MPI_Barrier(ranks.get());
  const auto share = [&] { mpi.share(Rank{1}, values); };
  CHECK_THROWS_WITH_AS(share(), doctest::Contains("rank 1 was lost at sharing what rank 1 holds, sequence 0: it started nothing"), RankLost);
  if (mpi.rank() != Rank{1}) MPI_Barrier(ranks.get());
}

TEST_CASE("what was complete when a rank gave up succeeds, the rest throws, with the reason") {
  const FirstRanks ranks{2};
  if (!ranks.taking_part()) return;
  Mpi mpi{ranks.get(), 2, {{0, 1}}, four, 1h};
  float value = mpi.rank() == Rank{0} ? 1.0F : 2.0F, later = 5;
  const int other = 1 - mpi.rank().value;
  if (mpi.rank() == Rank{1}) {
    mpi.send_wait(0, mpi.send_start(0, &value, 1));
    mpi.give_up(Rank{1}, "its kernel threw");
    CHECK(lost_by([&] { mpi.send_start(0, &value, 1); }) == 1);  // a rank that left starts nothing more
    return;
  }
  const auto complete = mpi.receive_start(other, &value, 1);
  const auto open = mpi.receive_start(other, &later, 1);
  CHECK_NOTHROW(mpi.receive_wait(other, complete));
  CHECK(value == 2);
  CHECK_THROWS_WITH_AS(mpi.receive_wait(other, open), doctest::Contains("rank 1 was lost at receive from rank 1, sequence 1: its kernel threw"),
                       RankLost);
  CHECK(later == 5);
}

TEST_CASE("what a rank that gave up keeps is passable, and its wait names that rank") {
  const FirstRanks ranks{2};
  if (!ranks.taking_part()) return;
  Mpi mpi{ranks.get(), 2, {{0, 1}}, {}, 1min};
  float value = 0, sum = 0;
  if (mpi.rank().value == 1) {
    MPI_Barrier(ranks.get());
    mpi.give_up(Rank{1}, "its kernel threw");
    return;
  }
  const std::array tickets{Ticket{Ticket::receive, 1, mpi.receive_start(1, &value, 1)},
                           Ticket{Ticket::all_reduce, 0, mpi.all_reduce_start(0, &sum, 1)}};
  for (const Ticket& ticket : tickets) CHECK_FALSE(mpi.passable(ticket));
  MPI_Barrier(ranks.get());
  const auto end = std::chrono::steady_clock::now() + 30s;
  for (const Ticket& ticket : tickets) {
    while (!mpi.passable(ticket) && std::chrono::steady_clock::now() < end) std::this_thread::yield();
    CHECK(mpi.passable(ticket));
  }
  CHECK_THROWS_WITH_AS(mpi.receive_wait(1, 0), doctest::Contains("its kernel threw"), RankLost);
}

TEST_CASE("a process that an exception takes out of the plan tells the others") {
  const FirstRanks ranks{3};
  if (!ranks.taking_part()) return;
  std::string said;
  try {
    Mpi mpi{ranks.get(), 3, {{0, 1, 2}}, four, 1h};
    if (mpi.rank() == Rank{1}) throw std::runtime_error("a file is missing");
    float value = 1;
    mpi.all_reduce_wait(0, mpi.all_reduce_start(0, &value, 1));
  } catch (const std::exception& problem) {
    said = problem.what();
  }
  CHECK(said == (ranks.rank() == 1
                     ? "a file is missing"
                     : "[heddle.R01] rank 1 was lost at all-reduce of group 0, sequence 0: an exception has ended its part in the plan. "
                       "Fix: look at the first error of rank 1."));
}

// ---- Every rank stops at every operation ------------------------------------------------------------------------------------------------

namespace {

struct Step {
  int group;  // -1: a transfer
  int from;
  int to;
  Movement kind = Movement::all_reduce;
};
const std::vector<std::vector<int>> groups{{0, 1, 2}, {2, 1}};
const std::vector<Step> steps{{-1, 0, 1},
                              {0, 0, 0},
                              {-1, 1, 2},
                              {0, 0, 0, Movement::reduce_scatter},
                              {-1, 2, 0},
                              {1, 0, 0, Movement::all_gather},
                              {1, 0, 0},
                              {0, 0, 0, Movement::all_gather},
                              {1, 0, 0, Movement::reduce_scatter},
                              {-1, 2, 1}};

bool takes_part(const Step& step, int rank) {
  if (step.group == 0) return true;
  return step.group == 1 ? rank != 0 : rank == step.from || rank == step.to;
}

/// The step on this rank; the values it must give are written down by hand: rank r brings r + 1.
void carry_out(Mpi& endpoint, const Step& step, std::string& fault) {
  const int rank = endpoint.rank().value;
  float value = static_cast<float>(rank + 1);
  float expected = value;
  if (step.kind == Movement::reduce_scatter) {
    const float whole[3] = {value, value, value};
    endpoint.reduce_scatter_wait(step.group, endpoint.reduce_scatter_start(step.group, whole, &value, step.group == 0 ? 3 : 2));
    expected = step.group == 0 ? 6.0F : 5.0F;
  } else if (step.kind == Movement::all_gather) {
    float whole[3] = {};
    endpoint.all_gather_wait(step.group, endpoint.all_gather_start(step.group, &value, whole, step.group == 0 ? 3 : 2));
    if (step.group == 0 ? !(whole[0] == 1 && whole[1] == 2 && whole[2] == 3) : !(whole[0] == 3 && whole[1] == 2)) fault = "gathered in another order";
  } else if (step.group >= 0) {
    endpoint.all_reduce_wait(step.group, endpoint.all_reduce_start(step.group, &value, 1));
    expected = step.group == 0 ? 6.0F : 5.0F;
  } else if (rank == step.from) {
    endpoint.send_wait(step.to, endpoint.send_start(step.to, &value, 1));
  } else {
    endpoint.receive_wait(step.from, endpoint.receive_start(step.from, &value, 1));
    expected = static_cast<float>(step.from + 1);
  }
  if (value != expected) fault = "rank " + std::to_string(rank) + " got " + std::to_string(value);
}

/// What a survivor sees when `stopper` stops before step `stop`: it goes on with the next call after every error.
std::string survive(Mpi& endpoint, int stopper, std::size_t stop) {
  std::string fault;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    if (!takes_part(steps[i], endpoint.rank().value)) continue;
    const int lost = lost_by([&] { carry_out(endpoint, steps[i], fault); });
    if (lost >= 0 && lost != stopper) fault = "step " + std::to_string(i) + " names rank " + std::to_string(lost);
    if (lost < 0 && i >= stop && takes_part(steps[i], stopper))
      fault = "step " + std::to_string(i) + " succeeded without rank " + std::to_string(stopper);
    if (lost >= 0 && i < stop) fault = "step " + std::to_string(i) + " failed before anybody stopped";
  }
  return fault;
}

void stop_everywhere(bool in_silence, std::chrono::nanoseconds deadline) {
  const AllLive live;
  const FirstRanks ranks{3};
  if (!ranks.taking_part()) return;
  for (int stopper = 0; stopper < 3; ++stopper)
    for (std::size_t stop = 0; stop < steps.size(); stop += in_silence ? 4 : 1) {
      if (!takes_part(steps[stop], stopper)) continue;
      CAPTURE(stopper);
      CAPTURE(stop);
      MPI_Barrier(ranks.get());
      Mpi mpi{ranks.get(), 3, groups, four, deadline};
      std::string fault;
      if (mpi.rank().value != stopper) {
        fault = survive(mpi, stopper, stop);
      } else {
        for (std::size_t i = 0; i < stop; ++i)
          if (takes_part(steps[i], stopper)) carry_out(mpi, steps[i], fault);
        if (!in_silence) mpi.give_up(mpi.rank(), "stopped at step " + std::to_string(stop));
      }
      CHECK(fault == "");
      if (in_silence) MPI_Barrier(ranks.get());
    }
}

}  // namespace

TEST_CASE("wherever a rank gives up, every call of every survivor succeeds or names it") { stop_everywhere(false, 1min); }

// The deadline must only be longer than a rank that works may be kept off its core.
TEST_CASE("wherever a rank falls silent, every call of every survivor succeeds or names it") { stop_everywhere(true, 1s); }
