// SPDX-License-Identifier: MIT
// Layouts that guides of Megatron name for whole clusters: which are plans here, which are refused and why, and two rows that cannot be meant as they
// are printed; and how many micro-batches tables of measured steps print. Sources: sources.md#megatron-2021, sources.md#megatron-guide,
// sources.md#megatron-bridge.
#include <doctest/doctest.h>

#include <string>

#include "heddle/cost/machine_check.hpp"
#include "heddle/heddle.hpp"
#include "heddle/plan/lowered.hpp"

using namespace heddle;

namespace {

template <std::int64_t Width> struct Feeding : Residual<Linear<Width, 4 * Width>, GELU, Linear<4 * Width, Width>> {};
/// As wide and deep as a published model, its blocks of two products.
template <std::int64_t Width, int Layers, int Length>
struct Stack : Sequential<Input<Length>, Embedding<51200, Width>, Repeat<Layers, Feeding<Width>>, Linear<Width, 51200, NoBias>> {};

template <class Model, int Tensor, int Stages, int Replicas, int Rounds>
using Layout3D = Plan<Model, CrossEntropy, Adam, Batch<Replicas * Rounds>,
                      Hybrid<TensorParallel<Tensor>, Pipeline<Balanced<Stages>, OneFOneB, Microbatches<Rounds>>, DataParallel<Replicas>>>;

template <class ThePlan> LoweredPlan lowered() { return lower(request_of<plan_room::RequestOf<ThePlan>>()); }
/// The sentence that refuses a plan on so many devices; empty if it is a plan and has a place.
template <class ThePlan> std::string refused(int devices) {
  const LoweredPlan plan = lowered<ThePlan>();
  if (const Diagnosis fault = check(plan); !fault.ok()) return std::string{fault.sentence().view()};
  return std::string{check(Machine{.devices = devices}, plan.training()).sentence().view()};
}

/// A row of a table: on 64 devices 4 stages and as many replicas as are left, 512 sequences in micro-batches of 4, 2 gradient accumulations printed.
struct Printed {
  const char* model;
  int devices, batch, micro_batch, tensor, stages, contexts, experts, accumulations;

  [[nodiscard]] int replicas() const { return devices / (tensor * stages * contexts); }  // ranks of experts lie among them
  [[nodiscard]] bool divides() const { return batch == accumulations * micro_batch * replicas(); }
};
constexpr Printed of_26_02[] = {{"Llama 3 70B", 64, 256, 2, 1, 1, 1, 1, 2},        {"Llama 3 70B", 64, 256, 1, 1, 4, 1, 1, 16},
                                {"Llama 3.1 405B", 256, 1536, 1, 4, 8, 1, 1, 192}, {"Llama 3.1 405B", 256, 1536, 1, 2, 8, 2, 1, 192},
                                {"DeepSeek-V3", 256, 4096, 2, 1, 2, 1, 32, 16},    {"GPT-OSS 120B", 64, 1280, 4, 1, 1, 1, 64, 5},
                                {"Qwen3 30B", 8, 512, 8, 1, 1, 1, 8, 8},           {"Qwen3 235B", 256, 8192, 2, 1, 4, 1, 32, 64},
                                {"Llama 3 70B", 64, 256, 1, 2, 4, 1, 1, 32},       {"Llama 3.1 405B", 256, 1536, 1, 4, 16, 1, 1, 384},
                                {"DeepSeek-V3", 256, 4096, 1, 1, 4, 1, 64, 64},    {"Qwen3 30B", 8, 512, 4, 1, 1, 1, 8, 16},
                                {"Qwen3 235B", 256, 8192, 1, 1, 8, 1, 32, 256},    {"DeepSeek-V3", 256, 4096, 1, 1, 16, 1, 8, 256},
                                {"Qwen3 235B", 256, 8192, 1, 1, 8, 1, 8, 256},     {"Qwen3 30B", 8, 512, 1, 1, 1, 1, 8, 64},
                                {"Llama 3 70B", 64, 256, 1, 4, 8, 1, 1, 128},      {"Llama 3.1 405B", 1024, 1536, 1, 8, 8, 2, 1, 192},
                                {"GPT-OSS 120B", 64, 1280, 1, 1, 4, 1, 8, 80},     {"Qwen3 30B", 16, 1024, 1, 1, 2, 1, 8, 128},
                                {"Qwen3 235B", 256, 8192, 1, 2, 8, 1, 32, 512}};
constexpr Printed of_25_11[] = {{"Llama 3 8B", 8, 128, 2, 1, 1, 1, 1, 8},          {"Llama 3 70B", 64, 256, 2, 1, 1, 1, 1, 2},
                                {"Llama 3.1 405B", 256, 1536, 1, 2, 8, 2, 1, 192}, {"DeepSeek-V3", 256, 4096, 1, 1, 2, 1, 32, 32},
                                {"GPT-OSS 120B", 64, 1280, 2, 1, 1, 1, 64, 10},    {"Qwen3 30B", 8, 512, 4, 1, 1, 1, 8, 16},
                                {"Qwen3 235B", 256, 8192, 2, 1, 4, 1, 16, 32},     {"Llama 3.1 405B", 256, 1536, 1, 4, 16, 1, 1, 384},
                                {"DeepSeek-V3", 256, 4096, 1, 1, 4, 1, 64, 64},    {"DeepSeek-V3", 256, 4096, 1, 1, 8, 1, 32, 128},
                                {"GPT-OSS 120B", 64, 1280, 1, 1, 1, 1, 64, 20},    {"Qwen3 235B", 256, 8192, 1, 1, 8, 1, 32, 256},
                                {"Llama 3.1 405B", 128, 64, 1, 4, 8, 2, 1, 32},    {"DeepSeek-V3", 256, 2048, 1, 1, 16, 1, 8, 128},
                                {"GPT-OSS 120B", 64, 512, 4, 1, 1, 1, 8, 2},       {"Qwen3 30B", 8, 512, 1, 1, 1, 1, 8, 64},
                                {"Qwen3 235B", 64, 1024, 1, 1, 8, 1, 8, 128},      {"Llama 3 8B", 8, 128, 1, 1, 1, 1, 1, 16},
                                {"Llama 3 70B", 64, 128, 1, 4, 8, 1, 1, 64},       {"Llama 3.1 405B", 1024, 512, 1, 8, 8, 2, 1, 64},
                                {"GPT-OSS 120B", 64, 512, 4, 1, 4, 1, 8, 2},       {"Qwen3 30B", 16, 512, 2, 1, 2, 1, 8, 32},
                                {"Qwen3 235B", 256, 2048, 1, 2, 8, 1, 32, 128}};

using GptOss = Stack<2880, 36, 4096>;
template <int Rounds> using FourStages = Hybrid<Pipeline<Balanced<4>, OneFOneB, Microbatches<Rounds>>, DataParallel<16>>;

}  // namespace

TEST_CASE("175B as TP4 PP8 and the axes of 70B and 405B that plans have, TP4 PP4 and TP8 PP8, are plans of their numbers of devices") {
  CHECK(refused<Layout3D<Stack<12288, 96, 2048>, 4, 8, 4, 16>>(128) == "");
  CHECK(refused<Layout3D<Stack<8192, 80, 8192>, 4, 4, 4, 8>>(64) == "");
  CHECK(refused<Layout3D<Stack<16384, 126, 8192>, 8, 8, 16, 16>>(1024) == "");
}

TEST_CASE("a layout whose axes multiply to more than the devices is refused with both numbers: TP2 PP16 EP64 on 1,024 taken as a product") {
  using Literally = Layout3D<Stack<7168, 61, 4096>, 2, 16, 64, 16>;
  CHECK(refused<Literally>(1024).find("[heddle.M17] a plan has 2048 devices, the Machine 1024. Fix: ") == 0);
  // Experts that share the data ranks leave 1,024 / (2 x 16) = 32 of them.
  CHECK(refused<Layout3D<Stack<7168, 61, 4096>, 2, 16, 32, 16>>(1024) == "");
}

TEST_CASE("1,024 devices as TP2 PP8 with 64 ranks of experts: 128 accumulations are printed, which only ranks of experts among the replicas leave") {
  constexpr Printed row{"DeepSeek-V3", 1024, 8192, 1, 2, 8, 1, 64, 128};
  CHECK(row.replicas() == 64);
  CHECK(row.divides());
  constexpr int left_by_a_product = row.devices / (row.tensor * row.stages * row.experts);
  CHECK(row.batch / (row.micro_batch * left_by_a_product) == 8192);
  // TP2 PP16 leaves 32 replicas, fewer than 64 ranks of experts: these lie among the ranks of axis tensor as well.
  CHECK(1024 / (2 * 16) * 2 == 64);
}

TEST_CASE("42 of 44 rows have as many accumulations as their batches, micro-batches and replicas leave") {
  int rows = 0, held = 0;
  const auto hold = [&](const Printed& row) {
    ++rows;
    held += row.divides() ? 1 : 0;
    const bool trap = std::string{row.model} == "GPT-OSS 120B" ? row.stages == 4 && row.micro_batch == 4
                                                               : std::string{row.model} == "Qwen3 235B" && row.accumulations == 32;
    CAPTURE(row.model);
    CAPTURE(row.accumulations);
    CHECK(row.divides() == !trap);
  };
  for (const Printed& row : of_26_02) hold(row);
  for (const Printed& row : of_25_11) hold(row);
  MESSAGE(rows << " rows checked, " << held << " held");
  CHECK(rows == 44);
  CHECK(held == 42);
}

TEST_CASE(
    "GPT-OSS 120B on 64 devices prints 2 accumulations, where 512 sequences in micro-batches of 4 over 16 replicas are 8: 2 are refused, 8 are a "
    "plan") {
  const Printed& row = of_25_11[20];
  CHECK(row.replicas() == 16);
  CHECK(row.batch / (row.micro_batch * row.replicas()) == 8);
  extending::Layout printed{graph_of<GptOss>};
  FourStages<2>::answer(graph_of<GptOss>, printed);
  const std::string sentence{printed.fault.sentence().view()};
  CHECK(sentence ==
        "[heddle.S02] 1F1B over 4 stages has 2 micro-batches, so some stages are always idle. Fix: name Microbatches<4> or more, or "
        "FewMicrobatches if that is meant.");
  using Meant = Plan<GptOss, CrossEntropy, Adam, Batch<512>, FourStages<8>>;
  CHECK(refused<Meant>(64) == "");
  CHECK(lowered<Meant>().training().batch.micro_rows == row.micro_batch);
}
