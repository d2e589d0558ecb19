// SPDX-License-Identifier: MIT
// One thread conducts the ranks of drawn plans, in floats, in orders that seeds draw: whatever the order, every byte of every arena is that of ranks
// that are threads. HEDDLE_INTERLEAVINGS says how many orders are wanted, HEDDLE_DRAWN_SEED where the seeds of the plans begin.
#include <doctest/doctest.h>

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "equivalence/conducted_session.hpp"
#include "equivalence/drawn_plans.hpp"
#include "heddle/backend/cpu.hpp"
#include "heddle/backend/thread_session.hpp"
#include "proof/mutable_program.hpp"
#include "sanitized.hpp"

using namespace drawn_plans;

namespace {

#if defined(HEDDLE_SANITIZED)
constexpr long usual = 500;
#else
constexpr long usual = 10'000;
#endif
constexpr int orders_of_a_plan = 20;

long number_in(const char* name, long otherwise) {
  const char* const value = std::getenv(name);
  return value == nullptr ? otherwise : std::atol(value);
}

/// A seeded order that can be told from others by the turns it gave.
struct Noted {
  Seeded order{0};
  std::uint64_t turns = 0;
  int operator()(std::span<const int> ready, int last) {
    const int rank = order(ready, last);
    turns = (turns ^ static_cast<std::uint64_t>(rank + 1)) * 0x100000001b3ULL;
    return rank;
  }
};
using Conducted = equivalence::ConductedSession<Noted>;

[[nodiscard]] const std::vector<KernelTable>& kernels() {
  static const std::vector<KernelTable> all = [] {
    std::vector<KernelTable> made;
    each_model([&]<class Model, class Loss, class Optimizer>(const char*) { made.push_back(kernel_table<Model, Loss, Optimizer, EigenCompute>()); });
    return made;
  }();
  return all;
}

/// Rows of one step, of any type of inputs and targets.
struct StepRows {
  std::vector<float> inputs, targets;
  std::vector<std::int32_t> ids, labels;

  StepRows(const FieldWork& work, std::int64_t rows, std::uint64_t step) {
    const auto drawn = [&](std::uint64_t what, std::int64_t i) { return bits64(Seed{5}, 2 * step + what, static_cast<std::uint64_t>(i)); };
    const auto unit = [](std::uint64_t bits) { return static_cast<float>(bits % 2001) / 1000.0F - 1; };
    for (std::int64_t i = 0; i < rows * work.graph->input.elements(); ++i) {
      if (work.graph->input.type == ElementType::int32)
        ids.push_back(static_cast<std::int32_t>(drawn(0, i) % static_cast<std::uint64_t>(vocabulary_of(*work.graph))));
      else
        inputs.push_back(unit(drawn(0, i)));
    }
    for (std::int64_t i = 0; i < rows * work.target_features; ++i) {
      const std::int64_t classes = work.kernels.targets.reader_of(i % work.target_features).classes;
      targets.push_back(unit(drawn(1, i)));
      labels.push_back(classes > 0 ? static_cast<std::int32_t>(drawn(1, i) % static_cast<std::uint64_t>(classes))
                                   : TargetValue{targets.back()}.label());
    }
  }
};

/// Everything that a few steps of a plan leave behind.
struct Left {
  std::vector<std::vector<char>> arenas;  // by rank
  std::vector<float> numbers;             // losses and outputs
  [[nodiscard]] bool same(const Left& other) const {
    return arenas == other.arenas && numbers.size() == other.numbers.size() &&
           std::memcmp(numbers.data(), other.numbers.data(), numbers.size() * sizeof(float)) == 0;
  }
};

/// The ranks of a drawn plan, as threads or conducted: new ones for each run.
template <class Session> class Runs {
 public:
  Runs(const DrawnPlan& plan, const Program& training, const Program& evaluation)
      : work_(plan.model->work), training_(training), evaluation_(evaluation),
        kernels_(kernels()[static_cast<std::size_t>(plan.model - models().data())]),
        ranks_(training, evaluation, *work_.graph, work_.target_features, kernels_, transport_needs(training, evaluation), std::chrono::seconds{20}) {
  }

  /// A step of all rows that reports, one of fewer rows that does not if the plan takes them, and an evaluation.
  [[nodiscard]] Left run() {
    Left left;
    ranks_.make(Seed{3});
    const int all = training_.batch.remedy == Remedy::pad ? training_.batch.capacity() : training_.batch.batch;
    step(1, all, left);
    step(2, training_.batch.remedy == Remedy::keep ? (all + 1) / 2 : all, left);
    evaluate(left);
    for (int r = 0; r < ranks_.ranks(); ++r) {
      Arena& arena = ranks_.executor(Rank{r}).arena();
      const auto* const bytes = reinterpret_cast<const char*>(arena.bytes(0));
      left.arenas.emplace_back(bytes, bytes + arena.size().value);
    }
    return left;
  }
  [[nodiscard]] Session& session() { return ranks_.session(); }

 private:
  [[nodiscard]] StepInput input_of(const Program& program, const StepRows& rows, int count) const {
    StepInput input;
    input.program = &program;
    input.inputs = rows.ids.empty() ? static_cast<const void*>(rows.inputs.data()) : rows.ids.data();
    input.targets = kernels_.targets.labels() ? static_cast<const void*>(rows.labels.data()) : rows.targets.data();
    input.source_rows = input.rows = count;
    return input;
  }
  void step(int number, int count, Left& left) {
    const StepRows rows{work_, count, static_cast<std::uint64_t>(number)};
    StepInput input = input_of(training_, rows, count);
    input.step = number;
    input.reporting = number == 1;
    const auto constants = work_.constants(number, training_.groups);
    input.constants = constants.get();
    input.constants_bytes = work_.constants_bytes;
    input.max_norm = 0.5;
    input.max_value = 0.01;
    input.loss_scale = training_.scales_loss ? 1024.0F : 1.0F;
    ranks_.run(input);
    if (input.reporting) left.numbers.push_back(ranks_.shared_loss_sum());
  }
  void evaluate(Left& left) {
    const auto count = static_cast<int>(ranks_.rows_at_once());
    const StepRows rows{work_, count, 3};
    std::vector<float> outputs(static_cast<std::size_t>(count * work_.graph->output().elements()));
    StepInput input = input_of(evaluation_, rows, count);
    input.step = 2;
    input.reporting = true;
    input.outputs = outputs.data();
    ranks_.run(input);
    left.numbers.push_back(ranks_.shared_loss_sum());
    left.numbers.insert(left.numbers.end(), outputs.begin(), outputs.end());
  }

  const FieldWork& work_;
  const Program& training_;
  const Program& evaluation_;
  const KernelTable& kernels_;
  LocalRanks<Session> ranks_;
};

}  // namespace

TEST_CASE("whatever the order in which ranks take their turns, they end with the bits of threads") {
  const long wanted = number_in("HEDDLE_INTERLEAVINGS", usual);
  auto seed = static_cast<std::uint64_t>(number_in("HEDDLE_DRAWN_SEED", 1));
  long done = 0, turns_of_many = 0;
  int plans = 0;
  std::set<std::uint64_t> different, models_seen;
  for (; done < wanted; ++seed) {
    DrawnPlan plan = drawn(seed);
    const LoweredPlan programs = lowered(plan);
    if (!check(programs).ok() || programs.training().mesh.ranks() == 1) continue;
    CAPTURE(plan.text);
    ++plans;
    models_seen.insert(static_cast<std::uint64_t>(plan.model - models().data()));
    const Left threads = Runs<ThreadSession>(plan, programs.training(), programs.evaluation()).run();
    Runs<Conducted> conducted{plan, programs.training(), programs.evaluation()};
    for (int i = 0; i < orders_of_a_plan && done < wanted; ++i, ++done) {
      const auto order = 1000 * seed + static_cast<std::uint64_t>(i);
      CAPTURE(order);
      conducted.session().set_order({Seeded{order}, seed});
      REQUIRE(conducted.run().same(threads));
      different.insert(conducted.session().order().turns);
      turns_of_many += programs.training().mesh.ranks() > 2 ? 1 : 0;
    }
  }
  MESSAGE(done << " interleavings of " << plans << " plans of " << models_seen.size() << " models, " << different.size() << " of them different, "
               << turns_of_many << " of more than two ranks: each ends with the bits of threads");
  CHECK(static_cast<long>(different.size()) > done * 19 / 20);
  if (wanted >= usual && usual >= 10'000) CHECK(models_seen.size() == models().size());
}

TEST_CASE("a Program that computes before it has waited for what it receives has other bits in other orders") {
  int told = 0, plans = 0;
  for (std::uint64_t seed = 1; plans < 20; ++seed) {
    DrawnPlan plan = drawn(seed);
    const LoweredPlan programs = lowered(plan);
    if (!check(programs).ok() || programs.training().roles == 1) continue;
    proof_test::MutableProgram mutant{programs.training()};
    for (std::size_t i = 1; i < mutant.instructions.size(); ++i)
      if (mutant.instructions[i - 1].op == ListOp::receive_wait && computes(mutant.instructions[i].op))
        std::swap(mutant.instructions[i - 1], mutant.instructions[i]);
    const Program& wrong = mutant.program();
    ++plans;
    CAPTURE(plan.text);
    Runs<Conducted> conducted{plan, wrong, programs.evaluation()};
    std::vector<Left> seen;
    for (std::uint64_t order = 0; order < 30 && (seen.empty() || seen.back().same(seen.front())); ++order) {
      conducted.session().set_order({Seeded{order}, 0});
      seen.push_back(conducted.run());
    }
    told += seen.back().same(seen.front()) ? 0 : 1;
  }
  MESSAGE(told << " of " << plans << " plans that compute too early are told");
  CHECK(told > plans / 2);
}
