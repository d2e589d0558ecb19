// SPDX-License-Identifier: MIT
// Plans whose devices are cards of their own, which NCCL joins: as many devices as this machine has cards. A plan of one device has a communicator of
// one rank.
#include <cstdio>
#include <exception>

#include "heddle/backend/cuda_threads.hpp"
#include "plans.hpp"
#include "rows.hpp"

using namespace plans_on_cards;

namespace {

template <class ThePlan> void row_if(int cards, const char* name, bool same_bits = true) {
  if (devices<ThePlan> <= cards) row<ThePlan, CudaThreads>(name, same_bits);
}

}  // namespace

int main(int count, char** given) {
  gpu_check::Rows rows(count, given, wrong);
  try {
    const int cards = backend_room::visible_cards();
    rows.each([] {
      std::printf(
          "| plan on cards, joined by NCCL | cards | farthest loss in 8 steps | within 1e-3 | bits of one device | us a step "
          "|\n|---|---|---|---|---|---|\n");
    });
    rows.each([&] { row_if<Of<Single>>(cards, "Single"); });
    rows.each([&] { row_if<Of<DataParallel<2>>>(cards, "DataParallel<2>"); });
    rows.each([&] { row_if<Of<Sharded<2>>>(cards, "Sharded<2>"); });
    rows.each([&] { row_if<Of<Pipeline<Balanced<2>, OneFOneB, Microbatches<4>>>>(cards, "Pipeline<Balanced<2>, OneFOneB, Microbatches<4>>"); });
    rows.each([&] { row_if<Of<TensorParallel<2>>>(cards, "TensorParallel<2>", false); });
    rows.each([&] { row_if<Of<DataParallel<2>, Clip<GlobalNorm>>>(cards, "DataParallel<2>, Clip<GlobalNorm>", false); });
    rows.each([&] { row_if<Of<DataParallel<4>>>(cards, "DataParallel<4>"); });
    rows.each([&] { row_if<Of<Hybrid<Pipeline<Balanced<2>, GPipe, Microbatches<2>>, DataParallel<2>>>>(cards, "Pipeline<2> x DataParallel<2>"); });
    rows.each([&] { row_if<Of<DataParallel<8>>>(cards, "DataParallel<8>"); });
    std::printf("\ncards: %d rows wrong with %d %s\n", wrong, cards, cards == 1 ? "card" : "cards");
    return wrong == 0 ? 0 : 1;
  } catch (const std::exception& error) {
    std::printf("cards: %s\n", error.what());
    return 1;
  }
}
