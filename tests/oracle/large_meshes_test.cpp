// SPDX-License-Identifier: MIT
// Plans for thousands of devices are made and checked at build with the compilers' default limits: cost depends on stages, not on ranks.
#include <doctest/doctest.h>

#include "heddle/heddle.hpp"

using namespace heddle;

namespace {

template <std::int64_t width> struct Block : Residual<Linear<width, 4 * width>, GELU, Linear<4 * width, width>> {};

struct Large : Sequential<Input<2048>, Embedding<50304, 12288>, Repeat<96, Block<12288>>, Linear<12288, 50304, NoBias>> {};
using Everything =
    Plan<Large, CrossEntropy, Adam, Batch<1024>, Hybrid<TensorParallel<8>, Pipeline<Balanced<8>, Interleaved<2>, Microbatches<64>>, Sharded<16>>>;

// Llama 3 405B on 16,384 devices: tensor 8, stages 16, data 128, inner to outer. Source: sources.md#llama3
struct Llama : Sequential<Input<8192>, Embedding<128256, 16384>, Repeat<126, Block<16384>>, Linear<16384, 128256, NoBias>> {};
using LlamaMesh =
    Plan<Llama, CrossEntropy, AdamW, Batch<2048>, Hybrid<TensorParallel<8>, Pipeline<Balanced<16>, OneFOneB, Microbatches<16>>, DataParallel<128>>>;

// The table of words is the head as well.
struct Tied96
    : Sequential<Named<"wte", Linear<1024, 12288>>, Repeat<96, Block<12288>>, Linear<12288, 1024>, Tied<"head", Linear<1024, 12288>, To<"wte">>> {};
using EverythingTied =
    Plan<Tied96, CrossEntropy, Adam, Batch<1024>, Hybrid<TensorParallel<8>, Pipeline<Balanced<8>, Interleaved<2>, Microbatches<64>>, Sharded<16>>>;

}  // namespace

TEST_CASE("96 wide blocks over 8 x 8 x 16 devices, two chunks a stage, 64 micro-batches, sliced parameters") {
  static_assert(devices<Everything> == 1024);
  constexpr const Program& p = Everything::training;
  CHECK(p.chunks == 16);
  CHECK(p.storage.parameters);
  // A sixteenth of an eighth of an eighth of 4 bytes a parameter and as much for its gradient, 8 for Adam; rings and activations beside.
  CHECK(peak_memory<Everything>().value > 16 * parameters<Large> / 1024);
  CHECK(traffic<Everything>().total() > Bytes{0});
}

TEST_CASE("the mesh of Llama 3 405B: 16,384 devices") {
  static_assert(devices<LlamaMesh> == 16'384);
  constexpr Mesh mesh = LlamaMesh::training.mesh;
  CHECK(mesh.stride(axis::tensor) == 1);
  CHECK(mesh.stride(axis::stage) == 8);
  CHECK(mesh.stride(axis::data) == 128);
  CHECK(LlamaMesh::training.roles == 16);
}

TEST_CASE("the same with the first layer's parameters in the last one, on another stage") {
  constexpr const Program& p = EverythingTied::training;
  static_assert(p.use_count == 2 && p.uses[0].role != p.uses[1].role);
  CHECK(traffic<EverythingTied>().ties().messages == 2 * 1024 / 8);
}
