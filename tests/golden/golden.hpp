// SPDX-License-Identifier: MIT
// What every golden test does: PyTorch's starting point into a trainer, then its numbers against the trainer's.
// HEDDLE_GOLDEN_DIR is the folder of this file; the build defines it.
#pragma once

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "equivalence/plan_as_data.hpp"
#include "heddle/backend/cpu_threads.hpp"
#include "heddle/io/safetensors.hpp"

namespace golden {

using namespace heddle;

// Both sides round: PyTorch's float32 numbers differ from its own float64 run by at most 1e-6 (make_golden.py refuses more), and ours, with the
// same formulas in another order of summation, by as much again. Adam's first steps divide a gradient by its own size, so an element whose gradient
// is near zero carries the relative error of that gradient into a step of the learning rate: that is what the rest of 1e-5 is for.
inline constexpr double tolerance = 1e-5;

inline TensorFile golden_file(const std::string& name) {
  return TensorFile::read(std::filesystem::path{HEDDLE_GOLDEN_DIR} / (name + ".safetensors"));
}

[[nodiscard]] inline double largest_difference(std::span<const float> a, std::span<const float> b) {
  REQUIRE(a.size() == b.size());
  REQUIRE(!a.empty());
  double most = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double difference = std::abs(static_cast<double>(a[i]) - static_cast<double>(b[i]));
    if (!(difference <= most)) most = difference;  // a NaN stays
  }
  return most;
}

inline void check_close(std::span<const float> ours, std::span<const float> theirs, const std::string& what) {
  CAPTURE(what);
  CHECK(largest_difference(ours, theirs) <= tolerance);
}

using equivalence::CallsOnThreads;  // the functions below know no plan: they are compiled once for all plans of an optimizer

/// `file`: a TensorFile, or what has its tensors under other names.
template <class Optimizer, class Target, class Input, class File> void start(CallsOnThreads<Optimizer, Target, Input>& trainer, const File& file) {
  for (const std::string& name : trainer.parameter_names()) trainer.set_parameter(name, file.template get<float>("initial." + name));
}

/// Parameters on every replica against those stored after some step.
template <class Optimizer, class Target, class Input, class File>
void check_parameters(CallsOnThreads<Optimizer, Target, Input>& trainer, const File& file, const std::string& after) {
  for (const std::string& name : trainer.parameter_names())
    for (int replica = 0; replica < trainer.replicas(); ++replica)
      check_close(trainer.parameter(name, replica), file.template get<float>(after + "." + name), after + "." + name);
}
template <class Optimizer, class Target, class Input, class File>
void check_gradients(CallsOnThreads<Optimizer, Target, Input>& trainer, const File& file) {
  for (const std::string& name : trainer.parameter_names())
    for (int replica = 0; replica < trainer.replicas() && file.contains("gradient." + name); ++replica)
      check_close(trainer.gradient(name, replica), file.template get<float>("gradient." + name), "gradient." + name);
}

[[nodiscard]] inline std::vector<std::int32_t> labels_of(const TensorFile& file) {
  const auto wide = file.get<std::int64_t>("labels");
  std::vector<std::int32_t> labels;
  for (const std::int64_t label : wide) labels.push_back(static_cast<std::int32_t>(label));
  return labels;
}

/// The batch of a language model: 8 rows of 6 token ids, which a file has as floats, and the token that follows each.
struct Sentences {
  std::vector<std::int32_t> ids, next;

  explicit Sentences(const TensorFile& file) : next(labels_of(file)) {
    for (const float id : file.get<float>("input", {8, 6})) ids.push_back(static_cast<std::int32_t>(id));
  }
  [[nodiscard]] Examples<std::int32_t, std::int32_t> batch() const { return examples(ids, next, 6, 6); }
};

/// Output and loss before the first step, its gradients, then as many steps on the same batch as PyTorch made; parameters after 1 and `last`.
template <class Optimizer, class Target, class Input, class File>
void follow_with(CallsOnThreads<Optimizer, Target, Input>& trainer, const File& file, const Examples<Target, Input>& batch, int last) {
  const Evaluation before = trainer.evaluate(batch);
  check_close(before.outputs, file.template get<float>("output"), "output");
  CHECK(std::abs(before.loss - static_cast<double>(file.template get<float>("loss")[0])) <= tolerance);
  std::vector<float> losses;
  trainer.on_step([&](const StepResult& result) { losses.push_back(result.loss.value()); });
  for (int step = 1; step <= last; ++step) {
    trainer.step(batch);
    if (step > 1) continue;
    check_gradients(trainer, file);
    check_parameters(trainer, file, "after1");
  }
  check_close(losses, file.template get<float>("losses"), "losses");
  check_parameters(trainer, file, "after" + std::to_string(last));
}
/// Another start than the file's: everything is overwritten.
inline constexpr Seed other_start{77};

/// The same of a plan that is a type.
template <class Plan, class File, class Target, class Input>
void follow_type(const File& file, const typename Plan::Request::Optimizer::Options& options, const Examples<Target, Input>& batch, int last,
                 const std::function<void(Trainer<Plan, CpuThreads>&)>& prepare = {}) {
  Trainer<Plan, CpuThreads> trainer{options, other_start};
  start(trainer, file);
  if (prepare) prepare(trainer);
  follow_with(trainer, file, batch, last);
}

/// A plan of one device is a type here, and one that keeps bfloat16; the others are lowered while the test runs. mlp_test has types alone.
template <class ThePlan>
inline constexpr bool is_followed_as_type =
    std::is_same_v<typename plan_room::RequestOf<ThePlan>::ThePolicy, Single> || plan_room::RequestOf<ThePlan>::values != ElementType::float32;

template <class Optimizer, class Target, class Input> using Prepare = std::function<void(CallsOnThreads<Optimizer, Target, Input>&)>;
template <class Plan, class File, class Target, class Input>
void follow(const File& file, const typename plan_room::RequestOf<Plan>::Optimizer::Options& options, const Examples<Target, Input>& batch, int last,
            const Prepare<typename plan_room::RequestOf<Plan>::Optimizer, std::type_identity_t<Target>, std::type_identity_t<Input>>& prepare = {}) {
  if constexpr (is_followed_as_type<Plan>) {
    follow_type<Plan>(file, options, batch, last, prepare);
  } else {
    const equivalence::PlanAsData plan = equivalence::as_data<Plan>();
    CAPTURE(plan.training().mesh.ranks());
    equivalence::DataTrainer<equivalence::TypesOf<Plan>> trainer{plan, options, other_start};
    start(trainer, file);
    if (prepare) prepare(trainer);
    follow_with(trainer, file, batch, last);
  }
}

/// 20 steps of SGD with a momentum of 0.9 on the sentences of a file, under five policies. `Of<Model, Policy>` is a plan with MomentumSGD.
template <template <class, class...> class Of, class Model> void follow_sentences(const std::string& name, double learning_rate) {
  const TensorFile file = golden_file(name);
  const Sentences sentences{file};
  const auto check = [&]<class Policy>(std::type_identity<Policy>) {
    follow<Of<Model, Policy>>(file, {.learning_rate = learning_rate, .momentum = 0.9}, sentences.batch(), 20);
  };
  check(std::type_identity<Single>{});
  check(std::type_identity<DataParallel<4>>{});
  check(std::type_identity<Sharded<2>>{});
  check(std::type_identity<Pipeline<Balanced<2>, OneFOneB, Microbatches<4>>>{});
  check(std::type_identity<TensorParallel<2>>{});
}

}  // namespace golden
