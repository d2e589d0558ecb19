// SPDX-License-Identifier: MIT
// What a step of GPT-2 124M in bfloat16 launches on one card, what that should take by the rates that a card has shown (docs/gpu-results.md), what
// could be left out, and what `simulate` says of the same Program. All times are predicted: nothing is run, and no card is asked.
// usage: card_step; prints markdown
#include "equivalence/card_step.hpp"

#include <algorithm>
#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

#include "gpu/card_rates.hpp"
#include "gpu/gpt2_model.hpp"
#include "heddle/cost/presets.hpp"
#include "heddle/cost/simulate.hpp"

using namespace heddle;
using card_step::CardStep, card_step::Launched, card_step::Work;

namespace {

template <int Rows, class... Parts> using Gpt2Step = Plan<plans_on_cards::Gpt2, CrossEntropy, AdamW, Batch<Rows>, Single, Mixed<BFloat16>, Parts...>;

[[nodiscard]] double milliseconds(const std::vector<Launched>& all, const card_rates::Attention& attention) {
  double sum = 0;
  for (const Launched& l : all) sum += card_rates::milliseconds(l, attention);
  return sum;
}
[[nodiscard]] double bytes_of(const std::vector<Launched>& all, std::string_view purpose) {
  double sum = 0;
  for (const Launched& l : all)
    if (l.purpose == purpose) sum += l.bytes;
  return sum;
}

void print_launches(const CardStep& step, double tokens) {
  std::printf("| launched | for | launches | GB | TFLOP | predicted [ms] |\n|---|---|---|---|---|---|\n");
  std::vector<Launched> all;
  for (const Launched& l : step.all()) {
    const auto known = std::find_if(all.begin(), all.end(), [&](const Launched& k) { return k.kernel == l.kernel && k.purpose == l.purpose; });
    Launched& to = known != all.end() ? *known : all.emplace_back(Launched{l.kernel, l.purpose, "", l.work});
    to.launches += l.launches, to.bytes += l.bytes, to.flops += l.flops;
  }
  std::stable_sort(all.begin(), all.end(), [](const Launched& x, const Launched& y) { return x.work < y.work; });
  for (const Launched& l : all)
    std::printf("| %s | %s | %d | %.2f | %.2f | %.2f |\n", l.kernel.c_str(), l.purpose.c_str(), l.launches, l.bytes / 1e9, l.flops / 1e12,
                card_rates::milliseconds(l, card_rates::heddle));
  const auto total = [&](const char* how, const card_rates::Attention& attention) {
    const double ms = milliseconds(all, attention);
    std::printf("| **all** | attention by %s | %d | | | **%.1f**, %.0f tokens/s |\n", how, step.kernels() + step.products(), ms, tokens / ms * 1e3);
  };
  total("Heddle's kernels", card_rates::heddle);
  total("cuDNN", card_rates::cudnn);
}

/// What compiled programs of others do without, by bytes at the rate of memory.
void print_gaps(const CardStep& step) {
  const std::vector<Launched>& all = step.all();
  const double memory = card_rates::bytes_a_second / 1e3;
  struct Gap {
    const char* what;
    double ms;
  };
  double own = 0, cudnn = 0, up = 0;
  for (const Launched& l : all) {
    if (l.work == Work::attention_forward || l.work == Work::attention_backward) {
      own += card_rates::milliseconds(l, card_rates::heddle);
      cudnn += card_rates::milliseconds(l, card_rates::cudnn);
    }
    if (l.kernel == "MapElements") up += l.bytes / 4;  // values of 2 bytes, read and written
  }
  const double of_residuals = bytes_of(all, "norms, with the sums of residuals") / 4;
  std::vector<Gap> gaps = {
      {"attention by kernels of Heddle, not by cuDNN (`WithCuDNN` has it)", own - cudnn},
      {"GELU and its gradient as kernels of their own, not in epilogues", up * card_rates::gelu_beside_epilogues},
      {"logits read once more for their gradient", bytes_of(all, "loss and its gradient") / 3 / memory},
      {"gradients of biases: one more reading of the gradients of outputs", bytes_of(all, "sums of the gradients of biases") / memory},
      {"gradients of norms: two readings for parameters beside those for the input", bytes_of(all, "sums of the gradients of norms") / memory},
      {"gradients of residuals: what a norm gives is written, read again and added", 2 * of_residuals / memory},
      {"parameters rounded by a kernel, not where AdamW makes them",
       (bytes_of(all, "parameters to bfloat16") - 2.0 * static_cast<double>(plans_on_cards::gpt2_parameters)) / memory},
      {"the table and the head have gradients apart: zeros, and a sum", bytes_of(all, "gradients of tied parameters") * 4 / 3 / memory}};
  std::stable_sort(gaps.begin(), gaps.end(), [](const Gap& x, const Gap& y) { return x.ms > y.ms; });
  std::printf("\n| beside the least | predicted [ms] |\n|---|---|\n");
  for (const Gap& gap : gaps) std::printf("| %s | %.2f |\n", gap.what, gap.ms);
}

/// The clock knows layers, not kernels: each reads and writes its values once, and products reach one share of the peak.
void print_simulated(const plan_room::Program& p, double tokens) {
  std::printf("\n| `simulate` of the same Program | step [ms] | tokens/s |\n|---|---|---|\n");
  const auto row = [&](const char* what, const extending::Machine& machine) {
    const double ms = extending::simulate(p, machine).step.value * 1e3;
    std::printf("| %s | %.1f | %.0f |\n", what, ms, tokens / ms * 1e3);
  };
  extending::Machine peak = extending::h200_nodes(), half = peak, measured = peak;
  half.efficiency.points[0] = {0, 0.5};
  measured.efficiency.points[0] = {0, card_rates::product_share};
  measured.attention.points[0] = {0, card_rates::cudnn.together / card_rates::peak};
  measured.per_memory_byte = 1 / card_rates::bytes_a_second;
  measured.per_call = card_rates::seconds_a_launch;
  row("`h200_nodes()`, products at the peak", peak);
  row("the same, products at half of it", half);
  row("rates of docs/gpu-results.md, attention as by cuDNN", measured);
}

/// What Clip<GlobalNorm> adds to a step of any number of rows.
void print_clipping() {
  const CardStep step{plan_room::lower<Gpt2Step<16, Clip<GlobalNorm>>>()};
  std::printf("\n## `Clip<GlobalNorm>` adds\n\n| launched | for | launches | GB | predicted [ms] |\n|---|---|---|---|---|\n");
  double ms = 0;
  for (const Launched& l : step.all())
    if (l.call == "norm of gradients" || l.call == "clipping of gradients") {
      ms += card_rates::milliseconds(l, card_rates::heddle);
      std::printf("| %s | %s | %d | %.2f | %.3f |\n", l.kernel.c_str(), l.purpose.c_str(), l.launches, l.bytes / 1e9,
                  card_rates::milliseconds(l, card_rates::heddle));
    }
  std::printf("| **all** | | | | **%.2f** |\n", ms);
}

template <int Rows> void print_step() {
  using ThePlan = Gpt2Step<Rows>;
  const CardStep step{plan_room::lower<ThePlan>()};
  constexpr double tokens = Rows * 1024.0;
  std::printf("\n## A step of %d x 1024 tokens\n\n", Rows);
  print_launches(step, tokens);
  print_gaps(step);
  print_simulated(plan_room::lower<ThePlan>(), tokens);
}

}  // namespace

int main() {
  print_step<64>();
  print_step<16>();
  print_clipping();
}
