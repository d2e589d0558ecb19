// SPDX-License-Identifier: MIT
// Plans on cards whose products are tried before the first step; the emulator stands for cards, and says how long each way takes.
#include "heddle/backend/cuda_autotuned.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "backend/plans_on_cards.hpp"
#include "heddle/backend/cuda_one_card.hpp"
#include "heddle/backend/cuda_tf32.hpp"
#include "heddle/backend/cuda_threads.hpp"
#include "heddle/heddle.hpp"
#include "io/idx_bytes.hpp"

using namespace heddle;
using extending::Autotuned;
using idx_bytes::Folder;
using plans_on_cards::Cards;
using plans_on_cards::said;

namespace {

struct Net : Sequential<Linear<16, 32>, GELUTanh, Linear<32, 24>, ReLU, Linear<24, 10>> {};
template <class... Parts> using Of = Plan<Net, CrossEntropy, AdamW, Batch<16, KeepLast>, Parts...>;
constexpr cuda_emulator::Options timed{.devices = 2, .known_times = true, .fastest = 2, .relu_keeps_nan = true};

struct Drawn {
  std::vector<float> inputs;
  std::vector<std::int32_t> labels;
  Drawn(int rows, int seed) {
    for (int i = 0; i < rows * 16; ++i) inputs.push_back(static_cast<float>((37 * i + 11 * seed) % 127 - 60) / 64.0F);
    for (int i = 0; i < rows; ++i) labels.push_back((7 * i + seed) % 10);
  }
  [[nodiscard]] auto batch() const { return examples(inputs, labels, 16); }
};
template <class ThePlan, class Backend> std::vector<float> weights_after(int steps) {
  Trainer<ThePlan, Backend> trainer{{.learning_rate = 1e-2}, Seed{3}};
  for (int s = 0; s < steps; ++s) trainer.step(Drawn(s == 2 ? 11 : 16, s).batch());
  return trainer.parameter("2.weight");
}
double apart(const std::vector<float>& a, const std::vector<float>& b) {
  double far = 0;
  for (std::size_t i = 0; i < a.size(); ++i) far = std::max(far, std::abs(static_cast<double>(a[i]) - static_cast<double>(b[i])));
  return far;
}
int count(const std::vector<std::string>& all, const std::string& words) {
  return static_cast<int>(std::count_if(all.begin(), all.end(), [&](const std::string& s) { return s.find(words) != std::string::npos; }));
}

}  // namespace

TEST_CASE("tuned plans train as cores do under all policies, and with the emulated times that are best together") {
  const Cards cards{timed};
  const std::vector<float> cores = weights_after<Of<Single>, CpuThreads>(5);
  const std::vector<float> tuned = weights_after<Of<Single>, Autotuned<CudaOneCard>>(5);
  CHECK(apart(tuned, cores) < 1e-4);
  CHECK(tuned != weights_after<Of<Single>, CudaOneCard>(5));
  CHECK(tuned == weights_after<Of<Single>, Autotuned<CudaOneCard>>(5));
  CHECK(apart(weights_after<Of<DataParallel<2>>, Autotuned<CudaOneCard>>(5), cores) < 1e-4);
  CHECK(apart(weights_after<Of<TensorParallel<2>>, Autotuned<CudaOneCard>>(5), cores) < 1e-4);
  CHECK(apart(weights_after<Of<Pipeline<Balanced<2>, OneFOneB, Microbatches<4>>>, Autotuned<CudaOneCard>>(5), cores) < 1e-4);
  CHECK(apart(weights_after<Of<Sharded<2>>, Autotuned<CudaThreads>>(5), cores) < 1e-4);
  CHECK(apart(weights_after<Of<Single>, AllowTF32<Autotuned<CudaOneCard>>>(5), cores) < 1e-2);
  using InHalves = Plan<Net, CrossEntropy, SGD, Batch<16, KeepLast>, Single, Mixed<BFloat16>>;
  const std::vector<float> start = weights_after<InHalves, CpuThreads>(0), halves = weights_after<InHalves, CpuThreads>(5);
  CHECK(apart(weights_after<InHalves, Autotuned<CudaOneCard>>(5), halves) < 0.03 * apart(halves, start));
}

TEST_CASE("what lies between a product and a function is there where anybody reads it again, and an evaluation has it in place") {
  struct Forked : Sequential<Linear<16, 32>, Residual<ReLU>, Linear<32, 24>, Residual<GELUTanh>, Linear<24, 24>, GELUTanh, Linear<24, 10>> {};
  using P = Plan<Forked, CrossEntropy, SGD, Batch<16>, Single>;
  const Cards cards{timed};
  const auto run = [](auto backend) {
    Trainer<P, decltype(backend)> trainer{{.learning_rate = 0.1}, Seed{3}};
    for (int s = 0; s < 4; ++s) trainer.step(Drawn(16, s).batch());
    std::vector<float> seen = trainer.parameter("0.weight");
    seen.push_back(static_cast<float>(trainer.evaluate(Drawn(16, 9).batch()).loss));
    return seen;
  };
  CHECK(apart(run(Autotuned<CudaOneCard>{}), run(CpuThreads{})) < 1e-5);
}

TEST_CASE("a trainer says what was found; without the word it says nothing") {
  const Cards cards{timed};
  const Trainer<Of<Single>, CudaOneCard> alone{{}, Seed{1}};
  CHECK(Trainer<Of<Single>, CudaOneCard>{{}, Seed{1}}.session().layers_of_library().empty());
  Trainer<Of<Single>, Autotuned<CudaOneCard>> trainer{{}, Seed{1}};
  const std::vector<std::string> all = trainer.session().layers_of_library();
  CHECK(count(all, "the product of 16 x 16 and 16 x 32 (transposed) in float32: choice 3 of 8, 1000.0 us; the first choice takes 2000.0 us.") == 1);
  CHECK(count(all, " with GELUTanh: 1000.0 us; one behind the other 2000.0 us, so together.") == 1);
  CHECK(count(all, " with the gradient of GELUTanh: 1000.0 us; one behind the other 2000.0 us, so together.") == 1);
  CHECK(count(all, " with ReLU: 1000.0 us; one behind the other 2000.0 us, so together.") == 1);
  CHECK(count(all, " with the gradient of the bias: 1000.0 us; one behind the other 2000.0 us, so together.") == 3);
  CHECK(count(all, "so apart") == 0);
}

TEST_CASE("what is together is one launch less, and the third step of a kind is one launch of a graph without a question") {
  const Cards cards{timed};
  const auto kernels_of_a_step = [](auto& trainer) {
    for (int s = 0; s < 2; ++s) trainer.step(Drawn(16, s).batch());
    const cuda_emulator::Counts before = cuda_emulator::counts();
    trainer.step(Drawn(16, 2).batch());
    const cuda_emulator::Counts after = cuda_emulator::counts();
    CHECK(after.graph_launches - before.graph_launches == 1);
    CHECK(after.allocations == before.allocations);
    CHECK(after.descriptors == before.descriptors);
    CHECK(after.heuristics == before.heuristics);
    CHECK(after.products - before.products == 8);
    return after.kernels - before.kernels;
  };
  Trainer<Of<Single>, CudaOneCard> usual{{}, Seed{1}};
  Trainer<Of<Single>, Autotuned<CudaOneCard>> tuned{{}, Seed{1}};
  CHECK(kernels_of_a_step(usual) - kernels_of_a_step(tuned) == 2 + 1 + 3);  // two functions forward, one back, three sums for biases
}

TEST_CASE("an epilogue that is slower, or loses a NaN, is left apart, with the bits of a plan that is not tuned") {
  cuda_emulator::Options slow = timed;
  slow.algorithms = 1;
  slow.epilogue_ms = 3;
  const Cards cards{slow};
  CHECK(weights_after<Of<Single>, Autotuned<CudaOneCard>>(5) == weights_after<Of<Single>, CudaOneCard>(5));
  Trainer<Of<Single>, Autotuned<CudaOneCard>> trainer{{}, Seed{1}};
  CHECK(count(trainer.session().layers_of_library(), ", so apart.") == 6);
  cuda_emulator::Options losing = timed;
  losing.relu_keeps_nan = false;
  cuda_emulator::reset(losing);
  Trainer<Of<Single>, Autotuned<CudaOneCard>> other{{}, Seed{1}};
  const std::vector<std::string> all = other.session().layers_of_library();
  CHECK(count(all, " with ReLU: 1000.0 us; one behind the other 2000.0 us, but it makes a number of NaN, so apart.") == 1);
  CHECK(count(all, "so together") == 5);
}

TEST_CASE("where the card has no room beside the plan products are not timed, and that is said") {
  const std::size_t needed = [] {
    cuda_emulator::reset({.devices = 1});
    const Trainer<Of<Single>, CudaOneCard> trainer{{}, Seed{1}};
    return cuda_emulator::peak_bytes(0);
  }();
  cuda_emulator::Options full = timed;
  full.device_bytes = needed + 512;
  const Cards cards{full};
  Trainer<Of<Single>, Autotuned<CudaOneCard>> trainer{{}, Seed{1}};
  CHECK(count(trainer.session().layers_of_library(), " was not timed: the card has no room for it beside the plan.") > 0);
}

TEST_CASE("a folder keeps what was found: the next trainer of the program times nothing, and has the same bits") {
  const Folder folder{"autotuned"};
  REQUIRE(setenv("HEDDLE_TUNED", folder.path.c_str(), 1) == 0);
  struct Unset {
    ~Unset() { unsetenv("HEDDLE_TUNED"); }
  } const unset;
  const Cards cards{timed};
  using Backend = Autotuned<CudaOneCard>;
  const auto files = [&] { return std::distance(std::filesystem::directory_iterator{folder.path}, {}); };
  const std::vector<float> first = weights_after<Of<DataParallel<2>>, Backend>(5);
  CHECK(files() == 1);                    // rank 1 is on the card of rank 0, and finds its products planned
  cuda_emulator::Options others = timed;  // now other algorithms are the fastest, and no epilogue is
  others.fastest = 5;
  others.epilogue_ms = 9;
  cuda_emulator::reset(others);
  const long before = cuda_emulator::counts().products;
  {
    Trainer<Of<DataParallel<2>>, Backend> trainer{{}, Seed{1}};
    CHECK(cuda_emulator::counts().products == before);
    CHECK(trainer.session().layers_of_library().empty());
  }
  CHECK(weights_after<Of<DataParallel<2>>, Backend>(5) == first);
  CHECK(files() == 1);
  CHECK(weights_after<Of<Single>, Backend>(5) != first);  // another program: a file of its own
  CHECK(files() == 2);
  for (const auto& entry : std::filesystem::directory_iterator{folder.path}) {  // the first algorithm becomes one that cuBLASLt does not know
    std::fstream file{entry.path(), std::ios::in | std::ios::out};
    std::string line;
    for (int l = 0; l < 2; ++l) std::getline(file, line);
    const std::streamoff begin = file.tellg();
    std::getline(file, line);
    const std::size_t number = line.find(' ', line.find(' ') + 1) + 1;
    file.seekp(begin + static_cast<std::streamoff>(number));
    file.put(line[number] == '0' ? '1' : '0');
  }
  CHECK(said([] { Trainer<Of<Single>, Backend>{{}, Seed{1}}; }).find("[heddle.R43] the tuned choices of '" + folder.path.string()) == 0);
}

TEST_CASE("each call that fails while products are tried is one sentence, or no time, and nothing is left alive") {
  cuda_emulator::Options one = timed;
  one.devices = 1;
  using Small = Plan<Sequential<Linear<8, 8>, GELUTanh, Linear<8, 4>>, CrossEntropy, AdamW, Batch<4>, Single>;
  const auto builds = [] { Trainer<Small, Autotuned<CudaOneCard>>{{}, Seed{1}}; };
  cuda_emulator::reset(one);
  CHECK(said(builds) == "");
  const long calls = cuda_emulator::counts().fallible_calls;
  int of_events = 0, of_products = 0;
  for (long number = 1; number <= calls; number += 5) {
    cuda_emulator::reset(one);
    cuda_emulator::fail_call(number);
    const std::string words = said(builds), call = cuda_emulator::failed_call();
    CAPTURE(call);
    of_events += call.find("cudaEvent") == 0 ? 1 : 0;
    of_products += call.find("cublasLt") == 0 ? 1 : 0;
    const bool may_go_on = call == "cudaMalloc" || call == "cublasLtMatmulAlgoGetHeuristic" || call == "cublasLtMatmulAlgoCheck";
    CHECK((words.find("[heddle.R36] ") == 0 || words.find("[heddle.R14] ") == 0 || words.find("[heddle.R37] ") == 0 || (may_go_on && words.empty())));
    CHECK(cuda_emulator::violations().empty());
    CHECK(cuda_emulator::alive() == "");
  }
  CHECK(of_events > 10);
  CHECK(of_products > 10);
}
