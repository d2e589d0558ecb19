// SPDX-License-Identifier: MIT
// Build: g++ -std=c++20 -O2 -I include examples/nd/3d.cpp -pthread -o 3d && ./3d
// 3D, data x stage x tensor: as 2D, and each layer is computed by two devices that sum its outputs. Rank = 4 x replica + 2 x stage + tensor.
#include "step.hpp"
using namespace nd;

/// Which axis of the grid is which. Ranks of the last axis are neighbours.
struct Layout {
  Grid<3> grid;
  std::size_t data = 0, stage = 1, tensor = 2;
};

void step(Device& device, const Layout& layout, int micro_batches) {
  const Grid<3>& grid = layout.grid;
  const int rank = device.rank(), mine = grid.coordinate(rank, layout.stage), last = grid.sizes[layout.stage] - 1;
  const std::vector<int> pipeline = grid.group(rank, layout.stage), parts = grid.group(rank, layout.tensor);
  const auto at = [&](int position) { return pipeline[static_cast<std::size_t>(position)]; };
  const double rows = static_cast<double>(groups) / grid.sizes[layout.data] / micro_batches;
  const int my_layers = layers / grid.sizes[layout.stage];
  const auto compute = [&](double units, const std::string& label) {
    for (int layer = 0; layer < my_layers; ++layer) {
      device.compute(rows * units / grid.sizes[layout.tensor], label);
      all_reduce(device, parts, rows * activations);  // new in 3D: in every layer, there and back
    }
  };
  for (int m = 0; m < micro_batches; ++m) {
    if (mine > 0) device.receive(at(mine - 1));
    compute(forward, "F" + std::to_string(m));
    if (mine < last) device.start_send(at(mine + 1), rows * activations);
  }
  for (int m = micro_batches - 1; m >= 0; --m) {
    if (mine < last) device.receive(at(mine + 1));
    compute(backward, "B" + std::to_string(m));
    if (mine > 0) device.start_send(at(mine - 1), rows * activations);
  }
  device.finish_sends();
  all_reduce(device, grid.group(rank, layout.data), my_layers * gradients / grid.sizes[layout.tensor]);
}

double seconds(const Machine& machine, const Layout& layout, int micro_batches) {
  return run(machine, layout.grid.devices(), [&](Device& device) { step(device, layout, micro_batches); }).makespan;
}

int main(int count, char** arguments) {
  return run_main(count, arguments, [](const Settings& settings) {
    print_legend();
    const Layout layout{{{2, 2, 2}}};
    const Run eight = run(settings.machine, 8, [&](Device& device) { step(device, layout, 2); });
    print_timeline(eight, "data 2 x stage 2 x tensor 2, two micro-batches of two groups of rows");
    print_log_of({0}, settings, eight);
    print_speed_up(settings, eight);

    // The work of a unit grows, the messages stay: the third dimension pays where there is more to compute between two sums.
    std::printf("\n%-30s %14s %14s %14s\n", "seconds of a unit of compute", "2D, 4 devices", "3D, 8 devices", "2D / 3D");
    for (const double times : {1, 2, 4, 8, 16}) {
      Machine machine = settings.virtual_time();
      machine.compute *= times;
      const double two = seconds(machine, {{{2, 2, 1}}}, 2), three = seconds(machine, layout, 2);
      std::printf("%-30.2f %12.2f s %12.2f s %14.2f\n", machine.compute, two, three, times_as_fast(two, three));
    }

    // In nodes of two devices some axis stays within a node. It should be the one that sends most often.
    Machine nodes = settings.virtual_time();
    nodes.node = 2;
    std::printf("\nin nodes of two devices, between which messages take %g times as long\n", nodes.between);
    std::printf("within a node: tensor %12.2f s\n", seconds(nodes, {{{2, 2, 2}}, 0, 1, 2}, 2));
    std::printf("within a node: stage  %12.2f s\n", seconds(nodes, {{{2, 2, 2}}, 0, 2, 1}, 2));
    std::printf("within a node: data   %12.2f s\n", seconds(nodes, {{{2, 2, 2}}, 2, 1, 0}, 2));
  });
}
