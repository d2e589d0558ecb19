// SPDX-License-Identifier: MIT
// Build: g++ -std=c++20 -O2 -I include examples/nd/2d.cpp -pthread -o 2d && ./2d
// 2D, data x stage: two copies of a pipeline of two stages. Rank = 2 x replica + stage.
#include "step.hpp"
using namespace nd;

enum Axis : std::size_t { data, stage };

void step(Device& device, const Grid<2>& grid, int micro_batches) {
  const int rank = device.rank(), mine = grid.coordinate(rank, stage), last = grid.sizes[stage] - 1;
  const std::vector<int> pipeline = grid.group(rank, stage);
  const auto at = [&](int position) { return pipeline[static_cast<std::size_t>(position)]; };
  const double rows = static_cast<double>(groups) / grid.sizes[data] / micro_batches;
  const double part = static_cast<double>(layers) / grid.sizes[stage];
  for (int m = 0; m < micro_batches; ++m) {
    if (mine > 0) device.receive(at(mine - 1));
    device.compute(rows * part * forward, "F" + std::to_string(m));
    if (mine < last) device.start_send(at(mine + 1), rows * activations);
  }
  for (int m = micro_batches - 1; m >= 0; --m) {
    if (mine < last) device.receive(at(mine + 1));
    device.compute(rows * part * backward, "B" + std::to_string(m));
    if (mine > 0) device.start_send(at(mine - 1), rows * activations);
  }
  device.finish_sends();
  all_reduce(device, grid.group(rank, data), part * gradients);  // of this stage's layers alone
}

int main(int count, char** arguments) {
  return run_main(count, arguments, [](const Settings& settings) {
    print_legend();
    const Grid<2> grid{{2, 2}};
    const auto of = [&](const Grid<2>& sizes) { return [sizes](Device& device) { step(device, sizes, 4); }; };
    const Run four = run(settings.machine, grid.devices(), of(grid));
    print_timeline(four, "data 2 x stage 2, four micro-batches of one group of rows");
    print_log_of({0, 1}, settings, four);
    print_speed_up(settings, four);

    std::printf("\n%4s %5s %7s %12s %10s\n", "data", "stage", "devices", "makespan, s", "speed-up");
    const Machine machine = settings.virtual_time();
    for (const Grid<2>& sizes :
         {Grid<2>{{1, 2}}, Grid<2>{{2, 1}}, Grid<2>{{1, 4}}, Grid<2>{{2, 2}}, Grid<2>{{4, 1}}, Grid<2>{{2, 4}}, Grid<2>{{4, 2}}}) {
      const double seconds = run(machine, sizes.devices(), of(sizes)).makespan;
      std::printf("%4d %5d %7d %12.2f %10.2f\n", sizes.sizes[data], sizes.sizes[stage], sizes.devices(), seconds,
                  times_as_fast(whole_step * machine.compute, seconds));
    }
  });
}
