// SPDX-License-Identifier: MIT
// Build: g++ -std=c++20 -O2 -I include examples/nd/1d_data.cpp -pthread -o 1d_data && ./1d_data
// 1D, data parallel: each device has the whole model and some of the rows. At the end of a step all devices sum their gradients.
#include <algorithm>

#include "step.hpp"
using namespace nd;

void step(Device& device) {
  const Grid<1> grid{{device.devices()}};
  const double mine = static_cast<double>(groups) / device.devices();
  for (int layer = 0; layer < layers; ++layer) device.compute(mine * forward, "F" + std::to_string(layer));
  for (int layer = layers - 1; layer >= 0; --layer) device.compute(mine * backward, "B" + std::to_string(layer));
  all_reduce(device, grid.group(device.rank(), 0), layers * gradients);
}

int main(int count, char** arguments) {
  return run_main(count, arguments, [](const Settings& settings) {
    print_legend();
    const Run four = run(settings.machine, 4, step);
    print_timeline(four, "data 4: two groups of rows each, then 6 exchanges of a ring");
    print_log_of({0}, settings, four);
    print_speed_up(settings, four);

    // The work is divided by the devices. The gradients are not: each device sends nearly all of them twice, in more and more messages.
    std::printf("\n%7s %12s %12s %12s %10s\n", "devices", "compute, s", "ring, s", "makespan, s", "speed-up");
    const Machine machine = settings.virtual_time();
    const double alone = whole_step * machine.compute;
    int first = 0;
    for (const int devices : {1, 2, 4, 8, 16}) {
      const double step_seconds = run(machine, devices, step).makespan;
      if (first == 0 && step_seconds < alone - 1e-9) first = devices;
      std::printf("%7d %12.2f %12.2f %12.2f %10.2f\n", devices, alone / devices, std::max(0.0, step_seconds - alone / devices), step_seconds,
                  times_as_fast(alone, step_seconds));
    }
    if (first == 0) std::puts("on this machine no number of devices is faster than one");
    if (first > 0) std::printf("it first pays on %d devices\n", first);
  });
}
