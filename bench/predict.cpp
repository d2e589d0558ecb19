// SPDX-License-Identifier: MIT
// The clock against this machine: steps of the workloads under ten plans of at most two devices, predicted on a Machine that is measured first, and
// measured in interleaved rounds. The machine knows kernels of other models and messages; no step of these plans goes into it.
// usage: predict [ROUNDS] [abcde]; prints markdown
#include "predicted.hpp"
#include "this_machine.hpp"

using namespace bench;

namespace {

struct Alone {
  static constexpr bool speaks() { return true; }
  static void agree(std::vector<int>&) {}
};

}  // namespace

int main(int count, char** arguments) {
  const Asked asked = Asked::of(count, arguments, "predict");
  Progress progress("predict");
  const Machine machine = this_machine::measured(8, [&](int part, int parts, const char* what) {
    progress.stage(std::string{"the machine, "} + std::to_string(part) + " of " + std::to_string(parts) + ", " + what);
  });
  progress.clear();
  Alone alone;
  Comparison<CpuThreads, Alone>{asked, machine, progress, alone}.run();
}
