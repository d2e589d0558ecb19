// SPDX-License-Identifier: MIT
// Leaves that use the parameters of another, on processes: the bits of one device. Runs with four processes; a plan of fewer ranks takes the first.
#include "equivalence/processes.hpp"

using namespace equivalence;

namespace {

using Wte = Linear<16, 19, NoBias>;
struct Language : Sequential<Linear<23, 16>, Named<"wte", Wte>, Tanh, Linear<19, 16>, Tied<"middle", Wte, To<"wte">>, GELU, Linear<19, 16>,
                             Tied<"head", Wte, To<"wte">>> {};
template <class... Parts> using Of = Plan<Language, CrossEntropy, Adam, Batch<32, KeepLast>, Grain<4>, Clip<GlobalNorm>, Parts...>;

struct Outcome {
  std::vector<std::vector<float>> parameters;
  std::vector<float> norms;
  std::vector<float> head;
};

template <class ThePlan, class Backend> [[nodiscard]] Outcome trained() {
  const auto rows = rows_of<ThePlan>(64);
  Trainer<ThePlan, Backend> trainer{settings<Adam>(), Seed{5}};
  trainer.set_parameter("head.weight", std::vector<float>(16 * 19, 0.25F));
  Outcome out;
  for (int step = 0; step < 10; ++step) out.norms.push_back(trainer.step(rows.batch(3 * step, step == 4 ? 9 : 32)).norm.value());
  for (const std::string& name : trainer.parameter_names()) out.parameters.push_back(trainer.parameter(name, trainer.replicas() - 1));
  out.head = trainer.parameter("head.weight");
  return out;
}

template <class ThePlan> void check_processes() {
  CAPTURE(devices<ThePlan>);
  check_promises<ThePlan>();
  const FirstRanks ranks{devices<ThePlan>};
  if (!ranks.taking_part()) return;
  static const Outcome wanted = trained<Of<Single>, CpuThreads>();
  const Outcome got = trained<ThePlan, CpuMpi>();
  CHECK(equal_bits(got.norms, wanted.norms));
  CHECK(equal_bits(got.head, wanted.head));
  REQUIRE(got.parameters.size() == wanted.parameters.size());
  for (std::size_t p = 0; p < wanted.parameters.size(); ++p) CHECK(equal_bits(got.parameters[p], wanted.parameters[p]));
}

}  // namespace

TEST_CASE("two and three owners on processes exchange slices and train to the bits of one device") {
  check_processes<Of<Pipeline<Balanced<3>, OneFOneB, Microbatches<4>>>>();
  check_processes<Of<Hybrid<Pipeline<Balanced<2>, OneFOneB, Microbatches<2>>, Sharded<2>>>>();
  check_processes<Of<Hybrid<DataParallel<2>, Pipeline<Balanced<2>>>>>();
}
