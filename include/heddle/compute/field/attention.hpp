// SPDX-License-Identifier: MIT
// Room: compute. SelfAttention in the field: its products as they are, with any functions in the place of the softmax.
// Sees: graph/layers/attention, seams/concepts, compute/field.  Does not see: policies, programs.
// In: ForwardCall, BackwardCall.  Out: FieldKernel<SelfAttention>.
#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

#include "heddle/compute/field/field.hpp"
#include "heddle/core/random.hpp"
#include "heddle/graph/layers/attention.hpp"

namespace heddle::compute_room {

/// With e and r any functions: s_ij = q_i k_j, Z_i = sum over j of e(s_ij), p_ij = e(s_ij) r(Z_i) and o_i = sum over j of p_ij v_j. The softmax is
/// one case of it, with exp and 1 / Z_i. The forward leaves Z_i. The backward reads it, and the output, as that of the softmax does: dv_j = sum over
/// i of p_ij do_i, and with g_ij = p_ij (do_i v_j - do_i o_i) scale: dq_i = sum over j of g_ij k_j, dk_j = sum over i of g_ij q_i. Under Causal sums
/// go over j <= i. Heads that share keys and values add their gradients. With Dropout p_ij is 0 or multiplied in o_i and dv_j, and do_i v_j in g_ij,
/// by a mask that is drawn weight by weight. SelfAttention<Heads<2>> of 3 positions has 18 s_ij.
///
/// Law     heads stand alone, so a rank may have some of them
/// Tested  compute/field/attention_test
template <class L> class FieldAttention {
 public:
  static constexpr bool of_heddle = true;
  static constexpr bool backward_in_parts = true;

  static void forward(const ForwardCall& call) {
    const FieldAttention layer(*call.leaf);
    layer.each_head(call.rows, [&](const Head& h) {
      for (std::int64_t i = 0; i < layer.positions_; ++i) {
        const std::vector<std::uint64_t> powers = layer.powers(call.input, h, i);
        std::uint64_t sum = 0;
        for (const std::uint64_t power : powers) sum = Field::plus(sum, power);
        const std::uint64_t scale = scale_of(sum);
        for (std::int64_t c = 0; c < layer.features_; ++c) {
          FieldSum out;
          for (std::int64_t j = 0; j < size(powers); ++j)
            out.add(Field::times(powers[index(j)], layer.kept(*call.leaf, call.context, h, i, j)), layer.at(call.input, h.value, j, c));
          call.output[h.output + i * layer.out_ + c] = Field::write(Field::times(Field::read(out.element()), scale));
        }
        if (call.statistics != nullptr) call.statistics[h.statistic + i * layer.heads_] = Field::write(sum);
      }
    });
  }
  static void backward(const BackwardCall& call) {
    if (call.input_gradient == nullptr) return;
    const FieldAttention layer(*call.leaf);
    FieldCompute::zero(call.input_gradient, call.rows * call.leaf->in.elements());
    layer.each_head(call.rows, [&](const Head& h) {
      for (std::int64_t i = 0; i < layer.positions_; ++i) layer.pull_back(call, h, i);
    });
  }

 private:
  /// Where a head of a sequence begins in input, output and statistics: head 1 of the first one, of 2 features, has its queries from element 2 on.
  struct Head {
    std::int64_t query, key, value, output, statistic;
  };
  explicit FieldAttention(const Leaf& leaf)
      : positions_(leaf.in.shape.sizes[leaf.in.shape.dimensions - 2]), width_(leaf.in.shape.last()), out_(leaf.out.shape.last()),
        heads_(leaf.statistics.last()), features_(out_ / heads_), key_values_((width_ - out_) / (2 * features_)),
        sequences_(leaf.in.elements() / (positions_ * width_)),
        scale_(Field::image(static_cast<float>(1 / std::sqrt(static_cast<double>(features_))))) {}
  [[nodiscard]] static std::size_t index(std::int64_t i) { return static_cast<std::size_t>(i); }
  [[nodiscard]] static std::int64_t size(const std::vector<std::uint64_t>& all) { return static_cast<std::int64_t>(all.size()); }
  [[nodiscard]] static std::uint64_t scale_of(std::uint64_t sum) { return Field::hash(symbol_of<L>("inverse"), {sum}); }

  template <class Body> void each_head(std::int64_t rows, const Body& body) const {
    for (std::int64_t s = 0; s < rows * sequences_; ++s)
      for (std::int64_t h = 0; h < heads_; ++h) {
        const std::int64_t key = s * positions_ * width_ + out_ + h * key_values_ / heads_ * features_;
        body(Head{s * positions_ * width_ + h * features_, key, key + key_values_ * features_, s * positions_ * out_ + h * features_,
                  s * positions_ * heads_ + h});
      }
  }
  /// Feature c of position j of what begins at `from` in the input.
  [[nodiscard]] std::uint64_t at(const float* input, std::int64_t from, std::int64_t j, std::int64_t c) const {
    return Field::read(input[from + j * width_ + c]);
  }
  /// By what weight j of query i is multiplied.
  [[nodiscard]] std::uint64_t kept(const Leaf& leaf, const CallContext& context, const Head& h, std::int64_t i, std::int64_t j) const {
    if (L::Said::drop().threshold == 0 || !context.trains || Field::in_degrees()) return 1;
    const std::uint64_t query = context.number_of(h.output + i * out_, leaf.out.elements()) / static_cast<std::uint64_t>(features_);
    const std::uint64_t number = query * static_cast<std::uint64_t>(positions_) + static_cast<std::uint64_t>(j);
    return mask_bits(context.seed, context.stream(), number) < L::Said::drop().threshold ? 0 : Field::image(L::Said::drop().scale);
  }
  /// e(s_ij) of every j that i sees.
  [[nodiscard]] std::vector<std::uint64_t> powers(const float* input, const Head& h, std::int64_t i) const {
    std::vector<std::uint64_t> all;
    for (std::int64_t j = 0; j < (L::causal ? i + 1 : positions_); ++j) {
      FieldSum score;
      for (std::int64_t c = 0; c < features_; ++c) score.add(at(input, h.query, i, c), at(input, h.key, j, c));
      all.push_back(Field::hash(symbol_of<L>("exp"), {Field::read(score.element())}));
    }
    return all;
  }
  void add(const BackwardCall& call, std::int64_t from, std::int64_t j, std::int64_t c, std::uint64_t a, std::uint64_t b) const {
    float& sum = call.input_gradient[from + j * width_ + c];
    sum = Field::write(Field::plus(Field::read(sum), Field::times(a, b)));
  }
  void pull_back(const BackwardCall& call, const Head& h, std::int64_t i) const {
    const float* const gradient = call.output_gradient + h.output + i * out_;
    const float* const output = call.output + h.output + i * out_;
    FieldSum along;
    for (std::int64_t c = 0; c < features_; ++c) along.add(Field::read(gradient[c]), Field::read(output[c]));
    const std::uint64_t less = Field::times(Field::read(along.element()), Field::image(-1));
    const std::vector<std::uint64_t> all = powers(call.input, h, i);
    const std::uint64_t scale = scale_of(Field::read(call.statistics[h.statistic + i * heads_]));
    for (std::int64_t j = 0; j < size(all); ++j) {
      const std::uint64_t share = Field::times(all[index(j)], scale), stays = kept(*call.leaf, call.context, h, i, j);
      FieldSum along_value{less};
      for (std::int64_t c = 0; c < features_; ++c) along_value.add(Field::times(Field::read(gradient[c]), stays), at(call.input, h.value, j, c));
      const std::uint64_t slope = Field::times(Field::times(share, Field::read(along_value.element())), scale_);
      for (std::int64_t c = 0; c < features_; ++c) {
        add(call, h.value, j, c, Field::times(share, stays), Field::read(gradient[c]));
        add(call, h.query, i, c, slope, at(call.input, h.key, j, c));
        add(call, h.key, j, c, slope, at(call.input, h.query, i, c));
      }
    }
  }

  std::int64_t positions_, width_, out_, heads_, features_, key_values_, sequences_;
  std::uint64_t scale_;
};

}  // namespace heddle::compute_room

namespace heddle {

template <class... Options>
struct FieldKernel<graph_room::SelfAttention<Options...>> : compute_room::FieldAttention<graph_room::SelfAttention<Options...>> {};

}  // namespace heddle
