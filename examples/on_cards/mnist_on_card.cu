// SPDX-License-Identifier: MIT
// Build: nvcc -std=c++20 -O2 -arch=sm_90 --expt-relaxed-constexpr -I include -I /usr/include/eigen3 examples/on_cards/mnist_on_card.cu -lcublasLt -lz
// -o mnist_on_card && ./mnist_on_card
//
// ./mnist_on_card FOLDER 10 trains 10 epochs on the four files of MNIST or Fashion-MNIST; without a folder on a data set that is made up.
#include <heddle/backend/cuda_one_card.hpp>

#include "mnist.hpp"

using namespace heddle;

int main(int count, char** arguments) {
  return run_main([=] { mnist::train<CudaOneCard>(count, arguments); });
}
