// SPDX-License-Identifier: MIT
// Build: nvcc -std=c++20 -O2 -arch=sm_90 --expt-relaxed-constexpr -I include -I /usr/include/eigen3 examples/on_cards/gpt_on_card.cu -lcublasLt
// -o gpt_on_card && ./gpt_on_card
//
// ./gpt_on_card TEXT 300 trains 300 steps on the bytes of a file and writes a few lines; without a file on a text that is made up.
#include <heddle/backend/cuda_one_card.hpp>

#include "gpt.hpp"

using namespace heddle;

int main(int count, char** arguments) {
  return run_main([=] { gpt::train<CudaOneCard>(count, arguments); });
}
