// SPDX-License-Identifier: MIT
#include "heddle/backend/cuda_work.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <vector>

#include "cuda_emulator/cuda_emulator.hpp"
#include "heddle/run/host_work.hpp"

using namespace heddle;
using backend_room::Card, backend_room::CudaWork, backend_room::HostPart;

namespace {

/// A card with one rank's work; the step in hand is its own.
struct Bench {
  Bench() { work.begin(input); }
  Card card{0, {.workspace_bytes = 4096}};
  CudaWork::Kernels kernels;
  CudaWork work{kernels, card, 1};
  StepInput input;
  HostPart part;
};

}  // namespace

TEST_CASE("rows go through pinned memory, and a replay asks for those of its own step") {
  cuda_emulator::reset({.seed = 3});
  {
    Bench bench;
    std::vector<float> rows{1, 2, 3, 4};
    int looks = 0;
    bench.work.stage(bench.part);
    const Arena there = bench.work.room(16);
    auto* const to = const_cast<Arena&>(there).floats(0, 4);
    bench.work.load(to, 2, 2, ElementType::float32, [&](std::int64_t r) { return rows.data() + 2 * r; });
    bench.work.each_step([&looks] { ++looks; });
    std::vector<float> back(4);
    bench.work.store(to, 4, [&](const float* from) { back.assign(from, from + 4); });
    bench.card.wait();
    for (const auto& after : bench.part.after) after();
    CHECK(back == rows);
    rows = {5, 6, 7, 8};
    const std::size_t copies = bench.part.before.size();
    CHECK(copies == 3);  // the numbers of the step, the rows, the look
    for (const auto& before : bench.part.before) before();
    CHECK(looks == 2);
    bench.part.clear();
    CHECK(bench.part.before.empty());
  }
  CHECK(cuda_emulator::violations().empty());
  CHECK(cuda_emulator::alive() == "");
}

TEST_CASE("squares of parts, copies between strides and bfloat16 are those of the host") {
  cuda_emulator::reset({.seed = 3});
  {
    Bench bench;
    const KernelTable plain;
    const run_room::HostWork host{plain};
    bench.work.stage(bench.part);
    Arena room = bench.work.room(4096);
    float* const there = room.floats(0, 1024);
    std::vector<float> values(512);
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i % 23) / 7.0F - 1;
    bench.card.upload(there, values.data(), values.size() * sizeof(float));
    float expected = 0, made = 0;
    const auto nothing = [](float*, std::int64_t) {};
    const auto all = [](const float*, std::int64_t count, auto visit) { visit(0, count); };
    host.sum_squares(&expected, values.data(), 512, 8, nothing, all);
    bench.work.sum_squares(there + 512, there, 512, 8, nothing, all);
    bench.card.download(&made, there + 512, sizeof made);
    CHECK(std::abs(made - expected) <= 1e-5F * expected);
    const auto some = [](auto visit) { visit(256, 128), visit(16, 32); };
    host.add_squares(&expected, values.data(), 512, 8, some);
    bench.work.add_squares(there + 512, there, 512, 8, some);
    bench.card.download(&made, there + 512, sizeof made);
    CHECK(std::abs(made - expected) <= 1e-5F * expected);
    bench.work.sum_squares(
        there + 512, there, 512, 8, [&](float* part, std::int64_t count) { bench.work.zero(part, count); }, all);
    bench.card.download(&made, there + 512, sizeof made);
    CHECK(made == 0.0F);
    bench.card.upload(there, values.data(), values.size() * sizeof(float));
    bench.work.move(there + 600, 12, there, 8, 8, 2);
    std::vector<float> moved(5);
    bench.card.download(moved.data(), there + 600, 20);
    CHECK(moved == std::vector<float>{values[0], values[1], 0, values[2], values[3]});
    bench.work.round_floats(there + 700, there, 4);
    std::vector<float> rounded(4), of_host(4);
    bench.card.download(rounded.data(), there + 700, 16);
    run_room::HostWork::round_floats(of_host.data(), values.data(), 4);
    CHECK(rounded == of_host);
  }
  CHECK(cuda_emulator::violations().empty());
  CHECK(cuda_emulator::alive() == "");
}
