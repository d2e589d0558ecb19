// SPDX-License-Identifier: MIT
// The differential oracle where every rank is a process: all of them find the same, and what only one of them computes wrongly is found by all.
#include <doctest/doctest.h>

#include <string>

#include "equivalence/equal.hpp"
#include "heddle/backend/cpu_mpi.hpp"
#include "transport/mpi_ranks.hpp"

using namespace equivalence;
using heddle::tests::FirstRanks;

namespace {

struct Model : Sequential<Named<"first", Linear<6, 8>>, GELU, Named<"middle", Residual<Linear<8, 8>, Tanh>>, Named<"last", Linear<8, 4>>> {};
template <class... Parts> using Of = Plan<Model, CrossEntropy, Adam, Batch<16, KeepLast>, Parts...>;

bool broken_here = false;
/// Kernels that compute a wrong number in one process.
struct Broken : EigenCompute {};
struct OnBroken : CpuMpi {
  using Compute = Broken;
};

template <class ThePlan, class Backend = CpuMpi> [[nodiscard]] std::string verified(std::int64_t count = 16) {
  const FirstRanks ranks{devices<ThePlan>};
  if (!ranks.taking_part()) return "";
  const auto rows = rows_of<ThePlan>(16);
  // Terms of one product: at most 16. Each of the few sums between two tensors moves by at most 16 x 2^-24 = 1e-6 of its largest term.
  const Verification found = verify<ThePlan, Backend>(rows.batch(0, count), Seed{3}, 2e-5);
  CHECK(found.first_process == (ranks.rank() == 0));
  CHECK(found.tensors > (found.ok() ? 20 : 0));
  return found.text;
}

}  // namespace

namespace heddle {
template <> struct Kernel<Linear<8, 8>, Broken> : Kernel<Linear<8, 8>, EigenCompute> {
  static void forward(const ForwardCall& call) {
    Kernel<Linear<8, 8>, EigenCompute>::forward(call);
    if (broken_here && call.rows > 0) call.output[2] += 0.5F;
  }
};
}  // namespace heddle

TEST_CASE("plans on processes agree with one device on the reference kernels, in every process") {
  CHECK(verified<Of<DataParallel<4>>>() == "");
  CHECK(verified<Of<DataParallel<4>>>(5) == "");  // two processes have no rows
  CHECK(verified<Of<Hybrid<Pipeline<Balanced<2>, OneFOneB, Microbatches<2>>, DataParallel<2>>>>() == "");
  CHECK(verified<Of<Hybrid<TensorParallel<2>, Sharded<2>>>>() == "");
  CHECK(verified<Of<Hybrid<Pipeline<Balanced<2>, ZeroBubbleH1, Microbatches<4>>, TensorParallel<2>>>>(11) == "");
  CHECK(verified<Of<Single>>() == "");
}

TEST_CASE("what one process computes wrongly is named by all of them") {
  int mine = 0;
  MPI_Comm_rank(MpiProcess::instance().world(), &mine);
  broken_here = mine == 2;
  const std::string words = "[heddle.R06] the output of layer 2 'middle.0' Linear<8, 8> differs at row 8, column 2";
  CHECK(verified<Of<DataParallel<4>>, OnBroken>().find(words) == 0);
  broken_here = mine == 1;  // the second stage, as long as it has the layer
  CHECK(verified<Of<Pipeline<Stage<Sequential<Named<"first", Linear<6, 8>>, GELU>>,
                             Stage<Sequential<Named<"middle", Residual<Linear<8, 8>, Tanh>>, Named<"last", Linear<8, 4>>>>>>,
                 OnBroken>()
            .find(mine < 2 ? "differs at row 0, column 2" : "") != std::string::npos);
}
