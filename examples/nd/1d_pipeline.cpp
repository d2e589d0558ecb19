// SPDX-License-Identifier: MIT
// Build: g++ -std=c++20 -O2 -I include examples/nd/1d_pipeline.cpp -pthread -o 1d_pipeline && ./1d_pipeline
// 1D, model parallel: each device has one layer, the rows pass from device to device. Micro-batches let the devices work at the same time.
#include "step.hpp"
using namespace nd;

enum class Sends { wait, beside_work };

void step(Device& device, int micro_batches, Sends sends) {
  const int stage = device.rank(), last = device.devices() - 1;
  const double rows = static_cast<double>(groups) / micro_batches, mine = static_cast<double>(layers) / device.devices();
  const auto send = [&](int to) { sends == Sends::wait ? device.send(to, rows * activations) : device.start_send(to, rows * activations); };
  for (int m = 0; m < micro_batches; ++m) {
    if (stage > 0) device.receive(stage - 1);
    device.compute(rows * mine * forward, "F" + std::to_string(m));
    if (stage < last) send(stage + 1);
  }
  for (int m = micro_batches - 1; m >= 0; --m) {
    if (stage < last) device.receive(stage + 1);
    device.compute(rows * mine * backward, "B" + std::to_string(m));
    if (stage > 0) send(stage - 1);
  }
}

int main(int count, char** arguments) {
  return run_main(count, arguments, [](const Settings& settings) {
    print_legend();
    const auto shown = [&](int micro_batches, Sends sends, const char* title) {
      const Run four = run(settings.machine, layers, [&](Device& device) { step(device, micro_batches, sends); });
      print_timeline(four, title);
      return four;
    };
    const Run whole = shown(1, Sends::wait, "stage 4, the whole batch at once");
    print_log_of({}, settings, whole);
    print_speed_up(settings, whole);
    std::puts("");
    print_speed_up(settings, shown(4, Sends::wait, "stage 4, four micro-batches; a device waits until its message is acknowledged"));
    std::puts("");
    print_speed_up(settings, shown(4, Sends::beside_work, "stage 4, four micro-batches; messages leave while the device computes"));

    // More micro-batches fill the pipeline, and each of them has its own messages.
    std::printf("\n%-13s %12s %14s %12s %14s %22s\n", "micro-batches", "waiting, s", "devices idle", "beside, s", "devices idle",
                "idle, free messages");
    const Machine machine = settings.virtual_time();
    for (const int m : {1, 2, 4, 8}) {
      std::printf("%-13d", m);
      const double busy = whole_step * machine.compute / layers;  // of each device
      for (const Sends sends : {Sends::wait, Sends::beside_work}) {
        const double seconds = run(machine, layers, [&](Device& device) { step(device, m, sends); }).makespan;
        std::printf(" %12.2f %12.1f %%", seconds, 100 * (1 - times_as_fast(busy, seconds)));
      }
      std::printf(" %20.1f %%\n", 100.0 * (layers - 1) / (m + layers - 1));
    }
  });
}
