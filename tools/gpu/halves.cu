// SPDX-License-Identifier: MIT
// Arithmetic of fewer bits on this card: kernels in bfloat16 against themselves in float32, products in TF32 against loops in double, and a step of
// GPT-2 small in float32, TF32 and bfloat16 beside each other.
#include <cstdio>
#include <exception>
#include <string>

#include "rooms.hpp"  // names of all rooms, as tests see them
// clang-format off: they come first
#include "conformance/bfloat16.hpp"
#include "conformance/compute.hpp"
#include "conformance/cuda.hpp"
#include "conformance/layers.hpp"
#include "gpt2.hpp"
#include "heddle/backend/cuda_one_card.hpp"
#include "heddle/backend/cuda_tf32.hpp"
#include "heddle/core/type_name.hpp"
#include "rows.hpp"

using namespace plans_on_cards;

namespace {

template <class Law> void law_row(const std::string& name, const char* arithmetic, Law law) {
  std::string broken;
  try {
    broken = law();
  } catch (const std::exception& error) {
    broken = error.what();
  }
  if (!broken.empty()) ++wrong;
  std::printf("| %s | %s | %s |\n", name.c_str(), arithmetic, broken.empty() ? "yes" : ("NO: " + broken).c_str());
  std::fflush(stdout);
}

template <class L> void layer_rows(gpu_check::Rows& rows) {
  using namespace conformance;
  const std::string name{type_name<L>().view()};
  if constexpr (run_room::TakesBFloat16<L, CudaCompute>)
    rows.each([&] { law_row(name, "bfloat16", [] { return broken_law_of_bfloat16<L, UploadedCuda, UploadedHalves>(20); }); });
  if constexpr (asks_for_products<L>)
    rows.each([&] { law_row(name, "TF32", [] { return broken_law_of_layer<L, UploadedTF32>(20, Asked::all, precision_of_tf32); }); });
}
void laws(gpu_check::Rows& rows) {
  rows.each([] { std::printf("| kernel | in | the numbers of float32 rounded once, or of loops in double within TF32 |\n|---|---|---|\n"); });
  conformance::for_each_of<conformance::Layers>([&]<class L> { layer_rows<L>(rows); });
  conformance::for_each_of<conformance::Losses>([&]<class Loss> {
    rows.each([] {
      law_row(std::string{Loss::name()}, "bfloat16",
              [] { return conformance::broken_law_of_loss_in_bfloat16<Loss, conformance::UploadedCuda, conformance::UploadedHalves>(40); });
    });
  });
}
void steps(gpu_check::Rows& rows) {
  rows.each([] { gpt2_head(); });
  rows.each([] { gpt2_row<16, CudaOneCard>("16 rows, float32"); });
  rows.each([] { gpt2_row<16, AllowTF32<CudaOneCard>>("16 rows, TF32"); });
  rows.each([] { gpt2_row<16, CudaOneCard, Mixed<BFloat16>>("16 rows, Mixed<BFloat16>"); });
  rows.each([] { gpt2_row<16, AllowTF32<CudaOneCard>, Mixed<BFloat16>>("16 rows, Mixed<BFloat16>, TF32 for what has copies"); });
}

}  // namespace

int main(int count, char** given) {
  gpu_check::Rows rows(count, given, wrong);
  const bool steps_alone = rows.kept() == std::vector<std::string>{"steps"}, laws_alone = rows.kept() == std::vector<std::string>{"laws"};
  if (!steps_alone) laws(rows);
  if (!laws_alone) steps(rows);
  std::printf("\nhalves: %d rows wrong\n", wrong);
  return wrong == 0 ? 0 : 1;
}
