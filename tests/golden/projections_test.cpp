// SPDX-License-Identifier: MIT
// Queries, keys and values of three projections, gate and value of two: PyTorch's numbers of the packed ones, whose rows are those of the others.
#include "golden/golden.hpp"

using namespace golden;

namespace {

/// Rows of a packed weight or bias that stand under a name of their own.
struct Rows {
  std::string name, packed;
  std::int64_t first, count, columns;
};

/// A file of packed projections as a model finds them that has them apart.
class Apart {
 public:
  Apart(const TensorFile& file, std::vector<Rows> rows) : file_(file), rows_(std::move(rows)) {}
  [[nodiscard]] bool contains(const std::string& name) const { return file_.contains(packed(name).second); }
  template <class T> [[nodiscard]] std::vector<T> get(const std::string& name) const {
    const auto [rows, of] = packed(name);
    const auto all = file_.get<T>(of);
    if (rows == nullptr) return {all.begin(), all.end()};
    const std::int64_t columns = of.ends_with(".weight") ? rows->columns : 1;
    REQUIRE(std::ssize(all) >= (rows->first + rows->count) * columns);
    return {all.begin() + rows->first * columns, all.begin() + (rows->first + rows->count) * columns};
  }

 private:
  [[nodiscard]] std::pair<const Rows*, std::string> packed(const std::string& name) const {
    for (const Rows& rows : rows_)
      if (const auto at = name.find(rows.name + "."); at != std::string::npos)
        return {&rows, std::string{name}.replace(at, rows.name.size(), rows.packed)};
    return {nullptr, name};
  }
  const TensorFile& file_;
  std::vector<Rows> rows_;
};

template <int Q, int K, int V>
using Projections = Unnumbered<Branches<Concat, Named<"q", Linear<16, Q>>, Named<"k", Linear<16, K>>, Named<"v", Linear<16, V>>>>;
template <int KeyValues, class... Options>
struct Block : Residual<Named<"norm", LayerNorm<16>>, Projections<16, 4 * KeyValues, 4 * KeyValues>,
                        SelfAttention<Heads<4>, KeyValueHeads<KeyValues>, Options...>, Named<"linear2", Linear<16, 16>>> {};
struct Seeing : Residual<Named<"norm", LayerNorm<16>>, Projections<16, 16, 16>, SelfAttention<Heads<2>>, Named<"linear2", Linear<16, 16>>> {};
struct Attention : Sequential<Input<6, 20>, Named<"linear1", Linear<20, 16>>, Named<"block1", Block<4, Causal>>, Named<"block2", Block<2, Causal>>,
                              Named<"block3", Seeing>, Named<"linear2", Linear<16, 10>>> {};
template <class... Parts> using Of = Plan<Attention, MeanSquaredError, MomentumSGD, Batch<8>, Parts...>;

constexpr MomentumSGD::Options options{.learning_rate = 0.02, .momentum = 0.9, .weight_decay = 1e-2, .nesterov = true};
std::vector<Rows> rows_of_heads() {
  std::vector<Rows> all;
  for (const auto& [block, others] : {std::pair{"block1.", 16}, std::pair{"block2.", 8}, std::pair{"block3.", 16}}) {
    const std::string of = block;
    all.push_back({of + "q", of + "linear1", 0, 16, 16});
    all.push_back({of + "k", of + "linear1", 16, others, 16});
    all.push_back({of + "v", of + "linear1", 16 + others, others, 16});
  }
  return all;
}
template <class ThePlan> void check_heads() {
  const TensorFile file = golden_file("attention_20_16_10_momentum");
  follow<ThePlan>(Apart{file, rows_of_heads()}, options, examples(file.get<float>("input", {8, 6, 20}), file.get<float>("targets", {8, 6, 10}), 120),
                  20);
}

struct Feed : Residual<Named<"norm", RMSNorm<16, Epsilon<3>>>,
                       Unnumbered<Branches<Concat, Named<"gate_proj", Linear<16, 24, NoBias>>, Named<"up_proj", Linear<16, 24, NoBias>>>>, SwiGLU,
                       Named<"linear2", Linear<24, 16>>> {};
struct Gated : Sequential<Input<20>, Named<"linear1", Linear<20, 16>>, Named<"block", Feed>, Named<"linear2", Linear<16, 10>>> {};
template <class... Parts> using OfGates = Plan<Gated, MeanSquaredError, AdamW, Batch<8>, Parts...>;
template <class ThePlan> void check_gates(bool turned = false) {
  const TensorFile file = golden_file("swiglu_20_16_10_adamw");
  Apart apart{file, {{"block.gate_proj", "block.linear1", turned ? 24 : 0, 24, 16}, {"block.up_proj", "block.linear1", turned ? 0 : 24, 24, 16}}};
  if (!turned) return follow<ThePlan>(apart, {.learning_rate = 1e-2}, examples(file.get<float>("input"), file.get<float>("targets"), 20), 20);
  Trainer<ThePlan, CpuThreads> trainer{{.learning_rate = 1e-2}, Seed{1}};
  start(trainer, apart);
  for (int step = 0; step < 20; ++step) trainer.step(examples(file.get<float>("input"), file.get<float>("targets"), 20));
  CHECK(largest_difference(trainer.parameter("linear1.weight"), file.get<float>("after20.linear1.weight")) > 10 * tolerance);
}

}  // namespace

TEST_CASE("20 steps with three projections are PyTorch's with one, causal, grouped and full, on one device and split") {
  check_heads<Of<Single>>();
  check_heads<Of<Sharded<4>>>();
  check_heads<Of<Pipeline<Balanced<2>, ZeroBubbleH1, Microbatches<4>>>>();
  check_heads<Of<TensorParallel<2>>>();
  check_heads<Of<TensorParallel<4>>>();  // block2 has 2 heads of keys and values: it is whole on each rank
  check_heads<Of<Hybrid<TensorParallel<2, SequenceParallel>, Sharded<2>>>>();
}

TEST_CASE("20 steps with a gate and a value apart are PyTorch's with one product, on one device and split") {
  check_gates<OfGates<Single>>();
  check_gates<OfGates<DataParallel<2>>>();
  check_gates<OfGates<TensorParallel<2>>>();
  check_gates<OfGates<TensorParallel<4>>>();
}

TEST_CASE("the comparison can fail: a gate in the place of the value is another training") { check_gates<OfGates<TensorParallel<2>>>(true); }
