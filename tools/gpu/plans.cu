// SPDX-License-Identifier: MIT
// Plans on this card: each policy as logical devices against the same plan on threads of the host.
#include <cstdio>

#include "heddle/backend/cuda_one_card.hpp"
#include "plans.hpp"
#include "rows.hpp"

using namespace plans_on_cards;

int main(int count, char** given) {
  gpu_check::Rows rows(count, given, wrong);
  rows.each([] {
    std::printf(
        "| plan on one card | logical devices | farthest loss in 8 steps | within 1e-3 | bits of one device | us a step "
        "|\n|---|---|---|---|---|---|\n");
  });
  rows.each([] { row<Of<Single>, CudaOneCard>("Single"); });
  rows.each([] { row<Of<DataParallel<4>>, CudaOneCard>("DataParallel<4>"); });
  rows.each([] { row<Of<Sharded<4>>, CudaOneCard>("Sharded<4>"); });
  rows.each([] { row<Of<Pipeline<Balanced<2>, OneFOneB, Microbatches<4>>>, CudaOneCard>("Pipeline<Balanced<2>, OneFOneB, Microbatches<4>>"); });
  rows.each(
      [] { row<Of<Pipeline<Balanced<2>, ZeroBubbleH1, Microbatches<4>>>, CudaOneCard>("Pipeline<Balanced<2>, ZeroBubbleH1, Microbatches<4>>"); });
  rows.each([] { row<Of<Hybrid<Pipeline<Balanced<2>, GPipe, Microbatches<2>>, DataParallel<2>>>, CudaOneCard>("Pipeline<2> x DataParallel<2>"); });
  rows.each([] { row<Of<TensorParallel<2>>, CudaOneCard>("TensorParallel<2>", false); });
  rows.each([] { row<Of<Hybrid<TensorParallel<2>, Sharded<2>>>, CudaOneCard>("TensorParallel<2> x Sharded<2>", false); });
  rows.each([] { row<Of<DataParallel<2>, Clip<GlobalNorm>>, CudaOneCard>("DataParallel<2>, Clip<GlobalNorm>", false); });
  rows.each([] { row<Of<DataParallel<2>, Mixed<BFloat16>>, CudaOneCard>("DataParallel<2>, Mixed<BFloat16>", false); });
  std::printf("\nplans: %d rows wrong\n", wrong);
  return wrong == 0 ? 0 : 1;
}
