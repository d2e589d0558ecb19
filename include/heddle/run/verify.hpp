// SPDX-License-Identifier: MIT
// Room: run. The differential oracle: one step of a plan on its backend against Single on the reference kernels, tensor by tensor.
// Sees: plan, policy, run/trainer.  Does not see: any backend by name.
// In: a Plan, a backend, a batch.  Out: the first tensor that differs, by name.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "heddle/core/finite.hpp"
#include "heddle/core/written.hpp"
#include "heddle/plan/one_device.hpp"
#include "heddle/plan/plan.hpp"
#include "heddle/run/arena.hpp"
#include "heddle/run/slices.hpp"
#include "heddle/run/trainer.hpp"

namespace heddle::run_room {

/// What verify found; text is empty if every tensor agrees.
/// For Linear, ReLU and Linear 3 outputs, their 3 gradients, 4 gradients of parameters and 4 parameters make tensors 14.
struct Verification {
  std::string text;
  std::int64_t tensors = 0;   ///< that were compared
  bool first_process = true;  ///< where ranks are processes all find the same; this one says it
  [[nodiscard]] bool ok() const { return text.empty(); }
  explicit operator bool() const { return ok(); }
};

/// Copies what passes by in one step into the rows of the batch: outputs of leaves and gradients of these outputs, by node.
template <class TrainerType> class Recorder : public Observer {
 public:
  Recorder(TrainerType& trainer, std::int64_t rows) : trainer_(trainer) {
    for (int n = 0; n < model().node_count; ++n) {
      outputs.emplace_back(static_cast<std::size_t>(rows * model().spec(n + 1).elements()));
      gradients.emplace_back(outputs.back().size());
    }
  }
  void started(const Observation& seen) override {
    if (const Entry* const entry = entry_of(seen);
        entry != nullptr && (entry->what == BodyOp::leaf_backward || entry->what == BodyOp::leaf_backward_weight))
      copy(seen, entry->c, entry->node, seen.program->graph->signature(entry->node).output_gradient, gradients);
  }
  void finished(const Observation& seen) override {
    const Entry* const entry = entry_of(seen);
    if (entry == nullptr || entry->node < 0 || entry->node == model().node_count) return;  // of the loss
    const Laid output = seen.program->graph->signature(entry->node).output;
    const bool summed = output.partial() && is_forward(seen) && (entry->what == BodyOp::reduce_value || entry->what == BodyOp::scatter_value);
    if (entry->what == BodyOp::add || summed || (entry->what == BodyOp::leaf_forward && entry->d.set() && !output.partial()))
      copy(seen, entry->d, entry->node, summed ? seen.program->graph->laid_between(entry->node + 1) : output, outputs);
  }
  /// Where ranks live in other processes: what each of them saw, in every process. What a rank has not seen is 0, and nothing is seen differently by
  /// two.
  void share() {
    bool all_here = true;
    for (int r = 0; r < ranks; ++r) all_here = all_here && trainer_.local(Rank{r});
    if (all_here) return;
    for (auto* const tensors : {&outputs, &gradients})
      for (std::vector<float>& values : *tensors) {
        const std::vector<float> mine = std::exchange(values, std::vector<float>(values.size()));
        for (int r = 0; r < ranks; ++r) {
          std::vector<float> theirs = trainer_.local(Rank{r}) ? mine : std::vector<float>(mine.size());
          trainer_.session().share(Rank{r}, std::as_writable_bytes(std::span{theirs}));
          for (std::size_t i = 0; i < values.size(); ++i)
            values[i] = std::bit_cast<float>(std::bit_cast<std::uint32_t>(values[i]) | std::bit_cast<std::uint32_t>(theirs[i]));
        }
      }
  }
  std::vector<std::vector<float>> outputs, gradients;

 private:
  static constexpr int ranks = TrainerType::training_program().mesh.ranks();
  [[nodiscard]] static const Entry* entry_of(const Observation& seen) { return seen.entry < 0 ? nullptr : &seen.program->entries[seen.entry]; }
  [[nodiscard]] static bool is_forward(const Observation& seen) { return seen.program->instructions[seen.instruction].op == ListOp::forward; }
  /// Each rank of axis tensor writes its part of the rows; of what is whole, the first.
  void copy(const Observation& seen, const Place& place, int node, Laid how, std::vector<std::vector<float>>& to) {
    auto& device = trainer_.executor(seen.rank).device();
    const int part = seen.program->mesh.coordinate(seen.rank, Axis::tensor);
    if (!how.sharded() && part > 0) return;
    const Shape& whole = model().spec(node + 1).shape;
    const std::int64_t features = whole.elements() / (how.sharded() ? seen.program->graph->split.ranks : 1);
    for (int g = 0; g < seen.program->batch.grains(); ++g) {
      const std::vector<float> grain = device.grain(place, features, g);
      for (std::int64_t row = 0; row * features < std::ssize(grain); ++row) {
        const float* const from = grain.data() + row * features;
        float* const there = to[static_cast<std::size_t>(node)].data() + (device.first_row(g) + row) * whole.elements();
        each_run(whole, how, seen.program->mesh.size(Axis::tensor), part,
                 [&](std::int64_t a, std::int64_t b, std::int64_t count) { std::copy(from + a, from + a + count, there + b); });
      }
    }
  }
  static constexpr const Graph& model() { return TrainerType::Request::graph; }
  TrainerType& trainer_;
};

/// One device in every process, with the reference kernels.
template <class Backend> struct ReferenceBackend : Backend {
  using Compute = typename Backend::Reference;
  using Session = typename Backend::SessionOfOne;
};

/// Empty if equal within `tolerance` of the largest element; else where and how they differ.
[[nodiscard]] inline std::string difference(const std::vector<float>& planned, const std::vector<float>& reference, std::int64_t features,
                                            double tolerance) {
  double scale = 0;
  for (const float v : reference) scale = std::max(scale, std::fabs(static_cast<double>(v)));
  for (std::size_t i = 0; i < reference.size(); ++i) {
    const double off = std::fabs(static_cast<double>(planned[i]) - static_cast<double>(reference[i]));
    if (is_finite(off) && off <= tolerance * scale) continue;
    const auto at = static_cast<std::int64_t>(i);
    return written({" differs at row ", at / features, ", column ", at % features, ": ", short_number(static_cast<double>(planned[i])),
                    " under the plan, ", short_number(static_cast<double>(reference[i])), " on one device with the reference kernels"});
  }
  return {};
}

/// One step of the reference optimizer from zeroed states.
template <class Optimizer, class Reference>
[[nodiscard]] std::vector<float> stepped_once(const std::vector<float>& parameters, const std::vector<float>& gradient) {
  const std::size_t n = (parameters.size() + 15) / 16 * 16;  // kernels take whole lines
  Floats p(n);
  Floats g(n);
  std::copy(parameters.begin(), parameters.end(), p.begin());
  std::copy(gradient.begin(), gradient.end(), g.begin());
  std::vector<Floats> states(static_cast<std::size_t>(Optimizer::states), Floats(n));
  std::vector<float*> pointers;
  for (Floats& state : states) pointers.push_back(state.data());
  OptimizerKernel<Optimizer, Reference>::step(Optimizer::constants(typename Optimizer::Options{}, 1), static_cast<std::int64_t>(n), p.data(),
                                              g.data(), pointers.data());
  return {p.begin(), p.begin() + std::ssize(parameters)};
}

/// What is wrong with what verify is asked of: no backend, what is no plan or is refused or has no one device like it, rows of another type.
template <class Asked, class Backend, class Target, class Input> struct AskedToVerify {
  static constexpr Diagnosis find() {
    if constexpr (!RunsPlans<Backend>)
      return NamedBackend<Asked, Backend, OfVerify>::found;
    else if constexpr (!TrainerVerdict<Asked>::found.ok())
      return TrainerVerdict<Asked>::found;
    else if constexpr (!check_one_device(Asked::Request::graph, Asked::Request::batch).ok())
      return check_one_device(Asked::Request::graph, Asked::Request::batch);
    else
      return WrongRows<typename Asked::Request, Target, Input>::found;
  }
  static constexpr Diagnosis found = find();
};

/// Runs one step of both and compares outputs, gradients of outputs, gradients of parameters, parameters after the step: the first that differs is
/// named. Where ranks are processes each of them makes the call and runs one device beside its rank. The tolerance is a share of the largest element
/// of a tensor: sums of up to some hundred rows in another order stay within 1e-5.
///
template <class ThePlan, class Backend, class Target, class Input>
[[nodiscard]] Verification verify_sound(const Examples<Target, Input>& batch, Seed seed, double tolerance) {
  using Request = typename ThePlan::Request;
  constexpr int capacity = ThePlan::training.batch.capacity();
  using Alone = typename plan_room::OneDeviceOf<Request>::Unscaled;
  using Options = typename Request::Optimizer::Options;
  Trainer<ThePlan, Backend> planned{Options{}, seed};
  Trainer<Alone, ReferenceBackend<Backend>> reference{Options{}, seed};
  Recorder<Trainer<ThePlan, Backend>> a{planned, capacity};
  Recorder<Trainer<Alone, ReferenceBackend<Backend>>> b{reference, capacity};
  std::vector<std::vector<float>> before;
  for (const std::string& name : planned.parameter_names()) before.push_back(planned.parameter(name));
  planned.observe(&a);
  reference.observe(&b);
  StepResult taken = planned.step(batch);
  while (taken.skipped) taken = planned.step(batch);  // the scale of the loss backs off until gradients fit
  for (std::vector<float>& gradient : a.gradients)
    for (float& v : gradient) v /= taken.scale.value_or(1);
  const std::int64_t rows = taken.rows;
  if (rows == 0) throw Error(Code{'B', 5}, "verify was given a batch that the plan drops. Fix: give a full batch.");
  reference.step(rows < batch.rows ? batch.slice(0, rows) : batch);
  a.share();

  Verification found{{}, 0, planned.first_process()};
  const Graph& graph = Request::graph;
  const auto compare = [&](const std::string& what, const std::vector<float>& x, const std::vector<float>& y, std::int64_t features,
                           const std::string& where) {
    if (!found.ok()) return;
    ++found.tensors;
    if (const std::string off = difference(x, y, features, tolerance); !off.empty())
      found.text = sentence_of(Code{'R', 6}, what + off + ". Fix: look at " + where + '.');
  };
  for (int n = 0; n < graph.node_count; ++n) {
    const auto i = static_cast<std::size_t>(n);
    if (graph.leaf(n).reshapes) continue;  // no arithmetic, no tensor of its own
    compare("the output of " + std::string{graph.describe(n).view()}, a.outputs[i], b.outputs[i], graph.spec(n + 1).elements(), "its forward");
  }
  for (int n = graph.node_count - 1; n >= 0; --n) {
    const auto i = static_cast<std::size_t>(n);
    if (graph.adds(n) || graph.leaf(n).reshapes) continue;  // passes its gradient on as it is
    compare("the gradient of the output of " + std::string{graph.describe(n).view()}, a.gradients[i], b.gradients[i], graph.spec(n + 1).elements(),
            "the backward of the layers that take it");
    for (int k = graph.nodes[n].trained_count() - 1; k >= 0; --k) {
      const std::string name{graph.parameter_name(n, k).view()};
      const std::int64_t columns = graph.leaf(n).parameters[k].shape.last();
      compare("the gradient of parameter '" + name + "'", planned.gradient(name), reference.gradient(name), columns, "the backward of its layer");
    }
  }
  std::size_t p = 0;
  for (int n = 0; n < graph.node_count; ++n)
    for (int k = 0; k < graph.nodes[n].parameter_count && graph.nodes[n].tied_to < 0; ++k, ++p) {
      const std::string name{graph.parameter_name(n, k).view()};
      if (graph.frozen(n))
        compare("frozen parameter '" + name + "' after the step", planned.parameter(name), before[p], 1, "what is stepped");
      else if (graph.leaf(n).parameters[k].tracked())
        compare("tracked parameter '" + name + "' after the step", planned.parameter(name), reference.parameter(name), 1,
                "the backward of its layer");
      else  // from the plan's own gradients: Adam makes much of their last bits
        compare("parameter '" + name + "' after the step", planned.parameter(name),
                stepped_once<typename Request::Optimizer, typename Backend::Reference>(before[p], planned.gradient(name)), 1, "the optimizer");
    }
  return found;
}

/// The tolerance that verify has where none is given; a backend that rounds says its own.
template <class Backend> [[nodiscard]] constexpr double verified_within() {
  if constexpr (requires { Backend::verified_within; })
    return Backend::verified_within;
  else
    return 1e-4;
}

/// verify<MyPlan, CpuThreads>(batch) holds one step of a plan against one device with the reference kernels, as verify_sound says.
///
/// Errors  what the trainers throw; R06 a tensor that differs, as the text of the result; B12, L06, L09, L11, D12, D33 at build
/// Tested  run/verify_test, equivalence/verify_mpi_test
template <class ThePlan, class Backend = void, class Target, class Input>
[[nodiscard]] Verification verify(const Examples<Target, Input>& batch, Seed seed = Seed{1}, double tolerance = verified_within<Backend>()) {
  using Asked = AskedToVerify<ThePlan, Backend, Target, Input>;
  heard(static_cast<fired<Asked>*>(nullptr));
  if constexpr (Asked::found.ok())
    return verify_sound<ThePlan, Backend>(batch, seed, tolerance);
  else
    return {};
}

}  // namespace heddle::run_room

namespace heddle {
using run_room::difference, run_room::verify;
}  // namespace heddle
