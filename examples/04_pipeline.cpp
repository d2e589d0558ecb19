// SPDX-License-Identifier: MIT
// Build: g++ -std=c++20 -O2 -I include -I /usr/include/eigen3 examples/04_pipeline.cpp -pthread -o 04_pipeline && ./04_pipeline
// A pipeline. New: idle time. The parts are cut where the work balances, and four micro-batches of 32 rows are under way. The order of their
// forwards and backwards decides how long a device waits and how many values it keeps; it changes no bit. Interleaved<2> gives each device two
// chunks: that halves the idle time of a model of equal blocks, Deep. Network has two large layers, so its four chunks are unequal: nothing is won.
#include "network.hpp"

template <class... Order> using In = Training<Pipeline<Balanced<2>, Order..., Microbatches<4>>>;
template <class... Order> using OfDeep = Training<Pipeline<Balanced<2>, Order..., Microbatches<4>>, Deep>;
using Mine = In<OneFOneB>;

static_assert(same_bits<In<GPipe>, Mine>() && same_bits<In<ZeroBubbleH1>, Mine>());
static_assert(advice<In<Interleaved<2>>>().has("A09") && advice<OfDeep<Interleaved<2>>>().empty());  // A09: chunks in turn gain little

// Refused: using Bad = Training<Pipeline<Balanced<2>, OneFOneB, Microbatches<1>>>;
// Says: [heddle.S02] 1F1B over 2 stages has 1 micro-batch, so some stages are always idle. Fix: name Microbatches<2> or more, or FewMicrobatches
// if that is meant.

int main() {
  return run_main([] {
    print_costs();
    print_costs<In<>>("one micro-batch at a time");
    print_costs<In<GPipe>>("GPipe: all forwards first");
    print_costs<Mine>("OneFOneB: backwards early");
    print_costs<In<Interleaved<2>>>("Interleaved<2>: two chunks each");
    print_costs<In<ZeroBubbleH1>>("ZeroBubbleH1: gaps are filled");
    print_costs<OfDeep<OneFOneB>>("Deep, OneFOneB");
    print_costs<OfDeep<Interleaved<2>>>("Deep, Interleaved<2>");
    print_timeline<Mine>("OneFOneB");
    print_timeline<In<Interleaved<2>>>("Interleaved<2>: two chunks each");
    print_timeline<OfDeep<Interleaved<2>>>("Deep, Interleaved<2>");
    print_timeline<In<ZeroBubbleH1>>("ZeroBubbleH1: gaps are filled");
    return train_beside_one_device<Mine>("OneFOneB") ? 0 : 1;
  });
}
