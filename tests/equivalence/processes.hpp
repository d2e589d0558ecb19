// SPDX-License-Identifier: MIT
// What every plan must keep on processes as on threads: its bits, the bytes that it states for every rank, axis and collective, its memory.
#pragma once

#include <doctest/doctest.h>

#include <cstring>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "equivalence/equal.hpp"
#include "equivalence/sent_by_axis.hpp"
#include "heddle/backend/cpu_mpi.hpp"
#include "transport/mpi_ranks.hpp"

namespace equivalence {

using heddle::tests::FirstRanks;
using heddle::tests::sum_over_all;

/// Everything that a trainer says while and after it does everything that a trainer does.
struct Everything : Run {
  std::vector<float> norms;  // by step, of a plan that clips
};

/// `partial`: a step of 5 rows stands among those of whole batches.
template <class Optimizer, class Session, class Target, class Input>
[[nodiscard]] Everything everything_of(TrainerCalls<Optimizer, Session, Target, Input>& trainer, const Rows<Target, Input>& rows, std::int64_t batch,
                                       bool partial) {
  Everything out;
  trainer.on_step([&](const StepResult& result) { out.losses.push_back(result.loss.value()); }, Every{3});
  const std::string last = trainer.parameter_names().back();
  trainer.set_parameter(last, std::vector<float>(trainer.parameter(last).size(), 0.5F));
  for (int step = 0; step < equivalence::steps; ++step) {
    const std::int64_t count = step == 7 && partial ? 5 : batch;
    const StepResult result = trainer.step(rows.batch(3 * step % (batch + 7), count));
    out.rows.push_back(result.rows);
    if (result.norm) out.norms.push_back(*result.norm);
  }
  for (int replica = 0; replica < trainer.replicas(); ++replica) {
    out.parameters.emplace_back();
    for (const std::string& name : trainer.parameter_names()) out.parameters.back().push_back(trainer.parameter(name, replica));
    CHECK(trainer.parameter_hash(replica) == trainer.parameter_hash());
  }
  for (const std::string& name : trainer.parameter_names()) out.gradients.push_back(gradient_of(trainer, name));
  out.evaluation = trainer.evaluate(rows.batch(0, 2 * batch + 7));
  if (rows.more.empty()) CHECK(equal_bits(trainer.predict(rows.inputs), out.evaluation.outputs));
  return out;
}
template <class ThePlan, class Backend> [[nodiscard]] Everything everything() {
  constexpr std::int64_t batch = ThePlan::Request::batch.batch;
  const auto rows = rows_of<ThePlan>(2 * batch + 7);
  Trainer<ThePlan, Backend> trainer{settings<typename ThePlan::Request::Optimizer>(), Seed{5}};
  if constexpr (ThePlan::Request::clips) trainer.clip().max_norm = 0.07;  // some steps exceed it
  return everything_of(trainer, rows, batch, ThePlan::Request::batch.remedy == Remedy::keep);
}

// The functions below that are no templates are compiled once for all plans: of a template every CHECK and CAPTURE is compiled again for each of
// them.

inline void check_same_everything(const Everything& got, const Everything& wanted, int ranks, int replicas, bool clips) {
  CAPTURE(ranks);
  REQUIRE(!wanted.losses.empty());
  CHECK(equal_bits(got.losses, wanted.losses));
  CHECK(equal_bits(got.norms, wanted.norms));
  CHECK(got.norms.empty() != clips);
  CHECK(got.rows == wanted.rows);
  REQUIRE(static_cast<int>(got.parameters.size()) == replicas);
  for (std::size_t p = 0; p < wanted.gradients.size(); ++p) {
    CAPTURE(p);
    CHECK(equal_bits(got.gradients[p], wanted.gradients[p]));
    for (const auto& replica : got.parameters) CHECK(equal_bits(replica[p], wanted.parameters[0][p]));
  }
  CHECK(std::memcmp(&got.evaluation.loss, &wanted.evaluation.loss, sizeof(double)) == 0);
  CHECK(equal_bits(got.evaluation.outputs, wanted.evaluation.outputs));
}
/// On threads, trained once for all plans that are compared with it.
template <class Wanted> [[nodiscard]] const Everything& everything_on_threads() {
  static const Everything made = everything<Wanted, CpuThreads>();
  return made;
}

/// The processes that a plan needs have the bits of `Wanted` on threads: of one device, or of the plan itself.
template <class ThePlan, class Wanted = ThePlan> void check_bits() {
  static_assert(std::is_same_v<ThePlan, Wanted> || (devices<Wanted> == 1 && is_reproducible<ThePlan> && is_reproducible<Wanted>));
  const FirstRanks ranks{devices<ThePlan>};
  if (!ranks.taking_part()) return;
  const Everything& wanted = everything_on_threads<Wanted>();
  check_same_everything(everything<ThePlan, CpuMpi>(), wanted, devices<ThePlan>, ThePlan::training.batch.ranks, ThePlan::Request::clips);
}

/// What this rank sends in a step that reports no loss and in one that does; the messages of the second.
[[nodiscard]] inline std::int64_t check_sent_in_steps(const Program& p, Mpi& transport, const std::function<void(bool reported)>& step) {
  CAPTURE(p.mesh.ranks());
  std::int64_t messages = 0;
  for (const bool reported : {false, true}) {
    transport.clear_traffic();
    step(reported);
    check_sent(p, transport, transport.rank(), reported);
    messages = 0;
    for (const Movement kind : every_movement) messages += transport.sent(transport.rank(), kind).messages;
  }
  return messages;
}
inline void check_messages(const Traffic& stated, std::int64_t messages) {
  std::int64_t all = stated.activations().messages + stated.ties().messages + stated.values().messages + stated.phases().messages +
                     stated.norm().messages + stated.loss().messages;
  for (const Axis a : batch_axes) all += stated.gradients().on(a).messages + stated.parameters().on(a).messages;
  CHECK(sum_over_all(messages) == all);
}

/// Messages of this rank in a step; bytes by rank, axis and collective, and the arena of every rank are what the plan states.
template <class Optimizer, class Target, class Input>
[[nodiscard]] std::int64_t check_steps(TrainerCalls<Optimizer, CpuMpi::Session, Target, Input>& trainer, const Rows<Target, Input>& rows,
                                       const Program& p, Bytes peak) {
  const std::int64_t batch = p.batch.batch;
  trainer.on_step([](const StepResult&) {}, Every{2});
  const std::int64_t messages = check_sent_in_steps(p, trainer.session().transport(), [&](bool reported) {
    trainer.step(rows.batch(0, reported || p.batch.remedy != Remedy::keep ? batch : 5));  // ranks without rows send as much as the others
  });
  (void)trainer.evaluate(rows.batch(0, batch));
  check_arenas(trainer, p, peak);
  return messages;
}

/// Bytes by rank, axis and collective, messages in all, and the arena of every rank.
template <class ThePlan> void check_promises() {
  check_statement(lower<ThePlan>());
  const FirstRanks ranks{devices<ThePlan>};
  std::int64_t messages = 0;
  if (ranks.taking_part()) {
    const auto rows = rows_of<ThePlan>(ThePlan::Request::batch.batch);
    Trainer<ThePlan, CpuMpi> trainer{settings<typename ThePlan::Request::Optimizer>(), Seed{5}};
    messages = check_steps(trainer, rows, ThePlan::training, peak_memory<ThePlan>());
  }
  check_messages(traffic<ThePlan>(), messages);
}

/// Bits of one device, and every promise.
template <class Alone, class... Plans> void hold_as_one_device() { ((check_bits<Plans, Alone>(), check_promises<Plans>()), ...); }
/// Bits of the same plan on threads, and every promise: for plans whose sums have another order than those of one device.
template <class... Plans> void hold_as_threads() { ((check_bits<Plans>(), check_promises<Plans>()), ...); }

}  // namespace equivalence
