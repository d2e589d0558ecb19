// SPDX-License-Identifier: MIT
#include "heddle/run/conductor.hpp"

#include <doctest/doctest.h>

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "equivalence/conducted_session.hpp"
#include "heddle/backend/cpu_threads.hpp"
#include "proof/mutable_program.hpp"

using namespace heddle;
using equivalence::ConductedSession;

namespace {

struct Net : Sequential<Linear<4, 3>, ReLU, Linear<3, 2>> {};
template <class... Parts> using Of = Plan<Net, CrossEntropy, SGD, Batch<8>, Parts...>;
using Piped = Of<Pipeline<Balanced<2>, OneFOneB, Microbatches<2>>>;
using Data = Of<DataParallel<4>>;

/// A step of a Program whose ranks are conducted.
template <class ThePlan> struct Conducted {
  ConductedSession<InTurn> session;
  std::vector<std::unique_ptr<Executor<Threads::Endpoint>>> executors;
  std::vector<float> inputs = std::vector<float>(32, 0.5F);
  std::vector<std::int32_t> labels;
  KernelTable kernels = kernel_table<Net, CrossEntropy, SGD, EigenCompute>();

  explicit Conducted(const Program& training, std::int32_t label = 1)
      : session(transport_needs(ThePlan::training, ThePlan::evaluation), std::chrono::seconds{60}), labels(8, label) {
    for (int r = 0; r < devices<ThePlan>; ++r)
      executors.push_back(std::make_unique<Executor<Threads::Endpoint>>(training, ThePlan::evaluation, kernels, Rank{r}, session.endpoint(Rank{r})));
    const auto constants = SGD::constants({}, 1);
    const StepInput input{&training, inputs.data(), labels.data(), nullptr, 8, 8, 1, true, &constants, nullptr, nullptr};
    step_on(session, executors, input, [] { FAIL("a session that conducts was asked for its threads"); });
  }
  [[nodiscard]] std::string said(int rank) const { return words_of(session.error(rank)); }
};

}  // namespace

TEST_CASE("a rank keeps its turn until it waits, then the next one has it") {
  const std::vector<int> ready{0, 1, 3};
  CHECK(InTurn{}(ready, 1) == 1);
  CHECK(InTurn{}(ready, 2) == 3);
  CHECK(InTurn{}(ready, 4) == 0);
}

TEST_CASE("turns that are drawn are the same from one seed, and every rank has some; most seeds let a rank run ahead") {
  const std::vector<int> ready{2, 5, 7};
  for (const std::uint64_t seed : {8, 9, 10, 11}) {
    Seeded one{seed}, same{seed}, other{seed + 4};
    int last = 2, stays = 0, differs = 0;
    std::vector<int> turns(8);
    for (int i = 0; i < 3000; ++i) {
      const int rank = one(ready, last);
      CHECK(same(ready, last) == rank);
      differs += other(ready, last) != rank ? 1 : 0;
      stays += rank == last ? 1 : 0;
      last = rank;
      ++turns[static_cast<std::size_t>(rank)];
    }
    for (const int rank : ready) CHECK(turns[static_cast<std::size_t>(rank)] > 500);
    CHECK(differs > 300);
    // A third stays by chance; of the others none, half, three quarters, seven eighths.
    const double expected = 1 - 2.0 / 3 / static_cast<double>(1U << seed % 4);
    CHECK(stays / 3000.0 == doctest::Approx(expected).epsilon(0.1));
  }
  CHECK(Seeded{11}(std::vector<int>{4}, 2) == 4);  // the last one cannot go on
}

TEST_CASE("ranks that are conducted end their step") {
  const Conducted<Data> data{Data::training};
  const Conducted<Piped> piped{Piped::training};
  CHECK_NOTHROW(data.session.rethrow_first());
  CHECK_NOTHROW(piped.session.rethrow_first());
  for (const auto& executor : data.executors) CHECK((executor->stepped() && executor->walk().over()));
  for (const auto& executor : piped.executors) CHECK((executor->stepped() && executor->walk().over()));
}

TEST_CASE("where no rank can go on every rank that waits is told who waits where for what, and nobody hangs") {
  const auto without_sends = [](int role, int micro_batch) {
    auto mutant = std::make_unique<proof_test::MutableProgram>(Piped::training);
    int sends = 0;
    for (int i = Piped::training.lists[role].begin; i < Piped::training.lists[role].end; ++i)
      if (Instruction& line = mutant->instructions[static_cast<std::size_t>(i)];
          (line.op == ListOp::send_start || line.op == ListOp::send_wait) && (micro_batch < 0 || line.micro_batch == micro_batch)) {
        line.token = -7;
        ++sends;
      }
    REQUIRE(sends == (micro_batch < 0 ? 4 : 2));
    mutant->drop([](const Instruction& line) { return line.token == -7; });
    return mutant;
  };
  const auto no_gradients = without_sends(1, -1);
  const Conducted<Piped> one{no_gradients->program()};
  CHECK(one.said(0) ==
        "[heddle.R35] no rank can go on: rank 0 waits for receive 0 from rank 1 at instruction 5 (receive wait of chunk 0, micro-batch 0). Fix: let "
        "each "
        "wait have its start in the list of the other side, before what waits for it.");
  CHECK(one.session.error(1) == nullptr);  // it waits for nobody
  CHECK(one.executors[1]->walk().over());

  const auto half = without_sends(0, 1);
  const Conducted<Piped> both{half->program()};
  CHECK(both.said(0).find("no rank can go on: rank 0 waits for receive 1 from rank 1 at instruction ") != std::string::npos);
  CHECK(both.said(0).find("; rank 1 waits for receive 1 from rank 0 at instruction ") != std::string::npos);
  CHECK(both.said(1) == both.said(0));
}

TEST_CASE("of many ranks that cannot go on four are named") {
  const Conducted<Data> whole{Data::training};
  const std::vector<int> kept{0, 1, 2, 3};
  const std::string four = nobody_goes_on(whole.executors, kept).what();
  CHECK(four.find("; rank 3 waits for all-reduce ") != std::string::npos);
  CHECK(four.find("more wait") == std::string::npos);
  const std::string five = nobody_goes_on(whole.executors, {0, 1, 2, 3, 0}).what();
  CHECK(five.find("; and 1 more wait. Fix: ") != std::string::npos);
}

TEST_CASE("a rank that throws is lost, and those that need it are told at once") {
  const Conducted<Piped> spoiled{Piped::training, 9};  // there are 2 classes
  CHECK(spoiled.said(1).find("[heddle.D08]") == 0);
  CHECK(spoiled.said(0).find("[heddle.R01]") == 0);
  CHECK(spoiled.said(0).find("rank 1") != std::string::npos);
}

TEST_CASE("what is waited for is said in a few words") {
  CHECK(describe(Ticket{Ticket::send, 2, 5}) == "send 5 to rank 2");
  CHECK(describe(Ticket{Ticket::receive, 0, 1}) == "receive 1 from rank 0");
  CHECK(describe(Ticket{Ticket::all_reduce, 3, 0}) == "all-reduce 0 of group 3");
  CHECK(describe(Ticket{Ticket::reduce_scatter, 1, 2}) == "reduce-scatter 2 of group 1");
  CHECK(describe(Ticket{Ticket::all_gather, 0, 9}) == "all-gather 9 of group 0");
}
