// SPDX-License-Identifier: MIT
// Build: g++ -std=c++20 -O2 -I include examples/by_subject/first_pays.cpp -o first_pays && ./first_pays
// On how many devices does it first pay? One model under each policy on 1 to 12 devices, and the speed-up of each.
#include <cstdio>
#include <heddle/cost/simulate.hpp>
#include <heddle/heddle.hpp>
#include <vector>
using namespace heddle;
using namespace heddle::extending;

// Twelve equal blocks: they divide by 2, 3, 4, 6 and 12.
struct Block : Sequential<Linear<192, 192, NoBias>, Linear<192, 192, NoBias>> {};
struct Blocks : Sequential<Input<1>, Embedding<64, 192>, Repeat<12, Block>> {};
template <int Rows, class Policy> using Of = Plan<Blocks, MeanSquaredError, SGD, Batch<Rows>, Policy>;
template <int N> using Replicas = DataParallel<N>;
template <int N> using Staged = Pipeline<Balanced<N>, OneFOneB, Microbatches<12>>;
template <int N> using Split = TensorParallel<N>;

// Devices of 10 billion operations a second with memory of 20 GB/s, and two networks. Put in the numbers of your machine.
constexpr Machine fast{.alpha = 50e-6, .beta = 1e-9, .per_flop = 1e-10, .per_memory_byte = 0.05e-9};  // links of 1 GB/s, 50 microseconds a message
constexpr Machine ethernet{.alpha = 100e-6, .beta = 8e-9, .per_flop = 1e-10, .per_memory_byte = 0.05e-9};  // 1 Gbit/s, 100 microseconds a message

struct Point {
  int devices;
  double seconds;
};
template <class ThePlan> Point at(const Machine& machine) { return {devices<ThePlan>, simulate(ThePlan::training, machine).step.value}; }

void print_row(int rows, const char* name, double alone, const std::vector<Point>& points) {
  const Point *first = nullptr, *fastest = nullptr;
  std::printf("%4d %-8s", rows, name);
  for (const Point& point : points) {
    std::printf(" %7.2f", alone / point.seconds);
    if (first == nullptr && point.seconds < alone) first = &point;
    if (point.seconds < (fastest == nullptr ? alone : fastest->seconds)) fastest = &point;
  }
  if (first == nullptr)
    std::printf(" %11s %11s\n", "never", "1");
  else
    std::printf(" %11d %11d\n", first->devices, fastest->devices);
}
template <int Rows> void print_rows(const Machine& machine) {
  const double alone = at<Of<Rows, Single>>(machine).seconds;
  const auto row = [&]<template <int> class Policy>(const char* name) {
    print_row(Rows, name, alone,
              {at<Of<Rows, Policy<2>>>(machine), at<Of<Rows, Policy<3>>>(machine), at<Of<Rows, Policy<4>>>(machine), at<Of<Rows, Policy<6>>>(machine),
               at<Of<Rows, Policy<12>>>(machine)});
  };
  row.template operator()<Replicas>("data");
  row.template operator()<Staged>("stage");
  row.template operator()<Split>("tensor");
}
void print_table(const char* title, const Machine& machine) {
  std::printf("%s: times as fast as one device\n%-13s", title, "rows");
  for (const int devices : {2, 3, 4, 6, 12}) std::printf(" %7d", devices);
  std::printf(" %11s %11s\n", "first pays", "fastest on");
  print_rows<24>(machine);
  print_rows<96>(machine);
  print_rows<384>(machine);
}

int main() {
  print_table("links of 1 GB/s", fast);
  std::printf("\n");
  print_table("Ethernet of 1 Gbit/s", ethernet);
}
