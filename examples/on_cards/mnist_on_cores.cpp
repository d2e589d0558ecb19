// SPDX-License-Identifier: MIT
// Build: g++ -std=c++20 -O2 -I include -I /usr/include/eigen3 examples/on_cards/mnist_on_cores.cpp -pthread -lz -o mnist_on_cores && ./mnist_on_cores
//
// ./mnist_on_cores FOLDER 10 trains 10 epochs on the four files of MNIST or Fashion-MNIST; without a folder on a data set that is made up.
#include <heddle/backend/cpu_threads.hpp>

#include "mnist.hpp"

using namespace heddle;

int main(int count, char** arguments) {
  return run_main([=] { mnist::train<CpuThreads>(count, arguments); });
}
