// SPDX-License-Identifier: MIT
// Build: g++ -std=c++20 -O2 -I include -I /usr/include/eigen3 examples/by_subject/next_letter.cpp -pthread -o next_letter && ./next_letter
// Next-token prediction over a tiny corpus. Eight letters are looked up in a table, the ninth is predicted. Two devices share the vocabulary at both
// ends: each has half of the table's rows and half of the logits, and the loss is taken without gathering them.
#include <algorithm>
#include <cstdint>
#include <heddle/backend/cpu_threads.hpp>
#include <heddle/heddle.hpp>
#include <heddle/io/sequences.hpp>
#include <iomanip>
#include <iostream>
#include <string>
#include <string_view>
#include <vector>

using namespace heddle;
using namespace heddle::extending;

constexpr std::string_view corpus =
    "the heddle lifts the warp and the shuttle carries a thread through the shed then the reed beats it against the cloth ";
constexpr int letters = 28;  // a to z, a space, and one that never occurs: two devices divide 28
constexpr int window = 8;
constexpr int rows = static_cast<int>(corpus.size()) - window;

constexpr int token(char letter) { return letter == ' ' ? 26 : letter - 'a'; }
constexpr char letter(int token) { return token == 26 ? ' ' : static_cast<char>('a' + token); }

// By hand: rows of the table and not its features, classes of the head. Left alone, so small a vocabulary would be split in another way.
struct Reader : Sequential<Input<window>, Named<"table", Row<Embedding<letters, 16>>>, Flatten, Named<"hidden", Linear<window * 16, 64>>, Tanh,
                           Named<"head", Column<Linear<64, letters, NoBias>>>> {};
template <class Policy> using Training = Plan<Reader, CrossEntropy, Adam, Batch<rows>, Policy>;
using Shared = Training<TensorParallel<2>>;

static_assert(Shared::training.parameters[0].split == laid::shard(0) && Shared::training.graph->output().shape == Shape{letters / 2});

/// The letter that is thought most likely after the last ones of `text`.
template <class ThePlan> char next(Trainer<ThePlan, CpuThreads>& trainer, const std::string& text) {
  std::vector<std::int32_t> ids;
  for (int i = 0; i < window; ++i) ids.push_back(token(text[text.size() - window + static_cast<std::size_t>(i)]));
  const std::vector<float> logits = trainer.predict(ids);  // all of them: put together where they are handed out
  return letter(static_cast<int>(std::max_element(logits.begin(), logits.end()) - logits.begin()));
}

/// Every window of the corpus, and the letter that follows it.
datasets::TokenDataset windows() {
  std::vector<std::int32_t> tokens;
  for (const char c : corpus) tokens.push_back(token(c));
  return datasets::next_token_rows(tokens, letters, {.length = window, .stride = 1, .predict = datasets::Predict::last});
}

template <class ThePlan> std::string train(const datasets::TokenDataset& data, const char* name) {
  Trainer<ThePlan, CpuThreads> trainer{{.learning_rate = 3e-3}, Seed{1}};
  std::cout << name << ", " << devices<ThePlan> << " device(s)\n";
  trainer.on_step([](const StepResult& r) { std::cout << "  step " << r.step << ", loss " << *r.loss << '\n'; }, Every{20});
  for (int epoch = 0; epoch < 80; ++epoch)
    for (const auto& batch : data.batches<ThePlan>()) trainer.step(batch);  // one batch of all rows
  std::string text{corpus.substr(0, window)};
  while (text.size() < corpus.size()) text += next(trainer, text);
  std::cout << "  " << text << '\n';
  return text;
}

int main() {
  return run_main([] {
    std::cout << std::fixed << std::setprecision(2);
    const datasets::TokenDataset data = windows();
    const std::string single = train<Training<Single>>(data, "Single");
    const std::string shared = train<Shared>(data, "TensorParallel<2>");
    std::cout << "the same text: " << (shared == single ? "yes" : "no") << '\n';
    return shared == single ? 0 : 1;
  });
}
