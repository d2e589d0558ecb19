// SPDX-License-Identifier: MIT
// Build: nvcc -ccbin mpicxx -std=c++20 -O2 -arch=sm_90 --expt-relaxed-constexpr -I include -I /usr/include/eigen3
// examples/on_cards/one_process_per_gpu.cu -lcublasLt -lnccl -o one_process_per_gpu && mpirun -np 4 ./one_process_per_gpu
//
// One process for each GPU, on one machine or several, as MPI starts them. Which process has which card and which rows is the plan's to say, not the
// environment's: each prints both, and all print the loss of the same training.
#include <mpi.h>

#include <cstdint>
#include <cstdio>
#include <heddle/backend/cuda_mpi.hpp>
#include <heddle/heddle.hpp>
#include <string>
#include <vector>

using namespace heddle;

struct Net : Sequential<Linear<16, 64>, ReLU, Linear<64, 8>> {};
using Mine = Plan<Net, CrossEntropy, AdamW, Batch<64>, Grain<8>, DataParallel<4>>;

/// What each process says, in the order of ranks.
void say(const std::string& words) {
  int rank = 0, ranks = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  char line[128] = {};
  for (int r = 0; r < ranks; ++r) {
    if (r == rank) std::snprintf(line, sizeof line, "rank %d of %d: %s", rank, ranks, words.c_str());
    MPI_Bcast(line, sizeof line, MPI_CHAR, r, MPI_COMM_WORLD);
    if (rank == 0) std::printf("%s\n", line);
  }
}

int main() {
  return run_main([] {
    std::vector<float> rows(64 * 16);
    std::vector<std::int32_t> labels(64);
    for (std::size_t i = 0; i < rows.size(); ++i) rows[i] = static_cast<float>((29 * i) % 61) / 61.0F;
    for (std::size_t i = 0; i < labels.size(); ++i) labels[i] = static_cast<std::int32_t>((5 * i + i / 8) % 8);
    Trainer<Mine, CudaMpi> trainer{{.learning_rate = 1e-2}, Seed{1}};
    int rank = 0, card = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    card = extending::card_of_process(MPI_COMM_WORLD);
    say("card " + std::to_string(card) + " of its machine, rows " + std::to_string(16 * rank) + " to " + std::to_string(16 * rank + 15) + " of 64");
    double loss = 0;
    for (int s = 0; s < 20; ++s) loss = trainer.step(examples(rows, labels, 16)).loss.value();
    char text[64];
    std::snprintf(text, sizeof text, "loss %.3f after 20 steps", loss);
    say(text);
  });
}
