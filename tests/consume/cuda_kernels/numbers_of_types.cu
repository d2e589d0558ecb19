// SPDX-License-Identifier: MIT
// What kernels are given of a layer and of a loss whose numbers are template arguments, as nvcc hands it to the compiler of the host.
#include "heddle/compute/cuda/functions_on_card.hpp"

float leak() { return heddle::compute_room::FunctionsOnCard<heddle::LeakyReLU<1, 5>>::functions().factor; }
double distance() { return heddle::compute_room::LossOnCard<heddle::Huber<1, 2>>::functions().distance; }
double smoothing() { return heddle::compute_room::RuleOfLoss<heddle::CrossEntropyWith<heddle::LabelSmoothing<1, 10>>>::rule().share; }
