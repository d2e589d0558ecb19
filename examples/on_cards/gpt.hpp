// SPDX-License-Identifier: MIT
// Trains the small GPT of ./heddle train gpt, byte by byte, on the backend that it is told: gpt_on_cores.cpp and gpt_on_card.cu are this, and one
// word.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <heddle/heddle.hpp>
#include <heddle/io/sequences.hpp>
#include <iterator>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

namespace gpt {

using namespace heddle;

constexpr int tokens = 256, length = 64, width = 64;

struct Attention : Residual<LayerNorm<width>, Linear<width, 3 * width>, SelfAttention<Heads<4>, Causal>, Linear<width, width>> {};
struct Feed : Residual<LayerNorm<width>, Linear<width, 4 * width>, GELU, Linear<4 * width, width>> {};
struct Block : Sequential<Named<"attention", Attention>, Named<"feed", Feed>> {};
struct Net : Sequential<Input<length>, Named<"wte", Embedding<tokens, width>>, Named<"wpe", LearnedPositions<length, width>>,
                        Named<"blocks", Repeat<3, Block>>, Named<"norm", LayerNorm<width>>, Named<"head", Linear<width, tokens, NoBias>>> {};
using Training = Plan<Net, CrossEntropy, AdamW, Batch<32, DropLast>, Single, Grain<8>>;

/// The bytes of a file, or sentences that are made up.
inline std::string text_of(const char* path) {
  if (path != nullptr) {
    std::ifstream file{path, std::ios::binary};
    std::string text{std::istreambuf_iterator<char>{file}, {}};
    if (file.bad() || text.empty())
      throw std::runtime_error("the text '" + std::string{path} + "' cannot be read, or is empty. Fix: name a plain file.");
    return text;
  }
  constexpr const char* who[] = {"The sum ", "A rank ", "The stage ", "Each slice "};
  constexpr const char* does[] = {"waits for ", "sends to ", "reads ", "steps before "};
  std::string text;
  for (unsigned i = 0; text.size() < 4200; ++i) text += std::string{who[i * i % 4]} + does[(i / 3) % 4] + who[(5 * i + 3) % 4] + "today.\n";
  return text;
}

/// Bytes that the model has in mind after those before, drawn by their probabilities.
template <class AnyTrainer> std::string written(AnyTrainer& trainer, std::string text, std::size_t size) {
  std::minstd_rand drawn{1};
  std::vector<std::int32_t> window(length);
  while (text.size() < size) {
    const std::size_t known = std::min<std::size_t>(text.size(), length);
    std::fill(window.begin(), window.end(), 0);  // what lies behind the last byte is not seen
    for (std::size_t i = 0; i < known; ++i) window[i] = static_cast<unsigned char>(text[text.size() - known + i]);
    const std::vector<float> logits = trainer.predict(window);
    std::vector<double> powers(logits.begin() + static_cast<std::ptrdiff_t>((known - 1) * tokens),
                               logits.begin() + static_cast<std::ptrdiff_t>(known * tokens));
    for (double& power : powers) power = std::exp(power / 0.8);
    text += static_cast<char>(std::discrete_distribution<int>{powers.begin(), powers.end()}(drawn));
  }
  return text;
}

/// A number of steps that was given.
inline int steps_of(const char* argument) {
  const int steps = std::atoi(argument);
  if (steps < 1) throw std::runtime_error(std::string{argument} + " is no number of steps. Fix: give one from 1 on, as 300.");
  return steps;
}

/// Arguments are a text and a number of steps, 300 if there is none.
template <class Backend> void train(int count, char** arguments) {
  const char* const path = count > 1 ? arguments[1] : nullptr;
  const int steps = count > 2 ? steps_of(arguments[2]) : path == nullptr ? 3 : 300;
  const std::string text = text_of(path);
  std::vector<std::int32_t> bytes;
  for (const char c : text) bytes.push_back(static_cast<unsigned char>(c));
  const datasets::TokenDataset rows = datasets::next_token_rows(bytes, tokens, {.length = length});
  Trainer<Training, Backend> trainer{{.learning_rate = 3e-3}, Seed{1}};
  const auto report = [](const StepResult& result) { std::printf("step %lld: loss %.2f\n", static_cast<long long>(result.step), *result.loss); };
  trainer.on_step(report, Every{std::max(1, steps / 10)});
  for (int epoch = 0; trainer.steps() < steps; ++epoch)
    for (const auto& batch : rows.shuffled(Seed{1}, epoch).batches<Training>())
      if (trainer.steps() < steps) trainer.step(batch);
  if (path != nullptr) std::printf("%s\n", written(trainer, "The ", 200).c_str());
}

}  // namespace gpt
