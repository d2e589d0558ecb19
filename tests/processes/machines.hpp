// SPDX-License-Identifier: MIT
// A process of a plan whose ranks are on several machines. machines_check.py starts it in network namespaces that act as machines, and alone.
#pragma once

#include <unistd.h>

#include <chrono>
#include <cinttypes>
#include <cstdio>
#include <string>

#include "equivalence/equal.hpp"
#include "heddle/backend/cpu_mpi.hpp"

namespace processes::machines {

using namespace equivalence;

template <class... Parts> using Of = Plan<Blocks, CrossEntropy, Adam, Batch<32>, Grain<4>, Bucket<1_KiB>, Parts...>;
using Alone = Of<Single>;
using Replicas = Of<DataParallel<4>>;
using Stages = Of<Pipeline<Balanced<4>, OneFOneB, Microbatches<8>>>;
using Product = Of<Hybrid<Sharded<2>, Pipeline<Balanced<2>, OneFOneB, Microbatches<4>>>, Clip<GlobalNorm>>;
using ProductAlone = Of<Single, Clip<GlobalNorm>>;

template <class ThePlan> int train_and_print() {
  const auto rows = rows_of<ThePlan>(2 * 32 + 7);
  Trainer<ThePlan, CpuMpi> trainer{settings<Adam>(), Seed{5}};
  if constexpr (ThePlan::Request::clips) trainer.clip().max_norm = 0.07;  // some steps exceed it
  float loss = 0;
  trainer.on_step([&](const StepResult& result) { loss = result.loss.value(); });
  for (int step = 0; step < equivalence::steps; ++step) trainer.step(rows.batch(3 * step % 39, 32));
  char machine[256]{};
  gethostname(machine, sizeof machine - 1);
  const Mpi& transport = trainer.session().transport();
  std::int64_t bytes = 0;
  for (const Movement kind : {Movement::point_to_point, Movement::all_reduce, Movement::reduce_scatter, Movement::all_gather})
    bytes += transport.sent(transport.rank(), kind).bytes.value;
  const std::uint64_t hash = trainer.parameter_hash(trainer.replicas() - 1);
  std::printf("rank %d on %s: loss %a, parameters %016" PRIx64 ", sent %" PRId64 " bytes\n", transport.rank().value, machine,
              static_cast<double>(loss), hash, bytes);
  return 0;
}

/// Steps until the other machine is gone.
inline int train_until_lost() {
  const auto rows = rows_of<Replicas>(32);
  Trainer<Replicas, CpuMpi> trainer{settings<Adam>(), Seed{5}, RunOptions{std::chrono::seconds{4}}};
  for (;;) {
    if (trainer.step(rows.batch(0, 32)).step == 3 && trainer.first_process()) {
      std::printf("training\n");
      std::fflush(stdout);
    }
  }
}

/// machines PLAN: alone, replicas, stages, product, product-alone; or until-lost
inline int main_of_process(int argc, char** argv) {
  const std::string plan = argc > 1 ? argv[1] : "";
  try {
    if (plan == "alone") return train_and_print<Alone>();
    if (plan == "replicas") return train_and_print<Replicas>();
    if (plan == "stages") return train_and_print<Stages>();
    if (plan == "product") return train_and_print<Product>();
    if (plan == "until-lost") return train_until_lost();
    if (plan == "product-alone") return train_and_print<ProductAlone>();
  } catch (const Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
  return 2;
}

}  // namespace processes::machines
