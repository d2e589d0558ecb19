// SPDX-License-Identifier: MIT
// Room: tests. Kernels for any leaf by its description: integers modulo a prime in floats, and hashes where a function is not linear.
// Sees: graph, seams, run/kernel_table.  Does not see: programs, transports.
// In: a Graph.  Out: ExactKernels; it notes whether a kernel has read what nobody wrote.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <string_view>
#include <vector>

#include "heddle/graph/graph.hpp"
#include "heddle/graph/layers/linear.hpp"
#include "heddle/graph/token_ids.hpp"
#include "heddle/run/kernel_table.hpp"
#include "mutants/unwritten.hpp"

namespace heddle::tests {

/// Elements 0 .. 4092: products of two, and sums of some thousands, are exact in a float.
struct Exact {
  static constexpr std::int64_t prime = 4093;
  static constexpr std::int64_t infinite = std::int64_t{1} << 40;  // it stays infinite in sums and products with what is not 0
  static bool& read_unwritten() {
    static bool read = false;
    return read;
  }
  static std::int64_t of(float x) {
    if (x >= 0 && x < static_cast<float>(prime))
      if (const auto small = static_cast<std::int32_t>(x); static_cast<float>(small) == x) return small;
    if (std::isnan(x)) {
      read_unwritten() = true;
      return 0;
    }
    if (std::isinf(x)) return infinite;
    if (x != std::floor(x)) return of(hash({7, std::bit_cast<std::int32_t>(x)}));  // what is clipped is no integer
    const std::int64_t v = static_cast<std::int64_t>(x) % prime;
    return v < 0 ? v + prime : v;
  }
  /// What an entry of another phase, or of another pass, does not have.
  static bool lacks(std::initializer_list<const void*> all) {
    for (const void* one : all)
      if (one == nullptr) return read_unwritten() = true;
    return false;
  }
  /// What is mixed so far: a key that many elements share is mixed once for all of them.
  struct Key {
    std::uint64_t mixed = 0x9E3779B97F4A7C15ULL;
    Key with(std::int64_t k) const {
      std::uint64_t h = mixed ^ (static_cast<std::uint64_t>(k) + 0x9E3779B97F4A7C15ULL + (mixed << 6U) + (mixed >> 2U));
      h *= 0xBF58476D1CE4E5B9ULL;
      return {h ^ (h >> 31U)};
    }
    std::int64_t element() const { return static_cast<std::int64_t>(mixed % static_cast<std::uint64_t>(prime)); }
  };
  static Key key(std::initializer_list<std::int64_t> all) {
    Key made;
    for (const std::int64_t k : all) made = made.with(k);
    return made;
  }
  static float hash(std::initializer_list<std::int64_t> all) { return static_cast<float>(key(all).element()); }
  static std::int64_t product(std::int64_t a, std::int64_t b) { return a * b >= infinite / 2 ? infinite : a * b % prime; }
  /// What nobody wrote may be padding here: it stays what it is.
  static void add(float* target, const float* a, const float* b, std::int64_t n) {
    for (std::int64_t i = 0; i < n; ++i) target[i] = std::isnan(a[i]) ? a[i] : std::isnan(b[i]) ? b[i] : reduced(of(a[i]) + of(b[i]));
  }
  static float reduced(std::int64_t v) { return v >= infinite / 2 ? HUGE_VALF : static_cast<float>(v % prime); }
};

struct ExactLinear {
  std::int64_t rows, in, out;
  bool bias;
  ExactLinear(const Leaf& leaf, std::int64_t batch_rows)
      : rows(batch_rows * leaf.in.elements() / leaf.in.shape.last()), in(leaf.in.shape.last()), out(leaf.out.shape.last()),
        bias(leaf.parameter_count > 1) {}

  // A tail has an element as soon as it is made: what would be written too early is.
  static void forward(const ForwardCall& c) { forward(c, nullptr); }
  static void backward(const BackwardCall& c) { backward(c, nullptr); }
  static void forward_with_tail(const ForwardCall& c, const Tail& tail) { forward(c, &tail); }
  static void backward_with_tail(const BackwardCall& c, const Tail& tail) { backward(c, &tail); }
  static void forward(const ForwardCall& c, const Tail* tail) {
    const ExactLinear e{*c.leaf, c.rows};
    for (std::int64_t r = 0; r < e.rows; ++r)
      for (std::int64_t o = 0; o < e.out; ++o) {
        std::int64_t sum = e.bias ? Exact::of(c.parameters[1][o]) : 0;
        for (std::int64_t i = 0; i < e.in; ++i) sum += Exact::of(c.input[r * e.in + i]) * Exact::of(c.parameters[0][o * e.in + i]);
        c.output[r * e.out + o] = Exact::reduced(sum);
        if (tail != nullptr) (*tail)(r * e.out + o, r * e.out + o + 1);
      }
  }
  static void backward(const BackwardCall& c, const Tail* tail) {
    const ExactLinear e{*c.leaf, c.rows};
    const auto dy = [&](std::int64_t r, std::int64_t o) { return Exact::of(c.output_gradient[r * e.out + o]); };
    for (std::int64_t o = 0; o < e.out && c.parameter_gradients != nullptr; ++o) {
      for (std::int64_t i = 0; i < e.in; ++i) {
        float& to = c.parameter_gradients[0][o * e.in + i];
        std::int64_t sum = c.add ? Exact::of(to) : 0;
        for (std::int64_t r = 0; r < e.rows; ++r) sum += dy(r, o) * Exact::of(c.input[r * e.in + i]);
        to = Exact::reduced(sum);
      }
      if (!e.bias) continue;
      float& to = c.parameter_gradients[1][o];
      std::int64_t sum = c.add ? Exact::of(to) : 0;
      for (std::int64_t r = 0; r < e.rows; ++r) sum += dy(r, o);
      to = Exact::reduced(sum);
    }
    for (std::int64_t r = 0; r < e.rows && c.input_gradient != nullptr; ++r)
      for (std::int64_t i = 0; i < e.in; ++i) {
        std::int64_t sum = 0;
        for (std::int64_t o = 0; o < e.out; ++o) sum += dy(r, o) * Exact::of(c.parameters[0][o * e.in + i]);
        c.input_gradient[r * e.in + i] = Exact::reduced(sum);
        if (tail != nullptr) (*tail)(r * e.in + i, r * e.in + i + 1);
      }
  }
};

/// Any function of one element; its gradient is linear in the gradient of the output.
struct ExactElementwise {
  static void forward(const ForwardCall& c) {
    for (std::int64_t i = 0; i < c.rows * c.leaf->in.elements(); ++i) c.output[i] = Exact::hash({1, Exact::of(c.input[i])});
  }
  static void backward(const BackwardCall& c) {
    const float* const saved = c.leaf->saves == Saves::output ? c.output : c.input;
    for (std::int64_t i = 0; i < c.rows * c.leaf->in.elements() && c.input_gradient != nullptr; ++i)
      c.input_gradient[i] = pulled_back(saved[i], c.output_gradient[i]);
  }
  static void forward_in_tail(const Tail& tail, std::int64_t begin, std::int64_t end) {
    if (Exact::lacks({tail.output})) return;
    for (std::int64_t i = begin; i < end; ++i) tail.output[i] = Exact::hash({1, Exact::of(tail.made[i])});
  }
  static void backward_in_tail(const Tail& tail, std::int64_t begin, std::int64_t end) {
    if (Exact::lacks({tail.output, tail.saved})) return;
    for (std::int64_t i = begin; i < end; ++i) tail.output[i] = pulled_back(tail.saved[i], tail.made[i]);
  }
  static float pulled_back(float saved, float gradient) { return Exact::reduced(Exact::of(gradient) * Exact::key({2, Exact::of(saved)}).element()); }
};

/// Any function of a whole row and of all parameters, which leaves others of it; gradients are linear in that of the output, and read all that is
/// saved or left.
struct ExactRow {
  static std::int64_t digest(std::int64_t key, const float* values, std::int64_t count) {
    for (std::int64_t i = 0; i < count; ++i) key = Exact::key({9, key, Exact::of(values[i])}).element();
    return key;
  }
  static std::int64_t digest_of_parameters(const Leaf& leaf, const float* const* parameters) {
    std::int64_t key = 0;
    for (int k = 0; k < leaf.parameter_count; ++k) key = digest(key, parameters[k], leaf.parameters[k].shape.elements());
    return key;
  }
  static void forward(const ForwardCall& c) { forward(c, nullptr); }
  /// A row of the sum is made when it is read, and no row before.
  static void forward_of_sum(const ForwardCall& c, const Addends& sum) {
    if (!Exact::lacks({c.input, c.output, sum.a, sum.b, sum.sum})) forward(c, &sum);
  }
  static void forward(const ForwardCall& c, const Addends* sum) {
    const std::int64_t in = c.leaf->in.elements(), out = c.leaf->out.elements(), left = c.leaf->statistics_elements();
    const std::int64_t weights = digest_of_parameters(*c.leaf, c.parameters);
    for (std::int64_t r = 0; r < c.rows; ++r) {
      if (sum != nullptr) Exact::add(sum->sum + r * in, sum->a + r * in, sum->b + r * in, in);
      const std::int64_t row = digest(0, c.input + r * in, in);
      for (std::int64_t o = 0; o < out; ++o) c.output[r * out + o] = Exact::hash({10, row, weights, o});
      for (std::int64_t s = 0; s < left && c.statistics != nullptr; ++s) c.statistics[r * left + s] = Exact::hash({11, row, s});
    }
  }
  static void backward(const BackwardCall& c) {
    const Leaf& leaf = *c.leaf;
    const std::int64_t in = leaf.in.elements(), out = leaf.out.elements(), left = leaf.statistics_elements();
    for (int k = 0; k < leaf.parameter_count && c.parameter_gradients != nullptr && !c.add; ++k)
      std::memset(c.parameter_gradients[k], 0, sizeof(float) * static_cast<std::size_t>(leaf.parameters[k].shape.elements()));
    const std::int64_t weights = c.input_gradient == nullptr ? 0 : digest_of_parameters(leaf, c.parameters);
    for (std::int64_t r = 0; r < c.rows; ++r) {
      std::int64_t row = digest(0, c.statistics + r * left, left);
      if (leaf.saves == Saves::input || leaf.saves == Saves::both) row = digest(row, c.input + r * in, in);
      if (leaf.saves == Saves::output || leaf.saves == Saves::both) row = digest(row, c.output + r * out, out);
      const auto pulled_back = [&](std::int64_t key, std::int64_t i) {
        const Exact::Key shared = Exact::key({12, row, key, i});
        std::int64_t sum = 0;
        for (std::int64_t o = 0; o < out; ++o) sum += Exact::product(Exact::of(c.output_gradient[r * out + o]), shared.with(o).element());
        return sum;
      };
      for (std::int64_t i = 0; i < in && c.input_gradient != nullptr; ++i) c.input_gradient[r * in + i] = Exact::reduced(pulled_back(weights, i));
      for (int k = 0; k < leaf.parameter_count && c.parameter_gradients != nullptr; ++k)
        for (std::int64_t i = 0; i < leaf.parameters[k].shape.elements(); ++i) {
          float& to = c.parameter_gradients[k][i];
          to = Exact::reduced(Exact::of(to) + pulled_back(-1 - k, i));
        }
    }
  }
};

/// A leaf in phases: sums of any functions of rows and of all that was told before; the last of each pass makes what it gives of rows and of what all
/// told, which the statistics hold.
struct ExactPhases {
  static std::int64_t told(std::int64_t key, const float* const* all, const Phases& phases, int phase) {
    for (int k = 1; k < phase; ++k) key = ExactRow::digest(key, all[k - 1], phases.sums[k - 1]);
    return key;
  }
  template <int Phase> static void tell(const ForwardCall& c) {
    if (Exact::lacks({c.tells, c.told})) return;
    const std::int64_t in = c.leaf->in.elements(), before = told(Phase, c.told, c.leaf->forward_phases, Phase);
    for (std::int64_t i = 0; i < c.leaf->forward_phases.sums[Phase - 1]; ++i) {
      std::int64_t sum = 0;
      for (std::int64_t r = 0; r < c.rows; ++r)
        sum += Exact::key({14, ExactRow::digest(before, c.input + r * in, in), i, c.context.rows_together}).element();
      c.tells[i] = Exact::reduced(sum);
    }
  }
  template <int Phase> static void give(const ForwardCall& c) {
    if (Exact::lacks({c.output, c.statistics})) return;
    const std::int64_t in = c.leaf->in.elements(), out = c.leaf->out.elements(), left = c.leaf->statistics_elements();
    const std::int64_t weights = ExactRow::digest_of_parameters(*c.leaf, c.parameters);
    const std::int64_t all = c.told == nullptr ? 0 : told(Phase, c.told, c.leaf->forward_phases, Phase);
    for (std::int64_t r = 0; r < c.rows; ++r) {
      for (std::int64_t s = 0; s < left && c.told != nullptr; ++s) c.statistics[r * left + s] = Exact::hash({15, all, s});
      const std::int64_t row = ExactRow::digest(ExactRow::digest(0, c.input + r * in, in), c.statistics + r * left, left);
      for (std::int64_t o = 0; o < out; ++o) c.output[r * out + o] = Exact::hash({10, row, weights, o});
    }
  }
  static void tell_back(const BackwardCall& c) {
    if (Exact::lacks({c.statistics, c.input, c.output_gradient})) return;
    BackwardCall parameters = c;
    parameters.input_gradient = nullptr;
    if (c.parameter_gradients != nullptr) ExactRow::backward(parameters);
    for (std::int64_t i = 0; i < c.leaf->backward_phases.sums[0] && c.tells != nullptr; ++i) {
      std::int64_t sum = 0;
      for (std::int64_t r = 0; r < c.rows; ++r) sum += of_row(c, r, 16, i);
      c.tells[i] = Exact::reduced(sum);
    }
  }
  static void pull_back(const BackwardCall& c) {
    if (Exact::lacks({c.input_gradient, c.told})) return;
    const std::int64_t in = c.leaf->in.elements();
    for (std::int64_t r = 0; r < c.rows; ++r)
      for (std::int64_t i = 0; i < in; ++i) {
        const Exact::Key row = Exact::key({18, row_of(c, r)});
        std::int64_t sum = of_row(c, r, 17, i);
        for (std::int64_t k = 0; k < c.leaf->backward_phases.sums[0]; ++k)
          sum += Exact::product(Exact::of(c.told[0][k]), row.with(k).with(i).element());
        c.input_gradient[r * in + i] = Exact::reduced(sum);
      }
  }
  static std::int64_t row_of(const BackwardCall& c, std::int64_t r) {
    const std::int64_t in = c.leaf->in.elements(), left = c.leaf->statistics_elements();
    return ExactRow::digest(ExactRow::digest(0, c.statistics + r * left, left), c.input + r * in, in);
  }
  /// Linear in the gradient of the output, and made of all that the backward reads.
  static std::int64_t of_row(const BackwardCall& c, std::int64_t r, std::int64_t which, std::int64_t i) {
    const std::int64_t out = c.leaf->out.elements();
    const Exact::Key shared = Exact::key({which, row_of(c, r), i});
    std::int64_t sum = 0;
    for (std::int64_t o = 0; o < out; ++o) sum += Exact::product(Exact::of(c.output_gradient[r * out + o]), shared.with(o).element());
    return sum;
  }
  static constexpr ForwardPhase forward_phases[] = {&tell<1>, &tell<2>, &give<3>};
  static constexpr BackwardPhase backward_phases[] = {&tell_back, &pull_back};
};

/// Rows of a table; a rank with a part of the rows gives 0 for the others. What is no token is any number.
struct ExactTable {
  static std::int64_t row(const Leaf& leaf, int part, std::int32_t id) {
    const std::int64_t rows = leaf.parameters[0].shape.sizes[0];
    Exact::read_unwritten() = Exact::read_unwritten() || std::bit_cast<std::uint32_t>(id) == unwritten_bits;
    const std::int64_t token = is_token(id, leaf.vocabulary) ? id : Exact::key({13, id}).element();
    const std::int64_t at = token - (rows < leaf.vocabulary ? part * rows : 0);
    return at < 0 || at >= rows ? -1 : at;
  }
  static void forward(const ForwardCall& c) {
    const std::int64_t n = c.leaf->parameters[0].shape.last();
    for (std::int64_t i = 0; i < c.rows * c.leaf->in.elements(); ++i)
      for (std::int64_t f = 0; f < n; ++f) {
        const std::int64_t at = row(*c.leaf, c.part, c.ids[i]);
        c.output[i * n + f] = at < 0 ? 0 : c.parameters[0][at * n + f];
      }
  }
  static void backward(const BackwardCall& c) {
    const std::int64_t n = c.leaf->parameters[0].shape.last();
    if (c.parameter_gradients == nullptr) return;
    float* const sums = c.parameter_gradients[0];
    if (!c.add) std::memset(sums, 0, sizeof(float) * static_cast<std::size_t>(c.leaf->parameters[0].shape.elements()));
    for (std::int64_t i = 0; i < c.rows * c.leaf->in.elements(); ++i)
      if (const std::int64_t at = row(*c.leaf, c.part, c.ids[i]); at >= 0)
        for (std::int64_t f = 0; f < n; ++f) sums[at * n + f] = Exact::reduced(Exact::of(sums[at * n + f]) + Exact::of(c.output_gradient[i * n + f]));
  }
};

/// Two values one behind the other along the dimension that differs, or along the first of those that are doubled.
struct ExactConcat {
  template <class Visit> static void each(const Leaf& leaf, std::int64_t rows, const Visit& visit) {
    int along = 0;
    while (leaf.out.shape.sizes[along] == leaf.in.shape.sizes[along]) ++along;
    std::int64_t inner = 1;
    for (int d = along + 1; d < leaf.out.shape.dimensions; ++d) inner *= leaf.out.shape.sizes[d];
    const std::int64_t first = leaf.in.shape.sizes[along] * inner, all = leaf.out.shape.sizes[along] * inner;
    for (std::int64_t i = 0; i < rows * leaf.out.elements(); ++i)
      if (const std::int64_t place = i % all; place < first)
        visit(i, 0, i / all * first + place);
      else
        visit(i, 1, i / all * (all - first) + place - first);
  }
  static void forward(const ForwardCall& c) {
    each(*c.leaf, c.rows, [&](std::int64_t to, int operand, std::int64_t from) {
      c.output[to] = Exact::reduced(Exact::of((operand == 0 ? c.input : c.second)[from]));
    });
  }
  static void backward(const BackwardCall& c) {
    if (c.input_gradient == nullptr) return;
    each(*c.leaf, c.rows, [&](std::int64_t from, int operand, std::int64_t to) {
      if (operand == c.operand) c.input_gradient[to] = Exact::reduced(Exact::of(c.output_gradient[from]));
    });
  }
};

/// The kernels of all leaves of a graph, of any loss with float targets or with labels, of an optimizer with this number of states.
class ExactKernels {
 public:
  ExactKernels(const Graph& graph, int states, const TargetRanges& targets) {
    const bool labels = targets.labels();
    for (int l = 0; l < graph.leaf_count; ++l) {
      const Leaf& leaf = graph.leaves[l].leaf;
      const std::string_view kind = leaf.kind.view();
      if (kind == "Linear")
        leaves_.push_back({.forward = &ExactLinear::forward,
                           .backward = &ExactLinear::backward,
                           .forward_with_tail = &ExactLinear::forward_with_tail,
                           .backward_with_tail = &ExactLinear::backward_with_tail});
      else if (kind == "Embedding")
        leaves_.push_back({&ExactTable::forward, &ExactTable::backward});
      else if (kind == "Concat")
        leaves_.push_back({&ExactConcat::forward, &ExactConcat::backward});
      else if (leaf.elementwise || leaf.reshapes || leaf.sums)
        leaves_.push_back({.forward = &ExactElementwise::forward,
                           .backward = &ExactElementwise::backward,
                           .forward_in_tail = &ExactElementwise::forward_in_tail,
                           .backward_in_tail = &ExactElementwise::backward_in_tail});
      else
        leaves_.push_back({.forward = &ExactRow::forward,
                           .backward = &ExactRow::backward,
                           .forward_phases = ExactPhases::forward_phases,
                           .backward_phases = ExactPhases::backward_phases,
                           .forward_of_sum = &ExactRow::forward_of_sum});
    }
    table_.leaves = leaves_.data();
    table_.loss = labels ? &loss_of_labels : &loss;
    table_.loss_terms = labels ? &terms : nullptr;
    table_.targets = targets;
    table_.states = states;
    table_.step = states == 0 ? &step<0> : states == 1 ? &step<1> : &step<2>;
    table_.add = &Exact::add;
    table_.copy = [](float* target, const float* source, std::int64_t n) {
      std::memmove(target, source, sizeof(float) * static_cast<std::size_t>(n));
    };
    table_.workspace_bytes = 64;
  }
  ExactKernels(const ExactKernels&) = delete;
  ExactKernels& operator=(const ExactKernels&) = delete;
  [[nodiscard]] const KernelTable& table() const { return table_; }

 private:
  static float loss(const LossCall& c) {
    const auto* const targets = static_cast<const float*>(c.targets);
    std::int64_t sum = 0;
    for (std::int64_t i = 0; i < c.rows * c.features; ++i) {
      const std::int64_t y = Exact::of(c.output[i]);
      const std::int64_t t = Exact::of(targets[i]);
      sum += Exact::key({3, y, t}).element();
      if (c.gradient != nullptr) c.gradient[i] = std::isinf(targets[i]) ? HUGE_VALF : Exact::hash({4, y, t, c.total_rows});
    }
    return Exact::reduced(sum);
  }
  /// Of a row all outputs take part in all gradients, in parts by the terms of all parts, and each position by its label.
  static float loss_of_labels(const LossCall& c) {
    const std::int64_t told = c.terms == nullptr ? 0 : c.parts * terms_of_part(c);
    std::int64_t sum = 0;
    for (std::int64_t r = 0; r < c.rows; ++r) {
      std::int64_t key = labels_of(c, r);
      for (std::int64_t k = 0; k < told; ++k) key = Exact::key({8, key, Exact::of(c.terms[r * told + k])}).element();
      for (std::int64_t f = 0; f < c.features && c.terms == nullptr; ++f)
        key = Exact::key({8, key, Exact::of(c.output[r * c.features + f])}).element();
      sum += key;
      for (std::int64_t f = 0; f < c.features && c.gradient != nullptr; ++f) {
        float& gradient = c.gradient[r * c.features + f];
        const float own = c.terms == nullptr ? c.output[r * c.features + f] : gradient;
        gradient = Exact::hash({9, key, Exact::of(own), c.total_rows, c.part * c.features + f});
      }
    }
    return Exact::reduced(sum);
  }
  /// What a part tells of a row, and what it leaves for its gradient.
  static void terms(const LossCall& c) {
    for (std::int64_t r = 0; r < c.rows; ++r) {
      std::int64_t key = labels_of(c, r);
      for (std::int64_t f = 0; f < c.features; ++f) {
        const std::int64_t y = Exact::of(c.output[r * c.features + f]);
        key = Exact::key({10, key, y}).element();
        if (c.gradient != nullptr) c.gradient[r * c.features + f] = Exact::hash({11, y});
      }
      for (std::int64_t t = 0; t < terms_of_part(c); ++t) c.terms[r * terms_of_part(c) + t] = Exact::hash({12, t, key});
    }
  }
  [[nodiscard]] static std::int64_t terms_of_part(const LossCall& c) { return 3 * c.positions; }  // of CrossEntropy
  static std::int64_t labels_of(const LossCall& c, std::int64_t row) {
    const auto* const labels = static_cast<const std::int32_t*>(c.targets) + row * c.positions;
    std::int64_t key = 0;
    for (std::int64_t i = 0; i < c.positions; ++i) {
      Exact::read_unwritten() = Exact::read_unwritten() || std::bit_cast<std::uint32_t>(labels[i]) == unwritten_bits;
      key = Exact::key({13, key, labels[i]}).element();
    }
    return key;
  }
  template <int States> static void step(const void*, std::int64_t n, float* w, const float* g, float* const* states) {
    for (std::int64_t i = 0; i < n; ++i) {
      if (w[i] == 0 && g[i] == 0) continue;        // padding
      if (std::isnan(w[i]) || std::isnan(g[i])) {  // padding, or told by the parameter that is read
        w[i] = std::isnan(w[i]) ? w[i] : g[i];
        continue;
      }
      const std::int64_t s = States > 0 ? Exact::of(states[0][i]) : 0;
      const std::int64_t t = States > 1 ? Exact::of(states[1][i]) : 0;
      const float next = Exact::hash({5, Exact::of(w[i]), Exact::of(g[i]), s, t});
      for (int k = 0; k < States; ++k) states[k][i] = Exact::hash({6, k, Exact::of(g[i]), k == 0 ? s : t});
      w[i] = next;
    }
  }

  std::vector<LeafKernels> leaves_;
  KernelTable table_;
};

}  // namespace heddle::tests
