// SPDX-License-Identifier: MIT
// Build: g++ -std=c++20 -O2 -DHEDDLE_CUDA_KERNELS -I include -I /usr/include/eigen3 -I /usr/local/cuda/include
// examples/on_cards/mnist_in_host_file.cpp cuda_kernels.o -L /usr/local/cuda/lib64 -lcudart -lcublasLt -lz -pthread -o mnist_in_host_file
// && ./mnist_in_host_file
//
// The program of mnist_on_card.cu in a file that g++ or clang compiles alone. nvcc compiles the kernels, once:
// nvcc -std=c++20 -O2 -arch=sm_90 --expt-relaxed-constexpr -I include -c src/cuda_kernels.cu -o cuda_kernels.o
#include <heddle/backend/cuda_one_card.hpp>

#include "mnist.hpp"

using namespace heddle;

int main(int count, char** arguments) {
  return run_main([=] { mnist::train<CudaOneCard>(count, arguments); });
}
