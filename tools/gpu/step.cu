// SPDX-License-Identifier: MIT
// A step of GPT-2 124M in bfloat16 call by call: each layer, the loss, sums, roundings and the optimizer by themselves on this card, beside what
// bench/card_step predicts of them; what only a card can decide; and whole steps of 16 and 64 rows, by Heddle's kernels and, where it is, with cuDNN
// and with products that were timed before.
#include <cstdint>
#include <cstdio>
#include <functional>
#include <map>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "rooms.hpp"  // names of all rooms, as tests see them
// clang-format off: they come first
#include "card_rates.hpp"
#include "equivalence/card_step.hpp"
#include "gpt2.hpp"
#include "heddle/backend/cuda_autotuned.hpp"
#include "heddle/backend/cuda_one_card.hpp"
#include "heddle/core/type_name.hpp"
#include "timed_layer.hpp"
#if defined(HEDDLE_CHECK_CUDNN)
#include "heddle/backend/cuda_cudnn.hpp"
#endif

using namespace plans_on_cards;
using namespace heddle::compute_room;
using card_step::CardStep, card_step::Launched;
using gpu_check::draws, gpu_check::microseconds, gpu_check::TimedLayer, gpu_check::zeros;

namespace {

constexpr int rows = 16;
constexpr std::int64_t positions = 1024, words = 50'304;
using ThePlan = Plan<Gpt2, CrossEntropy, AdamW, Batch<rows>, Single, Mixed<BFloat16>>;

/// Microseconds of one call of each sort, by its name in CardStep; of the optimizer, whose calls differ, the mean of those of a step.
std::map<std::string, float> measured;
cudaStream_t the_stream() {
  static cudaStream_t const stream = gpu_check::new_stream();
  return stream;
}
template <class Work> float timed(Work work) {
  return microseconds(the_stream(), 10, [&](cudaStream_t) { work(); });
}

template <class L> void layer(const Shape& in) {
  TimedLayer<L, BFloat16> at(the_stream(), in, rows, false);
  const std::string name{at.leaf().spelled.view()};
  measured[name + " forward"] = at.forward();
  if constexpr (run_room::TakesSumOfBFloat16<L, CudaCompute>) measured[name + " forward, with a sum"] = at.forward_of_sum();
  measured[name + " backward"] = at.backward();
}
void layers() {
  const Shape wide{positions, 768}, wider{positions, 3072};
  layer<Embedding<50'304, 768>>(Shape{positions});
  layer<LearnedPositions<1024, 768>>(wide);
  layer<LayerNorm<768>>(wide);
  layer<Linear<768, 3 * 768>>(wide);
  layer<SelfAttention<Heads<12>, Causal>>(Shape{positions, 3 * 768});
  layer<Linear<768, 768>>(wide);
  layer<Linear<768, 3072>>(wide);
  layer<GELUTanh>(wider);
  layer<Linear<3072, 768>>(wider);
  layer<Linear<768, 50'304, NoBias>>(wide);
}

/// The kernel of the loss with so many threads a block, alone, where its gradient lies in the place of logits.
class LossOfGpt2 {
 public:
  LossOfGpt2() {
    CudaNumbers numbers;
    numbers.total_rows = rows;
    check_cuda(cudaMemcpyAsync(numbers_.get(), &numbers, sizeof numbers, cudaMemcpyHostToDevice, the_stream()), "cudaMemcpyAsync");
    check_cuda(cudaStreamSynchronize(the_stream()), "cudaStreamSynchronize");
  }
  float operator()(int threads) {
    using Rule = RuleOfTargets<false>;
    const std::int64_t vectors = rows * positions, blocks = vectors < most_loss_blocks ? vectors : most_loss_blocks;
    LossCallIn<CudaMemory> call{rows, positions * words, rows};
    call.positions = positions;
    const LossPlaces where(call, whole_output(call, positions), positions);
    const LossDivisor divisor{static_cast<double>(positions), 0, true, false};
    BFloat16* const logits = logits_.get();
    return timed([&] {
      launch<CrossEntropyPositions<Rule, BFloat16, BlockOfPacks>>(
          the_stream(), Extents{blocks, threads, fold_bytes}, RuleOfLoss<CrossEntropy>::rule(), where, divisor, 1.0F, where.packed(), vectors,
          static_cast<const BFloat16*>(logits), static_cast<const std::int32_t*>(targets_.get()), logits, static_cast<const float*>(nullptr),
          static_cast<const CudaNumbers*>(numbers_.get()), sums_.get());
    });
  }

 private:
  CardMemory<BFloat16> logits_ = draws<BFloat16>(the_stream(), rows* positions* words, 1);
  CardMemory<std::int32_t> targets_ = zeros<std::int32_t>(the_stream(), rows* positions);
  CardMemory<CudaNumbers> numbers_ = zeros<CudaNumbers>(the_stream(), 1);
  CardMemory<double> sums_ = zeros<double>(the_stream(), most_loss_blocks);
};
/// Beside layers: sums, roundings, the optimizer.
void others() {
  const auto parameters = static_cast<std::int64_t>(gpt2_parameters), table = words * 768, values = rows * positions * 768;
  CardMemory<float> p = draws<float>(the_stream(), parameters, 1), g = draws<float>(the_stream(), parameters, 2);
  CardMemory<float> m = draws<float>(the_stream(), parameters, 3), v = zeros<float>(the_stream(), parameters);
  CardMemory<BFloat16> halves = draws<BFloat16>(the_stream(), parameters, 4);
  CardMemory<std::byte> constants = zeros<std::byte>(the_stream(), sizeof(AdamW::Constants));
  const CudaQueue queue{the_stream(), nullptr, nullptr, false, nullptr};
  const CudaMemory space{&queue};
  measured["sum of values"] = timed([&] { CudaCompute::add(space, halves.get(), halves.get() + values, halves.get() + 2 * values, values); });
  measured["sum of tied gradients"] = timed([&] { CudaCompute::add(space, p.get(), g.get(), m.get(), table); });
  float* const states[] = {m.get(), v.get()};
  const std::vector<std::int64_t> buckets = card_step::stepped_elements(lower<ThePlan>());
  float of_all_buckets = 0;
  for (const std::int64_t elements : buckets)
    of_all_buckets += timed([&] {
      OptimizerKernel<AdamW, CudaCompute>::step(reinterpret_cast<const AdamW::Constants*>(constants.get()),
                                                {elements, p.get(), g.get(), states, space});
    });
  measured["step of AdamW"] = of_all_buckets / static_cast<float>(buckets.size());
  const float all = timed([&] { convert_all(the_stream(), parameters, static_cast<const float*>(p.get()), halves.get()); });
  std::printf("| all parameters to bfloat16 at once | %.0f us, %.0f GB/s |\n", static_cast<double>(all),
              6e-3 * static_cast<double>(parameters / all));
}
/// The squares of all gradients, unit by unit, as Clip<GlobalNorm> has them.
void norm_of_gradients() {
  const Program& clipped = lower<Plan<Gpt2, CrossEntropy, AdamW, Batch<rows>, Single, Mixed<BFloat16>, Clip<GlobalNorm>>>();
  const std::int64_t elements = clipped.arenas[0].flat_elements();
  CardMemory<float> g = zeros<float>(the_stream(), elements), norms = zeros<float>(the_stream(), clipped.unit_count);
  CardMemory<float> scratch = zeros<float>(the_stream(), square_sum_scratch);
  std::int64_t counted = 0;
  int units = 0;
  for (int u = 0; u < clipped.unit_count; ++u)
    if (clipped.units[u].counts) counted += clipped.units[u].elements, ++units;
  const float us = timed([&] {
    for (int u = 0; u < clipped.unit_count; ++u) {
      const plan_room::FlatUnit& unit = clipped.units[u];
      if (!unit.counts) continue;
      const std::vector<LineRange> all{LineRange{0, static_cast<std::int32_t>(unit.elements / LineRange::elements)}};
      square_sum(the_stream(), unit.elements, Layout::unit_parts, g.get() + unit.begin, all, scratch.get(), norms.get() + u, false);
    }
  });
  std::printf("| squares of %lld gradients in %d units | %.0f us, %.0f GB/s |\n", static_cast<long long>(counted), units, static_cast<double>(us),
              4e-3 * static_cast<double>(counted) / static_cast<double>(us));
}
/// What a card alone says; one line each.
void decisions() {
  std::printf("| question | measured |\n|---|---|\n");
  others();
  norm_of_gradients();
  LossOfGpt2 loss;
  for (const int threads : {256, 512, 768}) {
    const float us = loss(threads);
    if (threads == 256) measured["CrossEntropy"] = us;
    std::printf("| loss and gradient of %d x 1024 x 50304 logits, %d threads a block (Heddle's: 256) | %.0f us, %.0f GB/s of the least traffic |\n",
                rows, threads, static_cast<double>(us), 4e-3 * static_cast<double>(rows * positions * words) / static_cast<double>(us));
  }
  const std::int64_t vectors = rows * positions;
  CardMemory<BFloat16> from = draws<BFloat16>(the_stream(), vectors * 3072, 1);
  CardMemory<float> to = zeros<float>(the_stream(), 256 * 3072);
  for (const std::int64_t columns : {768, 2304, 3072})
    for (const std::int64_t shares : {32, 64, 128}) {
      const std::int64_t tiles = columns / 128;
      const float us = timed([&] {
        launch<SumColumns<PlainTerms, 4>>(the_stream(), Extents{tiles * shares, sum_threads, sum_threads * 4 * sizeof(float)}, vectors, columns, 32,
                                          static_cast<int>(tiles), to.get(), false, static_cast<const BFloat16*>(from.get()));
      });
      std::printf("| sums of %lld columns of %lld rows in %lld shares (Heddle's: 32) | %.0f us, %.0f GB/s |\n", static_cast<long long>(columns),
                  static_cast<long long>(vectors), static_cast<long long>(shares), static_cast<double>(us),
                  2e-3 * static_cast<double>(vectors * columns) / static_cast<double>(us));
    }
  std::fflush(stdout);
}

void beside_predicted() {
  const CardStep step{lower<ThePlan>()};
  std::printf(
      "\n| call, %d x 1024 tokens | times a step | predicted [us] | measured [us] | measured / predicted | measured, ms a step "
      "|\n|---|---|---|---|---|---|\n",
      rows);
  double all_predicted = 0, all_measured = 0;
  for (const card_step::Called& c : step.calls()) {
    double ms = 0;
    for (const Launched& l : step.all())
      if (l.call == c.call) ms += card_rates::milliseconds(l, card_rates::heddle);
    const double each = ms * 1e3 / c.times;
    all_predicted += ms;
    const auto found = measured.find(c.call);
    if (found == measured.end()) {
      all_measured += ms;
      std::printf("| %s | %d | %.1f | not by itself | | %.2f predicted |\n", c.call.c_str(), c.times, each, ms);
      continue;
    }
    const auto us = static_cast<double>(found->second);
    all_measured += us * c.times * 1e-3;
    std::printf("| %s | %d | %.1f | %.1f | %.2f | %.2f |\n", c.call.c_str(), c.times, each, us, us / each, us * c.times * 1e-3);
  }
  std::printf("| **all** | | %.0f | | %.2f | %.1f |\n", all_predicted * 1e3, all_measured / all_predicted, all_measured);
  std::fflush(stdout);
}

}  // namespace

int main() {
  try {
    layers();
    decisions();
  } catch (const std::exception& error) {
    ++wrong;
    std::printf("| %s | NO |\n", error.what());
  }
  beside_predicted();
  gpt2_head();
  gpt2_row<16, CudaOneCard, Mixed<BFloat16>>("16 rows, Mixed<BFloat16>");
  gpt2_row<64, CudaOneCard, Mixed<BFloat16>>("64 rows, Mixed<BFloat16>");
#if defined(HEDDLE_CHECK_CUDNN)
  gpt2_row<16, extending::WithCuDNN<CudaOneCard>, Mixed<BFloat16>>("16 rows, Mixed<BFloat16>, WithCuDNN");
  gpt2_row<64, extending::WithCuDNN<CudaOneCard>, Mixed<BFloat16>>("64 rows, Mixed<BFloat16>, WithCuDNN");
  gpt2_row<64, extending::Autotuned<extending::WithCuDNN<CudaOneCard>>, Mixed<BFloat16>>("64 rows, Mixed<BFloat16>, WithCuDNN, Autotuned");
#else
  std::printf("SKIPPED: cuDNN 9.19 or newer was not found, so no step has it\n");
#endif
  gpt2_row<16, extending::Autotuned<CudaOneCard>, Mixed<BFloat16>>("16 rows, Mixed<BFloat16>, Autotuned");
  if (!chosen().empty()) std::printf("\nWhat was found before the first step:\n\n");
  for (const std::string& said : chosen()) std::printf("- %s\n", said.c_str());
  std::printf("\nstep: %d rows wrong\n", wrong);
  return wrong == 0 ? 0 : 1;
}
