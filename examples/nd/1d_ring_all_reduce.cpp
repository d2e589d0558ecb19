// SPDX-License-Identifier: MIT
// Build: g++ -std=c++20 -O2 -I include examples/nd/1d_ring_all_reduce.cpp -pthread -o 1d_ring_all_reduce && ./1d_ring_all_reduce
// The ring all-reduce, drawn: N devices sum what each has in 2 (N-1) steps, in each of which every device sends one chunk, an N-th, to the next.
#include "step.hpp"
using namespace nd;

constexpr int devices = 4;
constexpr double units = layers * gradients;  // of data that each device has, all chunks together
constexpr int steps = 2 * (devices - 1);

/// The chunks of one rank. Rank r begins with 2^r in each chunk, so the bits of a chunk say whose values are in its sum; a sum of all is 15.
using Chunks = std::vector<int>;

/// Reduce-scatter: a received chunk is added. All-gather: it is whole and replaces the old one.
void ring(Device& device, std::vector<std::vector<Chunks>>& after) {
  const int me = device.rank(), n = device.devices();
  Chunks chunks(static_cast<std::size_t>(n), 1 << me);
  after[0][static_cast<std::size_t>(me)] = chunks;
  for (int step = 0; step < steps; ++step) {
    const bool adds = step < n - 1;
    const auto sent = static_cast<std::size_t>((me - step + 2 * n) % n), received = static_cast<std::size_t>((me - step - 1 + 2 * n) % n);
    const Values values = device.send_and_receive((me + 1) % n, units / n, (me + n - 1) % n, {chunks[sent]});
    chunks[received] = values[0] + (adds ? chunks[received] : 0);
    after[static_cast<std::size_t>(step + 1)][static_cast<std::size_t>(me)] = chunks;
  }
}
/// What a class does first: everyone sends all to rank 0, which sums and sends the sum back.
void through_rank_0(Device& device) {
  if (device.rank() > 0) {
    device.send(0, units);
    device.receive(0);
  } else {
    for (int r = 1; r < device.devices(); ++r) device.receive(r);
    for (int r = 1; r < device.devices(); ++r) device.start_send(r, units);
  }
}

std::string ranks_in(int sum) {
  std::string digits;
  for (int r = 0; r < devices; ++r) digits += (sum >> r & 1) == 1 ? static_cast<char>('0' + r) : '.';
  return digits;
}
/// Some steps side by side; what a rank has received in a step stands in brackets.
void print_steps(const std::vector<std::vector<Chunks>>& after, int first, int last) {
  std::vector<std::string> lines(devices + 1, "      ");
  for (std::size_t r = 0; r < devices; ++r) lines[r + 1] = name_of(static_cast<int>(r));
  for (int step = first; step <= last; ++step) {
    lines[0] += step == 0 ? "    each has its own" : "    after step " + std::to_string(step);
    for (std::size_t r = 0; r < devices; ++r) {
      lines[r + 1] += "  ";
      const Chunks &now = after[static_cast<std::size_t>(step)][r], &before = after[static_cast<std::size_t>(std::max(step - 1, 0))][r];
      for (std::size_t c = 0; c < devices; ++c) lines[r + 1] += now[c] != before[c] ? "[" + ranks_in(now[c]) + "]" : " " + ranks_in(now[c]) + " ";
    }
    lines[0].resize(lines[1].size(), ' ');
  }
  for (const std::string& line : lines) std::printf("%s\n", line.substr(0, line.find_last_not_of(' ') + 1).c_str());
}

int main(int count, char** arguments) {
  return run_main(count, arguments, [](const Settings& settings) {
    std::vector<std::vector<Chunks>> after(steps + 1, std::vector<Chunks>(devices));
    const Run summed = run(settings.machine, devices, [&](Device& device) { ring(device, after); });
    std::printf("Digits are the ranks whose values are in a chunk. A chunk in brackets has just come.\n\n");
    print_steps(after, 0, 0);
    std::puts("\nreduce-scatter: each rank adds what comes to its own chunk, until it has one chunk of all ranks");
    print_steps(after, 1, devices - 1);
    std::puts("\nall-gather: the chunks of all ranks go round");
    print_steps(after, devices, steps);
    for (const Chunks& chunks : after[steps])
      for (const int sum : chunks)
        if (sum != (1 << devices) - 1) throw Refused("A chunk has the sum " + std::to_string(sum) + ". Fix: look at the order of the chunks.");
    std::printf("\nevery rank has the sum of all ranks after %d steps\n\n", steps);

    print_timeline(summed, "= sends and receives a chunk of " + number(units / devices) + " units");
    print_log_of({0}, settings, summed);
    const Machine machine = settings.virtual_time();
    const double closed = all_reduce_seconds(machine, devices, units);
    std::printf("closed form 2 (N-1) (latency + units / N x time of a unit + acknowledgement) = %.2f s\n", closed);
    if (machine.node > 0)
      std::puts("links are not alike here, and the formula is one of equal links");
    else if (std::fabs(closed - summed.makespan) > 1e-9)
      throw Refused("The simulated time is " + number(summed.makespan) + " s, the closed form says " + number(closed) + " s.");
    else
      std::puts("the simulated time is the same");
    std::printf("\n%7s %12s %20s\n", "devices", "ring, s", "through rank 0, s");
    for (const int n : {2, 4, 8, 16}) {
      const auto one_ring = [&](Device& device) { all_reduce(device, Grid<1>{{n}}.group(device.rank(), 0), units); };
      std::printf("%7d %12.2f %20.2f\n", n, run(machine, n, one_ring).makespan, run(machine, n, through_rank_0).makespan);
    }
    std::puts("\nIf every device waits until its chunk is acknowledged, and only then receives:");
    try {
      run(machine, devices, [&](Device& device) {
        device.send((device.rank() + 1) % devices, units / devices);
        device.receive((device.rank() + devices - 1) % devices);
      });
    } catch (const Refused& refused) {
      std::puts(refused.what());
    }
  });
}
