// SPDX-License-Identifier: MIT
// Room: tests. The contract of every Compute as laws: each layer, loss and optimizer with any extents and rows, held against loops in double.
// Sees: seams/concepts, run/leaf_under_test, graph.  Does not see: which backend is tested.
// In: a layer, loss or optimizer, and a Compute.  Out: the first law that is broken, as a sentence; empty if all are kept.
#pragma once

#include <cstring>
#include <limits>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "conformance/attention_reference.hpp"
#include "conformance/batch_norm_reference.hpp"
#include "conformance/join_reference.hpp"
#include "conformance/reference.hpp"
#include "conformance/several_losses_reference.hpp"
#include "heddle/run/kernel_table.hpp"

namespace conformance {

inline constexpr float nan = std::numeric_limits<float>::quiet_NaN();

inline bool equal_bits(const Floats& a, const Floats& b) {
  return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0);
}
/// As numbers: -0 is 0.
inline bool equal_numbers(const Floats& a, const Floats& b) {
  for (std::size_t i = 0; i < a.size(); ++i)
    if (!(a[i] == b[i] || (std::isnan(a[i]) && std::isnan(b[i])))) return false;
  return a.size() == b.size();
}
inline void fill(Floats& values, float with) { std::fill(values.begin(), values.end(), with); }
inline Floats drawn(std::int64_t count, std::uint64_t seed) {
  Floats values(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = uniform(Seed{seed}, 5, i, -1.0F, 1.0F);
  return values;
}
/// The first element that is off, with what it should be; empty if there is none.
inline std::string off(const std::string& what, const Floats& got, const Numbers& wanted) {
  std::ostringstream said;
  if (got.size() != wanted.size()) said << what << " has " << got.size() << " elements and should have " << wanted.size();
  for (std::size_t i = 0; i < got.size() && said.str().empty(); ++i)
    if (!wanted[i].agrees(got[i]))
      said << "element " << i << " of " << what << " is " << got[i] << " and should be " << wanted[i].value << " within " << wanted[i].bound;
  return said.str();
}

/// What the laws ask of a layer, its loops and its kernels: the laws themselves are compiled once for all of them.
struct LayerOnTrial {
  Leaf (*leaf)(Sizes&);
  Results (*run)(const Tensors&, Precision);
  void (*forward)(const ForwardCall&);
  void (*backward)(const BackwardCall&);
  std::int64_t (*workspace_bytes)(const Leaf&);
  bool in_parts;
};
template <class L, class C>
inline constexpr LayerOnTrial layer_on_trial{[](Sizes& sizes) { return Slow<L>::leaf(sizes); },
                                             [](const Tensors& t, Precision p) { return Slow<L>::run(t, p); },
                                             [](const ForwardCall& call) { KernelFor<L, C>::forward(call); },
                                             [](const BackwardCall& call) { KernelFor<L, C>::backward(call); },
                                             [](const Leaf& leaf) { return (C::workspace + run_room::scratch_of<L, C>(leaf)).value; },
                                             HasBackwardInParts<L, C>};

/// One layer with extents, rows, a context and numbers of its own, all drawn from a seed.
class LayerTrial {
 public:
  LayerTrial(const LayerOnTrial& layer, std::uint64_t seed)
      : layer_(layer), sizes_(seed), leaf_(layer.leaf(sizes_)), rows_(sizes_.rows()),
        test_(leaf_, rows_, Seed{seed}, {layer.forward, layer.backward, layer.workspace_bytes(leaf_)}) {
    test_.context = {Seed{seed}, static_cast<std::int64_t>(seed % 5) + 1, 3};
    test_.context.trains = seed % 4 != 0;
    test_.context.first_row = sizes_.below(9);
    if (leaf_.elementwise) special_numbers();
    for (std::size_t p = 0; p < test_.parameters.size(); ++p)
      if (leaf_.parameters[p].tracks == 2)  // a variance
        for (float& value : test_.parameters[p]) value = std::abs(value);
  }
  [[nodiscard]] std::string place() const {
    Text<64> words;
    words << leaf_.in.shape;
    std::ostringstream said;
    said << leaf_.spelled.view() << " of " << words.view() << " in " << rows_ << " rows: ";
    return said.str();
  }

  [[nodiscard]] AnyLeafUnderTest& test() { return test_; }
  [[nodiscard]] std::int64_t rows() const { return rows_; }

  /// Laws that need no reference: what is written, what is read, and that the same call gives the same bits.
  std::string manners() {
    fill(test_.output, nan);
    fill(test_.statistics, nan);
    test_.forward(0, rows_);
    const Floats output = test_.output, statistics = test_.statistics;
    fill(test_.output, 3);
    fill(test_.statistics, 3);
    test_.forward(0, rows_);
    if (!equal_bits(output, test_.output) || !equal_bits(statistics, test_.statistics)) return "what was in the output before changes the forward";
    const auto whole = backward(Part::whole, false, nan);
    if (whole != backward(Part::whole, false, 3)) return "what was in the gradients before changes a backward that overwrites";
    if (rows_ == 0)
      for (const Floats& gradient : whole.parameters)
        if (!equal_numbers(gradient, Floats(gradient.size()))) return "without rows a gradient that is overwritten is not 0";
    const auto added = backward(Part::whole, true, 0);
    for (std::size_t p = 0; p < added.parameters.size(); ++p)
      if (!equal_numbers(added.parameters[p], whole.parameters[p]))
        return "a gradient that is added to zeros is another one than if it is overwritten";
    if (std::string broken = parts(whole); !broken.empty()) return broken;
    test_.absent = true;
    if (whole != backward(Part::whole, false, nan)) return "null for what is not saved changes the backward";
    if (whole.parameters != backward(Part::all_but_input, false, nan).parameters)
      return "null for the gradient of the input changes those of the parameters";
    fill(test_.output, nan);
    test_.forward(0, rows_);
    if (!equal_bits(output, test_.output)) return "null for the statistics changes the output";
    test_.absent = false;
    if (test_.beside != nullptr) return test_.beside;
    return leaf_.elementwise ? in_place(whole.input) : std::string{};
  }

  /// Against the loops; in one of three trials with a NaN among the inputs, which must spoil what it is part of and nothing else.
  std::string numbers(Precision p, bool spoilt) {
    if (spoilt && test_.has_input_gradient() && !test_.input.empty())
      test_.input[static_cast<std::size_t>(sizes_.below(std::ssize(test_.input)))] = nan;
    fill(test_.output, nan);
    fill(test_.statistics, nan);
    test_.forward(0, rows_);
    const std::vector<Floats> nothing;
    const Results wanted = layer_.run(given(nothing), p);
    std::string broken = off("the output", test_.output, wanted.output);
    if (broken.empty()) broken = off("the statistics", test_.statistics, wanted.statistics);
    if (!broken.empty()) return broken;
    const Gradients made = backward(Part::whole, false, nan);
    broken = compare(made, wanted);
    if (!broken.empty()) return broken;
    std::vector<Floats> before;
    for (std::size_t k = 0; k < test_.gradients.size(); ++k) before.push_back(drawn(std::ssize(test_.gradients[k]), 40 + k));
    test_.gradients = before;
    test_.backward(0, rows_, true);
    broken = compare({made.input, test_.gradients, made.second}, layer_.run(given(before), p));
    return broken.empty() ? broken : broken + ", where gradients are added";
  }

 private:
  using Test = AnyLeafUnderTest;
  using Part = Test::Part;
  struct Gradients {
    Floats input;
    std::vector<Floats> parameters;
    Floats second{};
    bool operator==(const Gradients& other) const {
      bool same = equal_bits(input, other.input) && equal_bits(second, other.second) && parameters.size() == other.parameters.size();
      for (std::size_t k = 0; same && k < parameters.size(); ++k) same = equal_bits(parameters[k], other.parameters[k]);
      return same;
    }
  };

  [[nodiscard]] Tensors given(const std::vector<Floats>& before) const {
    return {leaf_, rows_, test_.input, test_.output_gradient, test_.parameters, before, test_.context, test_.second};
  }
  Gradients backward(Part part, bool add, float before) {
    fill(test_.input_gradient, before);
    fill(test_.second_gradient, before);
    for (Floats& gradient : test_.gradients) fill(gradient, before);
    test_.backward(0, rows_, add, part);
    return {test_.has_input_gradient() ? test_.input_gradient : Floats{}, test_.gradients, test_.second_gradient};  // ids have no gradient
  }
  std::string compare(const Gradients& made, const Results& wanted) const {
    if (std::string broken = off("the gradient of the input", made.input, wanted.input_gradient); !broken.empty()) return broken;
    if (std::string broken = off("the gradient of the second input", made.second, wanted.second_gradient); !broken.empty()) return broken;
    for (std::size_t k = 0; k < made.parameters.size(); ++k)
      if (std::string broken = off("the gradient of '" + std::string{leaf_.parameters[k].name.view()} + "'", made.parameters[k], wanted.gradients[k]);
          !broken.empty())
        return broken;
    return {};
  }
  std::string parts(const Gradients& whole) {
    if (layer_.in_parts) {
      const Gradients of_input = backward(Part::input, false, 3);
      const Gradients of_parameters = backward(Part::parameters, false, 3);
      if (!equal_bits(of_input.input, whole.input)) return "the gradient of the input alone has other bits than with the others";
      for (std::size_t k = 0; k < whole.parameters.size(); ++k)
        if (!equal_bits(of_parameters.parameters[k], whole.parameters[k]))
          return "the gradients of parameters alone have other bits than with the other";
      for (const Floats& left : of_input.parameters)
        if (!equal_bits(left, Floats(left.size(), 3))) return "a gradient that is not asked for is written";
      if (!equal_bits(of_parameters.input, Floats(whole.input.size(), 3))) return "the gradient of the input is written where nobody asks for it";
    }
    return {};
  }
  std::string in_place(const Floats& input_gradient) {
    Floats values = test_.input;
    layer_.forward({&leaf_, rows_, values.data(), values.data(), nullptr, nullptr, 0, nullptr, nullptr, test_.context});
    if (!equal_bits(values, test_.output)) return "the forward in place has other bits";
    values = test_.output_gradient;
    const bool in = leaf_.saves == Saves::input || leaf_.saves == Saves::both, out = leaf_.saves == Saves::output || leaf_.saves == Saves::both;
    layer_.backward({&leaf_, rows_, in ? test_.input.data() : nullptr, out ? test_.output.data() : nullptr, values.data(), values.data(), nullptr,
                     nullptr, false, nullptr, 0, nullptr, nullptr, test_.context});
    return equal_bits(values, input_gradient) ? std::string{} : "the backward in place has other bits";
  }
  /// Both zeros, and numbers at which exponentials over- and underflow.
  void special_numbers() {
    constexpr float special[] = {0.0F, -0.0F, 20.0F, -20.0F, 100.0F, -100.0F, 1e-30F};
    for (std::size_t i = 0; i < test_.input.size() && i < std::size(special); ++i) test_.input[(13 * i + 5) % test_.input.size()] = special[i];
  }

  LayerOnTrial layer_;
  Sizes sizes_;
  Leaf leaf_;
  std::int64_t rows_;
  Test test_;
};

/// So many trials of a layer. Backends whose arithmetic is not that of floats are asked for manners alone.
enum class Asked : bool { manners, all };
[[nodiscard]] inline std::string broken_law(const LayerOnTrial& layer, int trials, Asked asked, Precision p) {
  for (int i = 1; i <= trials; ++i) {
    LayerTrial trial{layer, static_cast<std::uint64_t>(i)};
    if (const std::string broken = trial.manners(); !broken.empty()) return trial.place() + broken;
    if (asked == Asked::manners) continue;
    if (const std::string broken = trial.numbers(p, i % 3 == 0); !broken.empty()) return trial.place() + broken;
  }
  return {};
}

template <class L, class C> [[nodiscard]] std::string broken_law_of_layer(int trials, Asked asked = Asked::all, Precision p = {}) {
  return broken_law(layer_on_trial<L, C>, trials, asked, p);
}

/// One grain of a loss, drawn from a seed.
template <class Loss, class C> class LossTrial {
 public:
  explicit LossTrial(std::uint64_t seed)
      : sizes_(seed), parts_(outputs_of_losses<Loss> != 0 ? 1 : 1 + static_cast<int>(sizes_.below(4))),
        positions_(sizes_.below(2) == 0 ? 1 : 1 + sizes_.below(4)),
        own_(outputs_of_losses<Loss> != 0 ? outputs_of_losses<Loss> : std::max<std::int64_t>(sizes_.features(40), parts_ == 1 ? 2 : 1)),
        rows_(sizes_.rows()), total_(rows_ + sizes_.below(3) * (rows_ + 1) + 1), output_(drawn(rows_ * positions_ * own_ * parts_, seed)),
        wanted_case_{
            rows_,         positions_ * own_ * parts_, positions_, total_, graph_room::counts_target<Loss>(-100) ? 0 : sizes_.below(3), output_,
            class_weights_},
        targets_(SlowLoss<Loss>::targets(wanted_case_)) {
    if (weighs_classes<Loss>() && seed % 2 == 0)
      for (std::int64_t j = 0; j < own_ * parts_; ++j) class_weights_.push_back(static_cast<float>(j % 5) / 2);
    if (seed % 4 == 0 && !output_.empty()) output_[output_.size() / 2] = 20;  // one far above the others
  }
  [[nodiscard]] std::string place() const {
    std::ostringstream said;
    said << Loss::name() << " of " << own_ * parts_ << " features at " << positions_ << " positions of " << rows_ << " rows: ";
    return said.str();
  }

  std::string manners() {
    Floats gradient(output_.size(), nan);
    const float sum = run(output_.data(), gradient.data());
    if (std::memcmp(&sum, &(sum_ = run(output_.data(), nullptr)), sizeof sum) != 0) return "the loss of an evaluation has other bits";
    Floats again(output_.size(), 3);
    run(output_.data(), again.data());
    if (!equal_bits(gradient, again)) return "what was in the gradient before changes it";
    Floats in_place = output_;
    sum_ = run(in_place.data(), in_place.data());
    if (std::memcmp(&sum, &sum_, sizeof sum) != 0 || !equal_bits(in_place, gradient)) return "a gradient in the place of the output has other bits";
    return {};
  }
  std::string numbers(Precision p, bool spoilt) {
    if (spoilt && !output_.empty()) output_[static_cast<std::size_t>(sizes_.below(std::ssize(output_)))] = nan;
    const LossResults wanted = SlowLoss<Loss>::run(wanted_case_, targets_, p);
    Floats gradient(output_.size(), nan);
    const float sum = run(output_.data(), gradient.data());
    std::string broken = off("the sum", Floats{sum}, {wanted.sum});
    if (broken.empty()) broken = off("the gradient", gradient, wanted.gradient);
    if constexpr (SplitLossDescription<Loss>)
      if (broken.empty() && parts_ > 1) broken = in_parts(wanted);
    return broken;
  }
  /// A class number outside the classes makes the loss NaN, and the gradient of its row alone.
  std::string outside() {
    if constexpr (std::is_same_v<typename Loss::Target, std::int32_t>) {
      if (rows_ == 0) return {};
      for (const std::int32_t target : {-1, static_cast<std::int32_t>(own_ * parts_), std::numeric_limits<std::int32_t>::max()}) {
        const auto kept = std::exchange(targets_.back(), target);
        Floats gradient(output_.size());
        const float sum = run(output_.data(), gradient.data());
        targets_.back() = kept;
        if (!std::isnan(sum) || !std::isnan(gradient.back())) return "a class number outside the classes does not make the loss NaN";
        if (rows_ > 1 && std::isnan(gradient.front())) return "a class number outside the classes spoils another row";
      }
    }
    return {};
  }

  template <class Keep> void keep_outputs_as(Keep keep) {
    for (float& value : output_) value = keep(value);
  }
  /// Sums and terms, and gradients, of the whole or of parts. `keep` is asked for what a tensor keeps of a gradient between two calls.
  template <class Keep> std::pair<Floats, Floats> all_numbers(bool in_parts, Keep keep) {
    std::pair<Floats, Floats> all;
    const auto kept = [&](Floats values) {
      for (float& value : values) value = keep(value);
      return values;
    };
    if (!in_parts) {
      Floats gradient(output_.size(), nan);
      all.first.push_back(run(output_.data(), gradient.data()));
      all.second = kept(gradient);
    } else if constexpr (SplitLossDescription<Loss>) {
      CutLoss cut = cut_in_parts();
      for (int part = 0; part < parts_; ++part) {
        tell(cut, part);
        cut.gradients[static_cast<std::size_t>(part)] = kept(cut.gradients[static_cast<std::size_t>(part)]);
      }
      all.first = cut.together;
      for (int part = 0; part < parts_; ++part) {
        Floats& gradient = cut.gradients[static_cast<std::size_t>(part)];
        all.first.push_back(LossKernelFor<Loss, C>::sum(call_of(cut, part, cut.together.data())));
        gradient = kept(gradient);
        all.second.insert(all.second.end(), gradient.begin(), gradient.end());
      }
    }
    return all;
  }

 private:
  [[nodiscard]] const float* weights() const { return class_weights_.empty() ? nullptr : class_weights_.data(); }
  float run(const float* output, float* gradient) const {
    LossCall call{
        rows_,     positions_ * own_ * parts_,   total_, output, targets_.data(), gradient, positions_, 0, 1, nullptr, 0, wanted_case_.left_out,
        weights(), wanted_case_.sum_of_weights()};
    CountedTargets each[graph_room::TargetRanges::most]{};
    if constexpr (outputs_of_losses<Loss> != 0) {
      const Spec there{positions_ > 1 ? Shape{positions_, own_} : Shape{own_}};
      const graph_room::TargetRanges ranges = Loss::target_ranges(there);
      for (int k = 0; k < ranges.count; ++k) each[k] = {ranges.all[k].counts == nullptr ? 0 : call.left_out, call.sum_of_weights};
      call.target_features = Loss::target_features(there);
      call.each = each;
    }
    return LossKernelFor<Loss, C>::sum(call);
  }
  /// Parts of the features: what each has of the output, its gradient, and the terms of all, gathered rank by rank in each row.
  struct CutLoss {
    std::int64_t terms;
    Floats together;
    std::vector<Floats> outputs, gradients;
  };
  CutLoss cut_in_parts() const {
    const std::int64_t terms = Loss::terms(Spec{positions_ == 1 ? Shape{own_} : Shape{positions_, own_}});
    CutLoss cut{terms, Floats(static_cast<std::size_t>(rows_ * terms * parts_), nan), {}, {}};
    for (int part = 0; part < parts_; ++part) {
      Floats& own = cut.outputs.emplace_back();
      for (std::int64_t i = 0; i < rows_ * positions_ * own_; ++i) own.push_back(output_[place_in_whole(part, i)]);
      cut.gradients.emplace_back(own.size(), nan);
    }
    return cut;
  }
  [[nodiscard]] std::size_t place_in_whole(int part, std::int64_t i) const {
    return static_cast<std::size_t>(i / own_ * own_ * parts_ + part * own_ + i % own_);
  }
  LossCall call_of(CutLoss& cut, int part, float* of_row, bool evaluates = false) const {
    const auto p = static_cast<std::size_t>(part);
    float* const gradient = evaluates ? nullptr : cut.gradients[p].data();
    return {rows_, positions_ * own_,     total_,    cut.outputs[p].data(),        targets_.data(), gradient, positions_, part, parts_, of_row,
            0,     wanted_case_.left_out, weights(), wanted_case_.sum_of_weights()};
  }
  /// The terms of a part, and what they leave in its gradient.
  void tell(CutLoss& cut, int part) const {
    Floats told(static_cast<std::size_t>(rows_ * cut.terms), nan);
    LossKernelFor<Loss, C>::terms(call_of(cut, part, told.data()));
    for (std::int64_t i = 0; i < rows_ * cut.terms; ++i)
      cut.together[static_cast<std::size_t>((i / cut.terms * parts_ + part) * cut.terms + i % cut.terms)] = told[static_cast<std::size_t>(i)];
  }
  /// Every rank makes the same sum, and its part of the gradient.
  std::string in_parts(const LossResults& wanted) const {
    CutLoss cut = cut_in_parts();
    for (int part = 0; part < parts_; ++part) tell(cut, part);
    float first = 0;
    for (int part = 0; part < parts_; ++part) {
      const float sum = LossKernelFor<Loss, C>::sum(call_of(cut, part, cut.together.data()));
      if (part == 0) first = sum;
      const float evaluated = LossKernelFor<Loss, C>::sum(call_of(cut, part, cut.together.data(), true));
      if (std::memcmp(&sum, &first, sizeof sum) != 0) return "two parts make sums of other bits";
      if (std::memcmp(&sum, &evaluated, sizeof sum) != 0) return "the loss of parts of an evaluation has other bits";
      if (std::string broken = off("the sum of parts", Floats{sum}, {wanted.sum}); !broken.empty()) return broken;
      Numbers slopes;
      for (std::int64_t i = 0; i < rows_ * positions_ * own_; ++i) slopes.push_back(wanted.gradient[place_in_whole(part, i)]);
      if (std::string broken = off("the gradient of part " + std::to_string(part), cut.gradients[static_cast<std::size_t>(part)], slopes);
          !broken.empty())
        return broken;
    }
    return {};
  }

  Sizes sizes_;
  int parts_;
  std::int64_t positions_, own_, rows_, total_;
  Floats output_;
  Floats class_weights_;
  LossCase wanted_case_;
  typename SlowLoss<Loss>::Targets targets_;
  float sum_ = 0;
};

template <class Loss, class C> [[nodiscard]] std::string broken_law_of_loss(int trials, Precision p = {}) {
  for (int i = 1; i <= trials; ++i) {
    LossTrial<Loss, C> trial{static_cast<std::uint64_t>(i)};
    for (const std::string& broken : {trial.manners(), trial.outside(), trial.numbers(p, i % 5 == 0)})
      if (!broken.empty()) return trial.place() + broken;
  }
  return {};
}

/// One element by the description's own function, with as many states as it has.
template <class O> void update_one(const typename O::Constants& c, float& p, float g, float* s) {
  if constexpr (O::states == 0) O::update(c, p, g);
  if constexpr (O::states == 1) O::update(c, p, g, s[0]);
  if constexpr (O::states == 2) O::update(c, p, g, s[0], s[1]);
}

/// Five steps over arrays of 0 to 160 elements are the description's update of every element; a shard steps as the whole, to the bit; zeros stay
/// zeros.
template <class O, class C> [[nodiscard]] std::string broken_law_of_optimizer(Precision precision = {}) {
  typename O::Options options;
  options.learning_rate = 0.01;
  if constexpr (requires { options.weight_decay; }) options.weight_decay = 0.1;
  const auto step = [](const typename O::Constants& c, std::int64_t n, float* p, const float* g, float* first, float* second) {
    float* const states[] = {first, second};
    OptimizerKernelFor<O, C>::step(c, n, p, g, states);
  };
  for (const std::int64_t n : {0, 16, 48, 160}) {
    const auto count = static_cast<std::size_t>(n);
    Floats p = drawn(n, 1), expected = p, first(count), second(count), states(2 * count);
    Floats shard(p.begin() + n / 2, p.end()), shard_first(shard.size()), shard_second(shard.size());
    const bool halves = n % 32 == 0;
    for (int t = 1; t <= 5; ++t) {
      const Floats g = drawn(n, static_cast<std::uint64_t>(t + 1));
      const auto c = O::constants(options, t);
      step(c, n, p.data(), g.data(), first.data(), second.data());
      for (std::size_t i = 0; i < count; ++i) update_one<O>(c, expected[i], g[i], states.data() + 2 * i);
      if (halves) step(c, n / 2, shard.data(), g.data() + n / 2, shard_first.data(), shard_second.data());
    }
    // A compiler may fuse the two loops differently: about ten roundings of steps of at most 0.5, and one of the parameter, five times.
    for (std::size_t i = 0; i < count; ++i)
      if (!(std::abs(static_cast<double>(p[i]) - static_cast<double>(expected[i])) <= 5 * (10 * 0.5 + 2) * precision.u))
        return std::string{O::name()} + " of " + std::to_string(n) + " elements: element " + std::to_string(i) + " is not that of its update";
    if (halves && !equal_bits(shard, Floats(p.begin() + n / 2, p.end()))) return std::string{O::name()} + ": a shard steps with other bits";
    if (halves && O::states > 0 && !equal_bits(shard_first, Floats(first.begin() + n / 2, first.end())))
      return std::string{O::name()} + ": a state of a shard has other bits";
  }
  Floats zeros(16), gradient(16), first(16), second(16);
  for (int t = 1; t <= 3; ++t) step(O::constants(options, t), 16, zeros.data(), gradient.data(), first.data(), second.data());
  if (!equal_numbers(zeros, gradient) || !equal_numbers(first, gradient) || !equal_numbers(second, gradient))
    return std::string{O::name()} + ": padding of zeros does not stay zero";
  return {};
}

/// Sums, copies and zeros of arrays of any length, also where the target is an operand, write the elements and nothing else.
template <class C> [[nodiscard]] std::string broken_law_of_arrays() {
  constexpr std::int64_t room = 140;
  for (const std::int64_t n : {0, 1, 2, 15, 16, 17, 31, 32, 33, 100}) {
    const Floats a = drawn(room, 1), b = drawn(room, 2), before = drawn(room, 3);
    Floats sum = before, into_a = a, into_b = b, copy = before, zero = before;
    C::add(sum.data(), a.data(), b.data(), n);
    C::add(into_a.data(), into_a.data(), b.data(), n);
    C::add(into_b.data(), a.data(), into_b.data(), n);
    C::copy(copy.data(), a.data(), n);
    C::zero(zero.data(), n);
    for (std::size_t i = 0; i < static_cast<std::size_t>(room); ++i) {
      const bool within = i < static_cast<std::size_t>(n);
      if (sum[i] != (within ? a[i] + b[i] : before[i])) return "a sum of " + std::to_string(n) + " elements";
      if (into_a[i] != (within ? sum[i] : a[i]) || into_b[i] != (within ? sum[i] : b[i]))
        return "a sum in place of " + std::to_string(n) + " elements";
      if (copy[i] != (within ? a[i] : before[i])) return "a copy of " + std::to_string(n) + " elements";
      if (zero[i] != (within ? 0 : before[i])) return "zeros of " + std::to_string(n) + " elements";
    }
  }
  return {};
}

}  // namespace conformance
