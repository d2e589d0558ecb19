// SPDX-License-Identifier: MIT
// What nvcc hands to the compiler of the host, which is not always what it read (it drops braces of what depends on a template): what kernels are
// given of a layer and of a loss whose numbers are template arguments, and all that a Linear does with its products.
#include "heddle/compute/cuda/functions_on_card.hpp"
#include "heddle/compute/cuda/linear.hpp"

float leak() { return heddle::compute_room::FunctionsOnCard<heddle::LeakyReLU<1, 5>>::functions().factor; }
double distance() { return heddle::compute_room::LossOnCard<heddle::Huber<1, 2>>::functions().distance; }
double smoothing() { return heddle::compute_room::RuleOfLoss<heddle::CrossEntropyWith<heddle::LabelSmoothing<1, 10>>>::rule().share; }

using Calls = heddle::extending::CudaMemory;
using OfLinear = heddle::Kernel<heddle::Linear<8, 8>, heddle::extending::CudaCompute>;
template <class Value>
void all_of_linear(const heddle::extending::ForwardCallIn<Calls>& forward, const heddle::extending::BackwardCallIn<Calls>& backward,
                   const heddle::extending::TailIn<Calls>& tail) {
  OfLinear::forward<Value>(forward);
  OfLinear::backward<Value>(backward);
  OfLinear::forward_with_tail<Value>(forward, tail);
  OfLinear::backward_with_tail<Value>(backward, tail);
  OfLinear::prepare<Value>(*forward.leaf, 3, tail.space);
  OfLinear::prepare_with_tail<Value>(*forward.leaf, 3, tail, true);
}
template void all_of_linear<float>(const heddle::extending::ForwardCallIn<Calls>&, const heddle::extending::BackwardCallIn<Calls>&,
                                   const heddle::extending::TailIn<Calls>&);
template void all_of_linear<heddle::BFloat16>(const heddle::extending::ForwardCallIn<Calls>&, const heddle::extending::BackwardCallIn<Calls>&,
                                              const heddle::extending::TailIn<Calls>&);
