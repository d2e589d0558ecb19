// SPDX-License-Identifier: MIT
#include "heddle/backend/field_mpi.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <stdexcept>
#include <string>

#include "heddle/backend/field_threads.hpp"
#include "proof/mutable_program.hpp"

using namespace heddle;

// Runs with four processes.
namespace {

struct Block : Residual<Linear<4, 6>, GELU, Linear<6, 4>> {};
struct Words : Sequential<Input<3>, Named<"in", Embedding<8, 4>>, Repeat<2, Block>, Tied<"out", Linear<4, 8, NoBias>, To<"in">>> {};
template <class... Parts> using Of = Plan<Words, CrossEntropy, Adam, Batch<8, KeepLast>, Clip<GlobalNorm>, Parts...>;

template <class ThePlan> void check_like_threads() {
  const Proof processes = prove<ThePlan, FieldMpi>();
  const Proof threads = prove<ThePlan, FieldThreads>();
  CAPTURE(processes.line());
  CHECK(processes.ok());
  CHECK(processes.log2_of_bound < -40);
  CHECK(processes.line() == threads.line());
}

}  // namespace

TEST_CASE("processes end with the hash of threads and of one device, and count the same calls") {
  check_like_threads<Of<DataParallel<4>>>();
  check_like_threads<Of<Sharded<4>>>();
  check_like_threads<Of<TensorParallel<4>>>();
  check_like_threads<Of<Pipeline<Balanced<4>, OneFOneB, Microbatches<4>>>>();
  check_like_threads<Of<Hybrid<TensorParallel<2>, Pipeline<Balanced<2>, ZeroBubbleH1, Microbatches<2>>>, LossScaling>>();
  check_like_threads<Of<Hybrid<Sharded<2>, DataParallel<2>>, Recompute<EveryBlock>>>();
}

TEST_CASE("one process is first, and all of them find what differs") {
  using Spread = Of<Hybrid<TensorParallel<2>, DataParallel<2>>>;
  using Alone = Of<Single>;
  proof_test::MutableProgram mutant{Spread::training};
  REQUIRE(mutant.drop_entries([](const Entry& entry) { return entry.what == BodyOp::reduce_value; }, 0) == 1);
  const FieldWork work = field_work<Words, CrossEntropy, Adam>();
  OneDevice<FieldMpi::SessionOfOne> alone{work, {&Alone::training, &Alone::evaluation}, steps_of(Spread::training.batch), {}};
  const Proof proof = prove_programs<FieldMpi::Session>({&mutant.program(), &Spread::evaluation}, alone, "mutant");
  CHECK(proof.text.find("[heddle.R31] mutant does not compute what one device computes: the loss after step 1") == 0);
  MpiSession session{transport_needs(Spread::training, Spread::evaluation), std::chrono::seconds{20}};
  int firsts = 0;
  for (int r = 0; r < 4; ++r) {
    int first = proof.first_process ? 1 : 0;
    session.share(Rank{r}, std::as_writable_bytes(std::span{&first, 1}));
    firsts += first;
  }
  CHECK(firsts == 1);
}

TEST_CASE("processes that prove with other options are told so, all of them, before anything is compared") {
  using Spread = Of<DataParallel<4>>;
  const int rank = MpiSession{transport_needs(Spread::training, Spread::evaluation), std::chrono::seconds{20}}.transport().rank().value;
  const auto told = [&](ProofOptions how) -> std::string {
    try {
      return prove<Spread, FieldMpi>(how).line();
    } catch (const Error& error) {
      return error.what();
    }
  };
  CHECK(told({.seed = Seed{rank == 2 ? 7U : 5U}}) ==
        "[heddle.R18] rank 2 starts with another seed than ranks 0, 1 and 3: rank 2 with 7, rank 0 with 5. Fix: give prove the same "
        "seed and most_draws in "
        "every process.");
  CHECK(told({.most_draws = rank == 1 ? 3 : 8}) ==
        "[heddle.R18] rank 1 starts with another most_draws than ranks 0, 2 and 3: rank 1 with 3, rank 0 with 8. Fix: give prove the same "
        "seed and most_draws in every process.");
  CHECK(told({.most_draws = rank == 1 ? 0 : 1}) == prove<Spread, FieldMpi>({.most_draws = 1}).line());  // at least one draw is made
}

namespace {

/// A layer whose kernel has no more to give from the first draw of elements on: one device makes that, between two draws of the plan.
struct Failing {
  static constexpr Leaf describe(Spec in) {
    Leaf leaf;
    leaf.kind << "Failing";
    leaf.spelled << "Failing";
    leaf.in = leaf.out = in;
    return leaf;
  }
  static inline bool fails = false;
};
struct Fails : Sequential<Linear<4, 6>, Failing, Linear<6, 4>> {};

}  // namespace

template <> struct heddle::FieldKernel<Failing> {
  static void forward(const ForwardCall& call) {
    if (Failing::fails && field_draw.mode == FieldMode::values) throw std::runtime_error("the disk is gone");
    std::copy_n(call.input, call.rows * call.leaf->in.elements(), call.output);
  }
  static void backward(const BackwardCall& call) {
    if (call.input_gradient != nullptr) std::copy_n(call.output_gradient, call.rows * call.leaf->in.elements(), call.input_gradient);
  }
};

TEST_CASE("a process that is lost between two draws of a proof is named by the others") {
  using Spread = Plan<Fails, MeanSquaredError, SGD, Batch<8>, DataParallel<4>>;
  CHECK(prove<Spread, FieldMpi>());
  int process = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &process);
  Failing::fails = process == 1;
  std::string said;
  try {
    (void)prove<Spread, FieldMpi>({.deadline = std::chrono::seconds{10}});
  } catch (const Error& error) {
    said = error.what();
  }
  CAPTURE(said);
  if (process == 1)
    CHECK(said.find("the forward of layer 1 '1' Failing threw: the disk is gone") != std::string::npos);
  else
    CHECK(said.find("[heddle.R01] rank 1 was lost at ") == 0);
  MpiProcess::instance().finalize_at_the_end(true);  // its process lives on
  MPI_Barrier(MPI_COMM_WORLD);
}
