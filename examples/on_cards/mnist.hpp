// SPDX-License-Identifier: MIT
// Trains the 784-50-10 network of ./heddle train on the backend that it is told: mnist_on_cores.cpp and mnist_on_card.cu are this, and one word.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <heddle/heddle.hpp>
#include <heddle/io/gzip.hpp>
#include <heddle/io/synthetic.hpp>
#include <stdexcept>
#include <string>

namespace mnist {

using namespace heddle;

struct Net : Sequential<Named<"linear1", Linear<28 * 28, 50>>, ReLU, Named<"linear2", Linear<50, 10>>> {};
using Training = Plan<Net, CrossEntropy, Adam, Batch<64, KeepLast>, Grain<16>, Single>;

/// Of a folder with the four files of MNIST or Fashion-MNIST, plain or .gz; without one a small data set that is made up.
inline datasets::Dataset images(const char* folder, datasets::DataSplit split) {
  if (folder != nullptr) return datasets::load_idx(folder, split);
  return datasets::synthetic(Seed{1}, split == datasets::DataSplit::train ? 640 : 200, 28 * 28, 10, split);
}

/// A number of epochs that was given.
inline int epochs_of(const char* argument) {
  const int epochs = std::atoi(argument);
  if (epochs < 1) throw std::runtime_error(std::string{argument} + " is no number of epochs. Fix: give one from 1 on, as 10.");
  return epochs;
}

/// Arguments are a folder and a number of epochs, 10 if there is none.
template <class Backend> void train(int count, char** arguments) {
  const char* const folder = count > 1 ? arguments[1] : nullptr;
  const int epochs = count > 2 ? epochs_of(arguments[2]) : folder == nullptr ? 2 : 10;
  const datasets::Dataset training = images(folder, datasets::DataSplit::train), test = images(folder, datasets::DataSplit::test);
  Trainer<Training, Backend> trainer{{.learning_rate = 1e-3}, Seed{1}};
  for (int epoch = 0; epoch < epochs; ++epoch) {
    double loss = 0;
    for (const auto& batch : training.shuffled(Seed{1}, epoch).batches<Training>()) loss = *trainer.step(batch).loss;
    std::printf("epoch %d of %d: loss %.3f, accuracy %.3f\n", epoch + 1, epochs, loss, trainer.accuracy(test.all()));
  }
}

}  // namespace mnist
