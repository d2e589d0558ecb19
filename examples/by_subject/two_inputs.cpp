// SPDX-License-Identifier: MIT
// Build: g++ -std=c++20 -O2 -I include -I /usr/include/eigen3 examples/by_subject/two_inputs.cpp -pthread -o two_inputs && ./two_inputs
// A model of two inputs: a row of four token ids, and a number that asks for one of them. Neither tells the answer alone. Two stages: the first looks
// the tokens up, the second loads the question by itself, because it is the one that reads it; no input goes from one stage to the other.
#include <cstdint>
#include <heddle/backend/cpu_threads.hpp>
#include <heddle/heddle.hpp>
#include <heddle/io/token_dataset.hpp>
#include <iomanip>
#include <iostream>
#include <utility>
#include <vector>

using namespace heddle;

constexpr int tokens = 4;  // of a vocabulary
constexpr int length = 4;  // of a row
constexpr int all = tokens * tokens * tokens * tokens * length;

// In PyTorch: def forward(self, ids, question). The path of the question begins with FromInput<1>, whatever stands before it.
struct Question : Sequential<FromInput<1>, Named<"asked", Embedding<length, 16>>, Flatten> {};
struct Pointer : Sequential<Inputs<Input<length>, Input<1>>, Named<"table", Embedding<tokens, 4>>, Flatten, Named<"read", Linear<length * 4, 32>>,
                            Tanh, Branches<Concat, Sequential<>, Question>, Named<"find", Linear<48, 64>>, Tanh, Named<"head", Linear<64, tokens>>> {
};

template <class Policy> using Training = Plan<Pointer, CrossEntropy, Adam, Batch<128>, Policy, Grain<16>>;
using Alone = Training<Single>;
using Staged = Training<Pipeline<Balanced<2>, OneFOneB, Microbatches<4>>>;
using Hybridised = Training<Hybrid<DataParallel<2>, Pipeline<Balanced<2>, OneFOneB, Microbatches<4>>>>;
static_assert(same_bits<Staged, Alone>() && same_bits<Hybridised, Alone>());

/// Every row of tokens with every question. with_input adds the questions to the data set: its order, parts and batches hold for both inputs.
datasets::TokenDataset questions() {
  std::vector<std::int32_t> ids, answers, asked;
  for (int i = 0; i < all; ++i) {
    int digits = i / length;
    for (int k = 0; k < length; ++k, digits /= tokens) ids.push_back(digits % tokens);
    asked.push_back(i % length);
    answers.push_back(ids[ids.size() - length + static_cast<std::size_t>(i % length)]);
  }
  const datasets::TokenDataset rows{datasets::TokenRows{std::move(ids), std::move(answers), length, tokens}};
  return datasets::with_input(rows, std::move(asked), 1);
}

template <class ThePlan> std::uint64_t train(const datasets::TokenDataset& data, const char* name) {
  Trainer<ThePlan, CpuThreads> trainer{{.learning_rate = 1e-2}, Seed{1}};
  for (int epoch = 0; epoch < 12; ++epoch)
    for (const auto& batch : data.shuffled(Seed{2}, epoch).template batches<ThePlan>()) trainer.step(batch);
  const std::vector<std::int32_t> row{3, 1, 0, 2}, third{2};
  const std::vector<float> logits = trainer.predict(row, third);  // one array for each input
  std::int32_t best = 0;
  for (std::int32_t k = 1; k < tokens; ++k)
    if (logits[static_cast<std::size_t>(k)] > logits[static_cast<std::size_t>(best)]) best = k;
  std::cout << name << ", " << devices<ThePlan> << " device(s): " << 100 * trainer.accuracy(data.all()) << " % right, token 2 of 3 1 0 2 is " << best
            << '\n';
  return trainer.parameter_hash();
}

int main() {
  return run_main([] {
    std::cout << std::fixed << std::setprecision(0);
    const datasets::TokenDataset data = questions();
    const std::uint64_t alone = train<Alone>(data, "Single");
    const bool same = train<Staged>(data, "2 stages") == alone && train<Hybridised>(data, "2 stages, 2 replicas") == alone;
    std::cout << "the same bits: " << (same ? "yes" : "no") << '\n';
    return same ? 0 : 1;
  });
}
