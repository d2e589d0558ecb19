// SPDX-License-Identifier: MIT
// Build: g++ -std=c++20 -O2 -I include examples/by_subject/pictures.cpp -o pictures && ./pictures
// Steps of plans in time, before anything runs: as text, and with a folder as its argument as the pictures and the trace of docs/pictures.md.
#include <cstdio>
#include <fstream>
#include <heddle/cost/predict.hpp>
#include <heddle/heddle.hpp>
#include <heddle/report/memory_svg.hpp>
#include <heddle/report/mesh_svg.hpp>
#include <heddle/report/timeline_svg.hpp>
#include <heddle/report/timeline_text.hpp>
#include <heddle/report/trace_json.hpp>
using namespace heddle;
using namespace heddle::extending;

// Four stages of two blocks each; the first and the last layer are small, so that all stages take nearly the same.
struct Block : Sequential<Linear<256, 256>, ReLU> {};
struct Deep : Sequential<Linear<1, 256>, Repeat<8, Block>, Linear<256, 1>> {};
template <class Policy> using Of = Plan<Deep, MeanSquaredError, SGD, Batch<512>, Policy>;
template <class Order> using InStages = Of<Pipeline<Balanced<4>, Order, Microbatches<8>>>;
using Replicated = Of<Hybrid<Pipeline<Balanced<4>, OneFOneB, Microbatches<4>>, DataParallel<2>>>;
using Split = Of<Hybrid<TensorParallel<2>, Pipeline<Balanced<2>, OneFOneB, Microbatches<4>>, DataParallel<2>>>;

// A step on a machine of which only the speed of its devices is known: one operation of a sample takes a second.
template <class ThePlan> Timeline step_of(const char* title, const Machine& machine = Machine{}) {
  Timeline step = predict(ThePlan::training, machine).timeline;
  step.title = title;
  return step;
}

int main(int count, char** arguments) {
  const Timeline gpipe = step_of<InStages<GPipe>>("GPipe, 4 stages, 8 micro-batches");
  const Timeline in_turn = step_of<InStages<OneFOneB>>("1F1B, 4 stages, 8 micro-batches");
  const Timeline two_chunks = step_of<InStages<Interleaved<2>>>("Interleaved, 2 chunks a stage, 8 micro-batches");
  const Timeline split = step_of<InStages<ZeroBubbleH1>>("ZB-H1, 4 stages, 8 micro-batches");
  const TimeUnit forward{"forwards of a stage", gpipe.spans.front().seconds()};
  std::puts(timeline_text({gpipe, in_turn, two_chunks, split}, {.unit = forward}).c_str());

  // The same with messages: links of 1 microsecond and 1 GB/s, devices of 100 GFLOP/s.
  const Machine linked{.alpha = 1e-6, .beta = 1e-9, .per_flop = 1e-11};
  const Timeline replicated = step_of<Replicated>("2 replicas of 1F1B, 4 stages, 4 micro-batches", linked);
  std::puts(timeline_text(replicated, {.communication = true}).c_str());

  if (count < 2) return 0;
  const auto write = [&](const char* name, const std::string& text) { std::ofstream{std::string{arguments[1]} + '/' + name} << text; };
  write("gpipe_1f1b.svg", timeline_svg({gpipe, in_turn}, {.communication = false, .unit = forward}));
  write("orders.svg", timeline_svg({gpipe, in_turn, two_chunks, split}, {.communication = false, .unit = forward}));
  write("replicated.svg", timeline_svg(replicated));
  write("replicated.json", trace_json(replicated));
  write("memory.svg", memory_svg(replicated));
  std::vector<Curve> stage_0;  // what the first stage has in use under each order
  for (const Timeline* step : {&gpipe, &in_turn}) stage_0.push_back({step->title, memory_curves(*step, forward, 1024).front().points});
  write("in_flight.svg", curve_svg(stage_0, {.title = "Memory of stage 0", .x = "forwards of a stage", .y = "KiB", .width = 960}));
  write("mesh.svg", mesh_svg<Split>());
}
