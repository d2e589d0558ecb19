// SPDX-License-Identifier: MIT
// Build: g++ -std=c++20 -O2 -I include examples/nd/1d_tensor.cpp -pthread -o 1d_tensor && ./1d_tensor
// 1D, tensor parallel: each device has a part of every layer and computes it for all rows. The parts of each output are summed before the next layer.
#include <algorithm>

#include "step.hpp"
using namespace nd;

void step(Device& device) {
  const std::vector<int> everyone = Grid<1>{{device.devices()}}.group(device.rank(), 0);
  const double part = static_cast<double>(groups) / device.devices();
  for (int layer = 0; layer < layers; ++layer) {
    device.compute(part * forward, "F" + std::to_string(layer));
    all_reduce(device, everyone, groups * activations);
  }
  for (int layer = layers - 1; layer >= 0; --layer) {
    device.compute(part * backward, "B" + std::to_string(layer));
    all_reduce(device, everyone, groups * activations);
  }
}

int main(int count, char** arguments) {
  return run_main(count, arguments, [](const Settings& settings) {
    print_legend();
    const Run two = run(settings.machine, 2, step);
    print_timeline(two, "tensor 2: half of every layer, and a sum behind each half");
    print_log_of({0}, settings, two);
    print_speed_up(settings, two);

    // The sums take as long for many devices as for few, or longer; the work between them gets shorter.
    std::printf("\n%7s %12s %12s %12s %10s\n", "devices", "compute, s", "sums, s", "makespan, s", "speed-up");
    const Machine machine = settings.virtual_time();
    const double alone = whole_step * machine.compute;
    for (const int devices : {1, 2, 4, 8}) {
      const double seconds = run(machine, devices, step).makespan;
      std::printf("%7d %12.2f %12.2f %12.2f %10.2f\n", devices, alone / devices, std::max(0.0, seconds - alone / devices), seconds,
                  times_as_fast(alone, seconds));
    }
  });
}
