// SPDX-License-Identifier: MIT
// Build: g++ -std=c++20 -O2 -I include examples/nd/0d.cpp -pthread -o 0d && ./0d
// 0D: one device does it all. Options change the machine, --real makes the clock a real one: see read_options in step.hpp.
#include "step.hpp"
using namespace nd;

void step(Device& device) {
  for (int layer = 0; layer < layers; ++layer) device.compute(groups * forward, "F" + std::to_string(layer));
  for (int layer = layers - 1; layer >= 0; --layer) device.compute(groups * backward, "B" + std::to_string(layer));
}

int main(int count, char** arguments) {
  return run_main(count, arguments, [](const Settings& settings) {
    print_legend();
    const Run alone = run(settings.machine, 1, step);
    print_timeline(alone, "0D, F and B of each layer for all eight groups of rows");
    print_log_of({}, settings, alone);
    print_speed_up(settings, alone);
  });
}
