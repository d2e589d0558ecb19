// SPDX-License-Identifier: MIT
// Each kernel of Heddle on this card against loops in double: the laws that tests/conformance asks of every Compute.
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>

#include "rooms.hpp"  // names of all rooms, as tests see them
// clang-format off: they come first
#include "conformance/compute.hpp"
#include "conformance/cuda.hpp"
#include "conformance/layers.hpp"
#include "heddle/backend/cuda.hpp"
#include "heddle/core/type_name.hpp"
#include "rows.hpp"

using namespace heddle;

namespace {

int wrong = 0;

template <class Law> void row(const std::string& name, Law law) {
  std::string broken;
  try {
    broken = law();
  } catch (const std::exception& error) {
    broken = error.what();
  }
  if (!broken.empty()) ++wrong;
  std::printf("| %s | %s |\n", name.c_str(), broken.empty() ? "yes" : ("NO: " + broken).c_str());
  std::fflush(stdout);
}

}  // namespace

int main(int count, char** given) {
  gpu_check::Rows rows(count, given, wrong);
  const int trials = rows.kept().empty() ? 30 : std::atoi(rows.kept()[0].c_str());  // of a layer; a sanitizer is given fewer
  rows.each([] { std::printf("| kernel | agrees with loops in double, and keeps to its tensors |\n|---|---|\n"); });
  conformance::for_each_of<conformance::Layers>([&]<class L> {
    rows.each(
        [&] { row(std::string{type_name<L>().view()}, [&] { return conformance::broken_law_of_layer<L, conformance::UploadedCuda>(trials); }); });
  });
  conformance::for_each_of<conformance::Losses>([&]<class Loss> {
    rows.each([&] { row(std::string{Loss::name()}, [&] { return conformance::broken_law_of_loss<Loss, conformance::UploadedCuda>(2 * trials); }); });
  });
  conformance::for_each_of<conformance::Optimizers>([&]<class O> {
    rows.each([&] { row(std::string{O::name()}, [] { return conformance::broken_law_of_optimizer<O, conformance::UploadedCuda>(); }); });
  });
  rows.each([&] { row("sums, copies, zeros", [] { return conformance::broken_law_of_arrays<conformance::UploadedCuda>(); }); });
  std::printf("\nkernels: %d rows wrong\n", wrong);
  return wrong == 0 ? 0 : 1;
}
