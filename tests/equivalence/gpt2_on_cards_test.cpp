// SPDX-License-Identifier: MIT
// The row that tools/gpu_check prints for steps of GPT-2 calls no step wrong that is right: on the cores, of a smaller model of the same names. What
// it times call by call is what a step has, and docs/cuda.md lists as much.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <numeric>
#include <sstream>
#include <string>
#include <vector>

#include "equivalence/card_step.hpp"
#include "gpu/gpt2.hpp"
#include "heddle/backend/cpu_threads.hpp"

using namespace heddle;

namespace {

struct Attend : Sequential<Linear<64, 192>, SelfAttention<Heads<4>, Causal>, Linear<64, 64>> {};
struct Feed : Sequential<Linear<64, 256>, GELUTanh, Linear<256, 64>> {};
struct Block : Sequential<Residual<LayerNorm<64>, Attend>, Residual<LayerNorm<64>, Feed>> {};
struct Gpt : Sequential<Input<32>, Named<"wte", Embedding<1000, 64>>, Named<"wpe", LearnedPositions<32, 64>>, Repeat<2, Block>, LayerNorm<64>,
                        Tied<"lm_head", Linear<64, 1000, NoBias>, To<"wte">>> {};
using Small = Plan<Gpt, CrossEntropy, AdamW, Batch<4>, Single>;
using Step = Plan<plans_on_cards::Gpt2, CrossEntropy, AdamW, Batch<16>, Single, Mixed<BFloat16>>;

/// The numbers of a cell: 147 of "49, 49, 49", 450 of "450", 0 of none.
int sum_of(std::string cell) {
  std::replace(cell.begin(), cell.end(), ',', ' ');
  std::istringstream words(cell);
  int sum = 0;
  for (int number = 0; words >> number;) sum += number;
  return sum;
}

}  // namespace

TEST_CASE("a row of gpu_check begins with the loss of a model that knows nothing, and ends below it") {
  plans_on_cards::gpt_row<Gpt, 4, CpuThreads>("a small GPT in float32", 2);
  plans_on_cards::gpt_row<Gpt, 4, CpuThreads, Mixed<BFloat16>>("a small GPT in bfloat16", 2);
  CHECK(plans_on_cards::wrong == 0);
}

TEST_CASE("the loss of a model that knows nothing is asked of a model whose tables have the deviation of GPT-2") {
  Trainer<Small, CpuThreads> trainer{{.learning_rate = 3e-4F}, Seed{1}};
  std::vector<std::int32_t> ids(4 * 32);
  for (std::size_t i = 0; i < ids.size(); ++i) ids[i] = static_cast<std::int32_t>((7919 * i + i / 3) % 1000);
  std::vector<std::int32_t> next(ids);
  std::rotate(next.begin(), next.begin() + 1, next.end());
  const auto loss = [&] { return trainer.evaluate(examples(ids, next, 32, 32)).loss; };
  const double expected = plans_on_cards::first_loss(1000, 64);
  CHECK(expected == doctest::Approx(6.92056).epsilon(1e-5));
  CHECK(loss() > expected + 3);  // tables of N(0, 1)
  plans_on_cards::begin_as_gpt2(trainer);
  CHECK(loss() == doctest::Approx(expected).epsilon(0.02));
}

TEST_CASE("the calls of the optimizer in a step of GPT-2 have all of its parameters once, beside what fills up buckets") {
  const Program program = lower<Step>();
  const std::vector<std::int64_t> elements = card_step::stepped_elements(program);
  const card_step::CardStep step{program};
  const auto called = std::find_if(step.calls().begin(), step.calls().end(), [](const card_step::Called& c) { return c.call == "step of AdamW"; });
  REQUIRE(called != step.calls().end());
  CHECK(std::ssize(elements) == called->times);
  CHECK(elements.size() == 14);
  const std::int64_t beside = std::accumulate(elements.begin(), elements.end(), std::int64_t{0}) - plans_on_cards::gpt2_parameters;
  CHECK(beside >= 0);
  CHECK(beside < 14 * 512);
}

TEST_CASE("docs/cuda.md lists as many launches as a step of GPT-2 has, and its rows add up to them") {
  const card_step::CardStep step{lower<Step>()};
  std::ifstream page("docs/cuda.md");
  REQUIRE(page);
  int of_rows = 0, of_all = 0;
  bool in_table = false;
  for (std::string line; of_all == 0 && std::getline(page, line);) {
    if (line.starts_with("| launched | launches |")) in_table = true;
    if (!in_table || !line.starts_with("| ")) continue;
    const std::size_t from = line.find('|', 1) + 1;
    (line.starts_with("| **all") ? of_all : of_rows) += sum_of(line.substr(from, line.find('|', from) - from));
  }
  CHECK(of_all == step.kernels() + step.products());
  CHECK(of_rows == of_all);
}
