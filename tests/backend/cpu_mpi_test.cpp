// SPDX-License-Identifier: MIT
#include "heddle/backend/cpu_mpi.hpp"
#include "heddle/backend/spmd_mpi.hpp"

#include <doctest/doctest.h>
#include <sys/resource.h>

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <limits>
#include <random>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

#include "equivalence/processes.hpp"

using namespace equivalence;

// Runs with four processes; a plan of fewer ranks takes the first.
namespace {

template <class... Parts> using Any = Plan<Mlp, CrossEntropy, Adam, Batch<32, KeepLast>, Bucket<1_KiB>, Parts...>;
template <class... Parts> using Of = Any<Grain<4>, Parts...>;
using Alone = Of<Single>;

template <class Make> [[nodiscard]] std::string refusal(Code code, Make make) {
  try {
    make();
  } catch (const Error& error) {
    CHECK((error.code() == code));
    return error.what();
  }
  return "nothing was refused";
}

using Two = Of<DataParallel<2>>;
using Four = Of<DataParallel<4>>;
using Rounds = Of<DataParallel<2>, Accumulate<4>>;
using Both = Of<Hybrid<Pipeline<Balanced<2>, OneFOneB, Microbatches<2>>, DataParallel<2>>>;
using Shares = Any<WeightedDataParallel<1, 2, 1>>;
using Outside = Of<Hybrid<DataParallel<2>, Pipeline<Balanced<2>, GPipe, Microbatches<2>>>>;

}  // namespace

TEST_CASE("one process is one device") { hold_as_one_device<Alone, Alone>(); }
TEST_CASE("replicas that are processes have the bits of one device, and rounds too") { hold_as_one_device<Alone, Two, Four, Rounds>(); }
TEST_CASE("stages times replicas that are processes have the bits of one device, in both nestings") { hold_as_one_device<Alone, Both, Outside>(); }
TEST_CASE("replicas that take unequal shares have the bits that they have as threads") { hold_as_threads<Shares>(); }

TEST_CASE("a process has an executor for its own rank only, and one of them prints") {
  const FirstRanks ranks{4};
  Trainer<Four, CpuMpi> trainer{settings<Adam>(), Seed{5}};
  for (int rank = 0; rank < 4; ++rank) CHECK(trainer.local(Rank{rank}) == (rank == ranks.rank()));
  CHECK(sum_over_all(trainer.first_process() ? 1 : 0) == 1);
  CHECK(trainer.executor(Rank{ranks.rank()}).arena().size() <= peak_memory<Four>());
}

namespace {

/// A folder that all processes share, as the first of them names it.
struct SharedFolder {
  std::filesystem::path path;
  explicit SharedFolder(const FirstRanks& ranks) {
    const std::int64_t name = sum_over_all(ranks.rank() == 0 ? static_cast<std::int64_t>(std::random_device{}()) : 0);
    path = std::filesystem::temp_directory_path() / ("heddle_mpi_" + std::to_string(name));
    first = ranks.rank() == 0;
    if (first) std::filesystem::create_directories(path);
    (void)sum_over_all(std::int64_t{0});
  }
  SharedFolder(const SharedFolder&) = delete;
  SharedFolder& operator=(const SharedFolder&) = delete;
  ~SharedFolder() {
    (void)sum_over_all(std::int64_t{0});
    if (first) std::filesystem::remove_all(path);
  }
  bool first = false;
};

template <class From, class To> void saves_and_loads(const FirstRanks& ranks) {
  const SharedFolder folder{ranks};
  const std::string path = folder.path / "parameters.safetensors";
  Trainer<From, CpuMpi> trainer{settings<Adam>(), Seed{5}};
  const auto rows = rows_of<From>(40);
  trainer.step(rows.batch(0, 32));
  trainer.save(path);
  Trainer<To, CpuMpi> other{settings<Adam>(), Seed{6}};
  other.load(path);
  CHECK(other.parameter_hash() == trainer.parameter_hash());
  CHECK(trainer.accuracy(rows.batch(0, 40)) == accuracy(trainer.evaluate(rows.batch(0, 40)), rows.batch(0, 40)));
  Trainer<Alone, CpuThreads> here{settings<Adam>(), Seed{6}};
  here.load(path);
  CHECK(here.parameter_hash() == trainer.parameter_hash());
}

}  // namespace

TEST_CASE("processes save once and load each for itself, under another plan, with the same bits") {
  const FirstRanks ranks{4};
  saves_and_loads<Of<Sharded<4>>, Any<Hybrid<TensorParallel<2>, DataParallel<2>>>>(ranks);
  saves_and_loads<Both, Of<Sharded<4>>>(ranks);
}

TEST_CASE("a file that the first process cannot write, or one process cannot read, or reads differently, is the same error in all of them") {
  const FirstRanks ranks{4};
  const SharedFolder folder{ranks};
  Trainer<Four, CpuMpi> trainer{settings<Adam>(), Seed{5}};
  const std::uint64_t before = trainer.parameter_hash();
  const std::string path = folder.path / "x", own = folder.path / std::to_string(ranks.rank());
  CHECK(refusal({'D', 20}, [&] { trainer.save(folder.path / "none" / "x"); }).find("/none/x' cannot be written: No such file or directory. Fix: ") !=
        std::string::npos);
  trainer.save(path);
  struct rlimit before_it {};
  getrlimit(RLIMIT_FSIZE, &before_it);
  if (ranks.rank() == 0) {  // the header fits, the tensors do not: the first process fails in the middle, and the others have gathered with it
    const struct rlimit low { 1000, before_it.rlim_max };
    setrlimit(RLIMIT_FSIZE, &low);
  }
  const std::string too_large = refusal({'D', 20}, [&] { trainer.save(path); });
  setrlimit(RLIMIT_FSIZE, &before_it);
  CHECK(too_large.find("/x' cannot be written: File too large. Fix: ") != std::string::npos);
  if (ranks.rank() != 2) {  // every process has a file of its own, but one
    TensorFile file = TensorFile::read(path);
    if (ranks.rank() == 3) {
      std::vector<float> values{file.get<float>(trainer.parameter_names().back()).begin(), file.get<float>(trainer.parameter_names().back()).end()};
      values.back() += 1;
      file.put<float>(trainer.parameter_names().back(), file.shape(trainer.parameter_names().back()), values);
    }
    file.write(own);
  }
  const std::string said = refusal({'D', 1}, [&] { trainer.load(own); });
  CHECK(said.find("[heddle.D01] rank 2: '" + (folder.path / "2").string() + "' cannot be read: No such file or directory") == 0);
  if (ranks.rank() == 2) TensorFile::read(path).write(own);
  CHECK(refusal({'R', 28}, [&] { trainer.load(own); }) ==
        "[heddle.R28] rank 3 has read other parameters than rank 0, so they would not agree. Fix: give every process the same file.");
  CHECK(trainer.parameter_hash() == before);
  trainer.load(path);
  CHECK(trainer.step(rows_of<Four>(32).batch(0, 32)).step == 1);
}

namespace {

/// Parameters of a trainer in this process, which the process `odd` does not get whole.
struct Unwell {
  Trainer<Alone, CpuThreads>& whole;
  bool odd;
  bool throws;
  int asked = 0;
  [[nodiscard]] std::vector<std::string> parameter_names() const { return whole.parameter_names(); }
  [[nodiscard]] const Shape& parameter_shape(const std::string& name) const { return whole.parameter_shape(name); }
  [[nodiscard]] std::vector<float> parameter(const std::string& name) {
    std::vector<float> values = whole.parameter(name);
    if (++asked == 2 && odd && throws) throw std::runtime_error("the network is gone");
    if (asked == 2 && odd) values.pop_back();
    return values;
  }
};

}  // namespace

TEST_CASE("parameters that would differ between processes are set in none of them, whatever they come from") {
  const FirstRanks ranks{4};
  Trainer<Four, CpuMpi> trainer{settings<Adam>(), Seed{5}};
  const std::uint64_t before = trainer.parameter_hash();
  const auto unchanged = [&] {
    for (int replica = 0; replica < 4; ++replica) CHECK(trainer.parameter_hash(replica) == before);
  };
  Trainer<Alone, CpuThreads> own{settings<Adam>(), Seed{ranks.rank() == 2 ? 7U : 6U}}, same{settings<Adam>(), Seed{6}};
  CHECK(refusal({'R', 28}, [&] { trainer.load(own); }) ==
        "[heddle.R28] rank 2 loads other parameters than rank 0, so they would not agree. Fix: give every process the same source.");
  unchanged();
  Unwell throws{same, ranks.rank() == 1, true}, gives_less{same, ranks.rank() == 3, false};
  CHECK(refusal({'R', 28}, [&] { trainer.load(throws); }) ==
        "[heddle.R28] rank 1: what has the parameters threw: the network is gone. Fix: look there for what it says.");
  unchanged();
  CHECK(refusal({'R', 5}, [&] { trainer.load(gives_less); }).find("[heddle.R05] rank 3: parameter '") == 0);
  unchanged();
  const std::string name = trainer.parameter_names().back();
  std::vector<float> values = trainer.parameter(name);
  if (ranks.rank() == 3) values.front() += 1;
  CHECK(refusal({'R', 28}, [&] { trainer.set_parameter(name, values); }) ==
        "[heddle.R28] rank 3 calls set_parameter() with another parameter, or other values, than rank 0, so they would not agree. Fix: give every "
        "process the same values of the same parameter.");
  unchanged();
  CHECK(refusal({'R', 5}, [&] {
          trainer.set_parameter(ranks.rank() == 0 ? "none" : name, trainer.parameter(name));
        }).find("[heddle.R05] rank 0: Mlp has no parameter 'none'") == 0);
  unchanged();
  trainer.load(same);
  for (int replica = 0; replica < 4; ++replica) CHECK(trainer.parameter_hash(replica) == same.parameter_hash());
  CHECK(trainer.step(rows_of<Four>(32).batch(0, 32)).step == 1);
}

TEST_CASE("classes weigh in processes what they weigh on one device, and other weights in one process are refused before they are taken") {
  const FirstRanks ranks{4};
  using Weighed = Plan<Mlp, CrossEntropyWith<ClassWeights>, Adam, Batch<32, KeepLast>, Grain<4>, DataParallel<4>>;
  using One = Plan<Mlp, CrossEntropyWith<ClassWeights>, Adam, Batch<32, KeepLast>, Grain<4>, Single>;
  std::vector<float> weights{1, 2, 0.5F, 3, 0, 1, 1, 4, 0.25F, 1};
  Trainer<Weighed, CpuMpi> trainer{settings<Adam>(), Seed{5}};
  Trainer<One, CpuThreads> alone{settings<Adam>(), Seed{5}};
  alone.class_weights(weights);
  std::vector<float> other = weights;
  if (ranks.rank() == 1) std::swap(other[0], other[1]);
  CHECK(
      refusal({'R', 28}, [&] { trainer.class_weights(other); }) ==
      "[heddle.R28] rank 1 calls class_weights() with other weights than rank 0, so their losses would not be one. Fix: give every process the same "
      "weights.");
  other = weights;
  if (ranks.rank() == 2) other[3] = -1;
  CHECK(refusal({'O', 1}, [&] { trainer.class_weights(other); }).find("class 3 has weight -1") != std::string::npos);
  trainer.class_weights(weights);
  for (int step = 0; step < 3; ++step)
    CHECK(*trainer.step(rows_of<One>(32).batch(0, step == 1 ? 7 : 32)).loss == *alone.step(rows_of<One>(32).batch(0, step == 1 ? 7 : 32)).loss);
  CHECK(trainer.parameter_hash(ranks.rank()) == alone.parameter_hash());
}

namespace {

struct Fragile {
  static constexpr Leaf describe(Spec in) { return elementwise("Fragile", in, 1); }
  static float forward(float x) {
    if (x > 100) throw std::range_error("the table ends at 100");
    return x;
  }
  static float backward(float, float gradient) { return gradient; }
};
struct Guarded : Sequential<Input<12>, Fragile, Linear<12, 4>> {};

}  // namespace

TEST_CASE("what a kernel of a user throws is told by every process with its rank, its layer and a remedy that fits; nothing is saved after it") {
  const FirstRanks ranks{4};
  const SharedFolder folder{ranks};
  Trainer<Plan<Guarded, CrossEntropy, Adam, Batch<8>, DataParallel<4>>, CpuMpi> trainer{settings<Adam>(), Seed{5}};
  std::vector<float> inputs(8 * 12, 0.5F);
  inputs[5 * 12] = 101;  // a row of rank 2
  const std::vector<std::int32_t> labels(8, 1);
  const std::string said = refusal({'R', 1}, [&] { trainer.step(examples(inputs, labels, 12)); });
  CHECK(said.find("[heddle.R01] rank 2 was lost at ") == 0);
  const std::string cause =
      ": the forward of layer 1 '1' Fragile threw: the table ends at 100. Fix: look there for what it says; Heddle throws nothing of this kind.";
  CHECK(said.find(cause) + cause.size() == said.size());
  CHECK(trainer.interrupted());
  CHECK(refusal({'R', 4}, [&] { trainer.save(folder.path / "x"); }) ==
        "[heddle.R04] step 1 was interrupted when a rank was lost, and the processes cannot know what the others have changed since. Fix: make a new "
        "trainer and load "
        "the parameters of the last good step.");
  CHECK_FALSE(std::filesystem::exists(folder.path / "x"));
}

TEST_CASE("a loss that is not finite is told by the process that finds it, and by the others as the end of its rank") {
  const FirstRanks ranks{4};
  auto rows = rows_of<Four>(32);
  rows.inputs[static_cast<std::size_t>(9 * rows.features)] = std::numeric_limits<float>::quiet_NaN();  // a row of rank 1
  Trainer<Four, CpuMpi> trainer{settings<Adam>(), Seed{5}};
  const auto step = [&] { trainer.step(rows.batch(0, 32)); };
  const std::string found = "the loss of step 1 is NaN in rows 8 to 11";
  if (ranks.rank() == 1)
    CHECK(refusal({'R', 2}, step) == "[heddle.R02] " + found + ". Fix: lower the learning rate or repair the data.");
  else
    CHECK(refusal({'R', 1}, step).find(found) != std::string::npos);
  CHECK(refusal({'R', 4}, step).find("step 1 was interrupted") != std::string::npos);
}

TEST_CASE("another number of processes is refused in each of them with both numbers") {
  {
    const FirstRanks three{3};
    if (three.taking_part())
      CHECK(refusal({'R', 3},
                    [] {
                      const Trainer<Two, CpuMpi> trainer{{}, Seed{1}};
                    }) ==
            "[heddle.R03] the plan has 2 devices, but MPI has started 3 processes, and each is one rank. Fix: start as many processes as devices: "
            "./heddle run -np 2 PROGRAM, or mpirun -np 2 PROGRAM.");
  }
  const FirstRanks four{4};
  setenv("WORLD_SIZE", "2", 1);
  CHECK(refusal({'R', 3}, [] {
          const Trainer<Four, CpuMpi> trainer{{}, Seed{1}};
        }).find("WORLD_SIZE says 2 processes, but MPI has started 4") != std::string::npos);
  setenv("WORLD_SIZE", "4", 1);
  CHECK_NOTHROW((Trainer<Four, CpuMpi>{{}, Seed{1}}));
  unsetenv("WORLD_SIZE");
}

TEST_CASE("a deadline of 0 or below is refused in the process that gives it") {
  for (const int length : {0, -1})
    CHECK(refusal({'R', 13}, [&] {
            const Trainer<Four, CpuMpi> trainer({}, Seed{1}, {.deadline = std::chrono::seconds{length}});
          }).find("[heddle.R13] the deadline is") == 0);
  CHECK(refusal({'R', 13}, [] {
          spmd_processes(
              Mesh{{axis::data}, {4}, 1}, [](auto&) {}, std::chrono::seconds{0});
        }).find("0 ns") != std::string::npos);
}

TEST_CASE("ranks that run different programs are told who is odd, all of them") {
  const FirstRanks four{4};
  const auto make = [&] {
    if (four.rank() == 2)
      const Trainer<Both, CpuMpi> trainer{{}, Seed{1}};
    else
      const Trainer<Four, CpuMpi> trainer{{}, Seed{1}};
  };
  CHECK(refusal({'R', 8}, make) ==
        "[heddle.R08] rank 2 runs another program than ranks 0, 1 and 3. Fix: start the same binary with the same plan in every process.");
  const auto other_world = [&] {
    if (four.rank() == 0)
      const Trainer<Two, CpuMpi> trainer{{}, Seed{1}};
    else
      const Trainer<Four, CpuMpi> trainer{{}, Seed{1}};
  };
  CHECK(refusal({'R', 8}, other_world).find("rank 0 runs another program than ranks 1, 2 and 3") != std::string::npos);
}

TEST_CASE("ranks that take another loss or optimizer are told who is odd, although their lists are the same") {
  const FirstRanks four{4};
  struct Words : Sequential<Linear<8, 4>> {};
  using Same = Plan<Words, CrossEntropy, Adam, Batch<32>, DataParallel<4>>;
  const auto refused = [&]<class Other>(std::type_identity<Other>) {
    return refusal({'R', 8}, [&] {
             if (four.rank() == 3)
               const Trainer<Other, CpuMpi> trainer{{}, Seed{1}};
             else
               const Trainer<Same, CpuMpi> trainer{{}, Seed{1}};
           }).find("[heddle.R08] rank 3 runs another program than ranks 0, 1 and 2.") == 0;
  };
  CHECK(refused(std::type_identity<Plan<Words, CrossEntropyWith<Ignored<-100>>, Adam, Batch<32>, DataParallel<4>>>{}));
  CHECK(refused(std::type_identity<Plan<Words, CrossEntropy, AdamW, Batch<32>, DataParallel<4>>>{}));
}

TEST_CASE("a seed or an option that differs in one process is refused before the first step, in every process") {
  const FirstRanks four{4};
  const bool odd = four.rank() == 1;
  CHECK(refusal({'R', 18},
                [&] {
                  const Trainer<Four, CpuMpi> trainer{{}, Seed{odd ? 7U : 1U}};
                }) ==
        "[heddle.R18] rank 1 starts with another seed than ranks 0, 2 and 3: rank 1 with 7, rank 0 with 1. Fix: give the trainer the same Seed in "
        "every process.");
  CHECK(refusal({'O', 2}, [&] {
          const Trainer<Four, CpuMpi> trainer{{.learning_rate = odd ? 0.5 : 0.25}, Seed{1}};
        }).find("[heddle.O02] rank 1 starts with another learning_rate than ranks 0, 2 and 3: rank 1 with 0.5, rank 0 with 0.25. Fix: ") == 0);
  CHECK(refusal({'O', 2}, [&] {
          const Trainer<Four, CpuMpi> trainer{{.beta2 = odd ? 0.9 : 0.99}, Seed{1}};
        }).find("[heddle.O02] rank 1 starts with other options of the optimizer than ranks 0, 2 and 3. Fix: ") == 0);
}

namespace {

/// What the four processes say if one of them does `other` after a step that all make, and the rest go on.
template <class ThePlan, class Other> void one_does_something_else(Code code, const std::string& words, Other other) {
  const FirstRanks four{4};
  const auto rows = rows_of<ThePlan>(32);
  std::string said;
  int wrong = 0;
  {
    Trainer<ThePlan, CpuMpi> trainer{settings<Adam>(), Seed{5}};
    trainer.step(rows.batch(0, 32));
    try {
      if (four.rank() == 1) other(trainer, rows);
      for (int step = 0; step < 3; ++step) trainer.step(rows.batch(0, 32));
      for (int i = 0; i < 2; ++i) (void)trainer.evaluate(rows.batch(0, 32));
      said = "nothing was noticed";
      wrong = 1;
    } catch (const Error& error) {
      said = error.what();
      wrong = said.find(words) == std::string::npos;  // of those that do not meet the odd one in a message, inside an R01
      if (error.code() != code && error.code() != Code{'R', 1}) wrong = 1;
    }
  }
  CAPTURE(said);
  CHECK(wrong == 0);
}

template <class ThePlan> void whatever_one_does_is_said() {
  using Odd = Trainer<ThePlan, CpuMpi>;
  const auto say = [](Code code, const std::string& words, auto other) { one_does_something_else<ThePlan>(code, words, other); };
  say({'O', 2}, " with learning_rate 0.00999999978, rank 1 with 0.5.", [](Odd& trainer, const auto&) { trainer.optimizer().learning_rate = 0.5; });
  say({'O', 2}, "with other options of the optimizer, of the loss, of the clip or of the loss scale",
      [](Odd& trainer, const auto&) { trainer.optimizer().beta1 = 0.5; });
  say({'R', 19}, " makes step 2 and reports its loss, rank 1 does not report it.",
      [](Odd& trainer, const auto&) { trainer.on_step([](const StepResult&) {}, Every{100}); });
  say({'T', 10}, "makes step 2", [](Odd& trainer, const auto& rows) { (void)trainer.evaluate(rows.batch(0, 32)); });
  say({'T', 10}, "makes step 2 with", [](Odd& trainer, const auto& rows) { trainer.step(rows.batch(0, 24)); });
  say({'T', 10}, "with other rows, or the same rows in another order", [](Odd& trainer, const auto& rows) {
    static const std::vector<std::uint32_t> order = [] {
      std::vector<std::uint32_t> backwards(32);
      for (std::uint32_t i = 0; i < 32; ++i) backwards[i] = 31 - i;
      return backwards;
    }();
    auto batch = rows.batch(0, 32);
    batch.order = order.data();
    trainer.step(batch);
  });
  // The others are in a step that the odd one has no part in yet: only where it holds what it shares does it come back to them.
  if constexpr (std::is_same_v<ThePlan, Four>)
    say({'T', 9}, " with the others, rank ", [](Odd& trainer, const auto&) { (void)trainer.parameter_hash(1); });
}

}  // namespace

TEST_CASE("replicas: an option, a report, a batch or a call that differs in one process is said in one sentence") {
  whatever_one_does_is_said<Four>();
}
TEST_CASE("stages times replicas: an option, a report, a batch or a call that differs in one process is said in one sentence") {
  whatever_one_does_is_said<Both>();
}
