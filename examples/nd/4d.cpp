// SPDX-License-Identifier: MIT
// Build: g++ -std=c++20 -O2 -I include examples/nd/4d.cpp -pthread -o 4d && ./4d
// 4D, data x stage x context x tensor: as 3D, and each sequence is cut in two. Attention needs the keys and values of the other half.
#include "step.hpp"
using namespace nd;

enum Axis : std::size_t { data, stage, context, tensor };
constexpr double keys_and_values = 2;  // units of data, of a whole sequence of one group of rows

void step(Device& device, const Grid<4>& grid, int micro_batches) {
  const int rank = device.rank(), mine = grid.coordinate(rank, stage), last = grid.sizes[stage] - 1;
  const std::vector<int> pipeline = grid.group(rank, stage), slices = grid.group(rank, context), parts = grid.group(rank, tensor);
  const auto at = [&](int position) { return pipeline[static_cast<std::size_t>(position)]; };
  const double rows = static_cast<double>(groups) / grid.sizes[data] / micro_batches;  // of which this rank has one slice of each
  const double slice = rows / grid.sizes[context];
  const int my_layers = layers / grid.sizes[stage], my_slice = grid.coordinate(rank, context), all_slices = grid.sizes[context];
  const auto next = static_cast<std::size_t>((my_slice + 1) % all_slices),
             previous = static_cast<std::size_t>((my_slice + all_slices - 1) % all_slices);
  const auto compute = [&](double units, const std::string& label) {
    for (int layer = 0; layer < my_layers; ++layer) {
      for (int hop = 1; hop < all_slices;
           ++hop)  // new in 4D: keys and values pass round (backward, beside their gradients: twice as much, counted once)
        device.send_and_receive(slices[next], slice * keys_and_values / grid.sizes[tensor], slices[previous]);
      device.compute(slice * units / grid.sizes[tensor], label);
      all_reduce(device, parts, slice * activations);
    }
  };
  for (int m = 0; m < micro_batches; ++m) {
    if (mine > 0) device.receive(at(mine - 1));
    compute(forward, "F" + std::to_string(m));
    if (mine < last) device.start_send(at(mine + 1), slice * activations);
  }
  for (int m = micro_batches - 1; m >= 0; --m) {
    if (mine < last) device.receive(at(mine + 1));
    compute(backward, "B" + std::to_string(m));
    if (mine > 0) device.start_send(at(mine - 1), slice * activations);
  }
  device.finish_sends();
  const double own = my_layers * gradients / grid.sizes[tensor];  // slices and replicas have the same parameters: both are summed over
  all_reduce(device, slices, own);
  all_reduce(device, grid.group(rank, data), own);
}

int main(int count, char** arguments) {
  return run_main(count, arguments, [](const Settings& settings) {
    print_legend();
    const Grid<4> grid{{2, 2, 2, 2}};
    const Run sixteen = run(settings.machine, grid.devices(), [&](Device& device) { step(device, grid, 2); });
    print_timeline(sixteen, "data 2 x stage 2 x context 2 x tensor 2, two micro-batches of two groups of rows");
    print_log_of({0}, settings, sixteen);
    print_speed_up(settings, sixteen);

    // One dimension after another, on the tutorial's machine and on one whose units of compute take longer.
    struct Row {
      const char* name;
      Grid<4> grid;
    };
    const std::vector<Row> rows{{"0D", {{1, 1, 1, 1}}},
                                {"1D: data 2", {{2, 1, 1, 1}}},
                                {"2D: data 2 x stage 2", {{2, 2, 1, 1}}},
                                {"3D: data 2 x stage 2 x tensor 2", {{2, 2, 1, 2}}},
                                {"4D: data 2 x stage 2 x context 2 x tensor 2", grid}};
    std::printf("\n%-43s %7s", "step (speed-up)", "devices");
    for (const double times : {1, 4, 16}) std::printf(" %9.1f s/unit", times * settings.machine.compute);
    std::printf("\n");
    for (const Row& row : rows) {
      std::printf("%-43s %7d", row.name, row.grid.devices());
      for (const double times : {1, 4, 16}) {
        Machine machine = settings.virtual_time();
        machine.compute *= times;
        const double seconds = run(machine, row.grid.devices(), [&](Device& device) { step(device, row.grid, 2); }).makespan;
        std::printf(" %8.2f (%5.2f)", seconds, times_as_fast(whole_step * machine.compute, seconds));
      }
      std::printf("\n");
    }
  });
}
