// SPDX-License-Identifier: MIT
// Build: nvcc -std=c++20 -O2 -arch=sm_90 --expt-relaxed-constexpr -I include -I /usr/include/eigen3
// examples/on_cards/one_process_per_gpu_without_mpi.cu -lcublasLt -lnccl -o one_process_per_gpu_without_mpi &&
// HEDDLE_MEETING=/dev/shm/met torchrun --nproc-per-node 4 --no-python ./one_process_per_gpu_without_mpi
//
// One process for each GPU, on one machine or several, which torchrun, srun or a script starts: RANK and WORLD_SIZE, or what srun sets, say which
// process this is, and the folder HEDDLE_MEETING joins them. The plan and the loss are those of one_process_per_gpu.
#include <cstdint>
#include <cstdio>
#include <heddle/backend/cuda_files.hpp>
#include <heddle/heddle.hpp>
#include <vector>

using namespace heddle;

struct Net : Sequential<Linear<16, 64>, ReLU, Linear<64, 8>> {};
using Mine = Plan<Net, CrossEntropy, AdamW, Batch<64>, Grain<8>, DataParallel<4>>;

int main() {
  return run_main([] {
    std::vector<float> rows(64 * 16);
    std::vector<std::int32_t> labels(64);
    for (std::size_t i = 0; i < rows.size(); ++i) rows[i] = static_cast<float>((29 * i) % 61) / 61.0F;
    for (std::size_t i = 0; i < labels.size(); ++i) labels[i] = static_cast<std::int32_t>((5 * i + i / 8) % 8);
    Trainer<Mine, CudaFiles> trainer{{.learning_rate = 1e-2}, Seed{1}};
    double loss = 0;
    for (int s = 0; s < 20; ++s) loss = trainer.step(examples(rows, labels, 16)).loss.value();
    std::printf("loss %.3f after 20 steps%s\n", loss, trainer.first_process() ? ", says the first process" : "");
  });
}
