// SPDX-License-Identifier: MIT
#include "heddle/report/summary.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <sstream>
#include <string>

#include "heddle/heddle.hpp"

using namespace heddle;

namespace {

struct Small : Sequential<Named<"first", Linear<64, 64>>, ReLU, Linear<64, 10, NoBias>> {};
template <class Policy, class... Options> using Training = Plan<Small, CrossEntropy, Adam, Batch<64>, Policy, Options...>;

struct Block : Residual<Linear<32, 64>, GELU, Linear<64, 32>> {};
struct Language
    : Sequential<Input<16>, Named<"wte", Embedding<64, 32>>, Named<"blocks", Repeat<96, Block>>, Tied<"head", Linear<32, 64, NoBias>, To<"wte">>> {};
struct Nested : Sequential<Input<32>, Repeat<3, Sequential<Repeat<4, Block>, Linear<32, 32>>>, Linear<32, 4>> {};

bool has(const std::string& text, const std::string& line) { return ('\n' + text).find('\n' + line + '\n') != std::string::npos; }

std::size_t widest(const std::string& text) {
  std::size_t most = 0;
  std::istringstream lines{text};
  for (std::string line; std::getline(lines, line);) most = std::max(most, line.size());
  return most;
}

}  // namespace

TEST_CASE("a summary names every layer with its shapes and parameters, and the totals of the plan") {
  const std::string text = summary<Training<Single>>();
  CHECK(text ==
        "Small\n"
        "layer  name   type                    in -> out     parameters                  number\n"
        "    0  first  Linear<64, 64>          (64) -> (64)  weight (64, 64), bias (64)    4160\n"
        "    1  1      ReLU                    (64) -> (64)\n"
        "    2  2      Linear<64, 10, NoBias>  (64) -> (10)  weight (10, 64)                640\n"
        "parameters  4800, 19,200 bytes (18.8 KiB)\n"
        "devices     1 device (no axis)\n"
        "batch       64 = 1 share x 1 micro-batch x 64 rows\n"
        "output      (10) for each row and loss CrossEntropy on device 0\n"
        "memory      device 0: " +
            said(peak_memory<Training<Single>>().value) + " bytes (" + kibibytes(peak_memory<Training<Single>>().value) +
            " KiB)\n"
            "a step      moves nothing\n"
            "idle        stages idle 0.0 % if only work takes time\n");
}

TEST_CASE("stages, their devices, memory in groups and what moves") {
  using Both = Training<Hybrid<Pipeline<Balanced<2>, OneFOneB, Microbatches<2>>, DataParallel<2>>>;
  const std::string text = summary<Both>();
  CAPTURE(text);
  CHECK(has(text, "layer  name   type                    in -> out     parameters                  number  stage"));
  CHECK(has(text, "    1  1      ReLU                    (64) -> (64)                                          1"));
  CHECK(has(text, "devices     4 devices (stage 2 x data 2)"));
  CHECK(has(text, "stages      stage 0 on devices 0 and 2, stage 1 on devices 1 and 3"));
  CHECK(has(text, "output      (10) for each row and loss CrossEntropy on devices 1 and 3"));
  CHECK(has(text, "memory      devices 0 and 2: " + bytes_words(peak_memory<Both>(device<0>)) + " each"));
  CHECK(has(text, "            devices 1 and 3: " + bytes_words(peak_memory<Both>(device<3>)) + " each"));
  CHECK(has(text, "a step      moves 32,768 bytes between stages and 38,400 bytes of gradients over axis data"));
  CHECK(has(summary<Training<DataParallel<4>>>(), "memory      devices 0 to 3: " + bytes_words(peak_memory<Training<DataParallel<4>>>()) + " each"));
}

TEST_CASE("where a layer is split, a rank's own shapes stand beside those of the model") {
  const std::string text = summary<Training<TensorParallel<2>>>();
  CAPTURE(text);
  CHECK(has(text, "    0  first  Linear<64, 64>          (64) -> (64)  (64) -> (32)  weight (64, 64), bias (64)    4160"));
  CHECK(has(text, "    2  2      Linear<64, 10, NoBias>  (64) -> (10)  (32) -> (10)  weight (10, 64)                640"));
}

TEST_CASE("blocks that are alike are one row, on each stage; tied parameters name their owner and count once") {
  const std::string text = summary<Plan<Language, CrossEntropy, Adam, Batch<64>, Pipeline<Balanced<2>, OneFOneB, Microbatches<4>>>>();
  CAPTURE(text);
  CHECK(std::count(text.begin(), text.end(), '\n') < 30);
  CHECK(widest(text) <= most_columns);
  CHECK(text.find("more like 2 to 5, together ") != std::string::npos);
  CHECK(has(text, "    386  head         Linear<32, 64, NoBias>  (16, 32) -> (16, 64)  tied to wte                 1"));
  CHECK(text.find("\nparameters  " + said(parameters<Language>) + ", ") != std::string::npos);
  const std::string nested = summary<Nested>();  // a model alone
  CHECK(has(nested, " 5-16  3 more like 1 to 4, together 12,576 parameters"));
  CHECK(has(nested, "18-51  2 more like 1 to 17, together 35,648 parameters"));
  CHECK(nested.ends_with("\nparameters  53,604, 214,416 bytes (209.4 KiB)\n"));
}

TEST_CASE("an Inference has no loss, and what runs again is told") {
  CHECK(summary<Inference<Small, Batch<64>, DataParallel<2>>>().find("output      (10) for each row on devices 0 and 1\n") != std::string::npos);
  using Again = Training<Single, Recompute<ReLU>>;
  CHECK(flops_run_again(lower<Again>()).value > 0);
  CHECK(has(summary<Again>(), "            runs " + said(flops_run_again(lower<Again>()).value) + " operations of a row's forward again"));
}

TEST_CASE("numbers of devices are told in few words") {
  CHECK(numbers_words({3}) == "3");
  CHECK(numbers_words({0, 1}) == "0 and 1");
  CHECK(numbers_words({0, 2, 4}) == "0, 2 and 4");
  CHECK(numbers_words({4, 5, 6, 7}) == "4 to 7");
  CHECK(numbers_words({0, 2, 4, 6, 8, 10, 12}) == "0, 2, ... 12 (7)");
  CHECK(bytes_words(Bytes{std::int64_t{3} << 29}) == "1,610,612,736 bytes (1.5 GiB)");
}

TEST_CASE("frozen layers are told, and how many parameters are not trained") {
  struct Tuned : Sequential<Frozen<Linear<6, 4>>, ReLU, Linear<4, 3>> {};
  CHECK(summary<Tuned>().find("  weight (4, 6), bias (4), frozen ") != std::string::npos);
  CHECK(summary<Tuned>().ends_with("\nparameters  43, 172 bytes (0.2 KiB), of which 28 frozen\n"));
}

TEST_CASE("what is tracked is told") {
  struct Tracking : Sequential<Input<3, 2, 2>, BatchNorm2d<3>, Flatten, Linear<12, 4>> {};
  CHECK(summary<Tracking>().find("BatchNorm2d<3>  (3, 2, 2) -> (3, 2, 2)  (3), (3), (3), (3)  ") != std::string::npos);
  CHECK(summary<Tracking>().ends_with("\nparameters  64, 256 bytes (0.2 KiB), of which 6 tracked\n"));
}

TEST_CASE("what joins two values is told with both shapes") {
  struct Forked : Sequential<Linear<8, 4>, Branches<Concat, Linear<4, 3>, Tanh>, Linear<7, 2>> {};
  const std::string text = summary<Plan<Forked, CrossEntropy, Adam, Batch<8>, Single>>();
  CAPTURE(text);
  CHECK(text.find("Concat        (3) and (4) -> (7)") != std::string::npos);
}

TEST_CASE("several inputs are told with their elements, their shapes and the devices that load them") {
  struct Several : Sequential<Inputs<Input<8>, Input<8>, Input<2, 3>>, Branches<Add, Embedding<50, 4>, Sequential<FromInput<1>, Embedding<8, 4>>>,
                              Flatten, Linear<32, 16>, ReLU, Branches<Concat, Sequential<>, Sequential<FromInput<2>, Rescaling<>, Flatten>>,
                              Linear<22, 16>, ReLU, Linear<16, 4>> {};
  CHECK(has(summary<Several>(), "inputs      0: int32 (8), 1: int32 (8), 2: uint8 (2, 3)"));
  const std::string text = summary<Plan<Several, CrossEntropy, Adam, Batch<8>, Pipeline<Balanced<2>, OneFOneB, Microbatches<4>>>>();
  CAPTURE(text);
  CHECK(has(text, "inputs      0: int32 (8) on device 0, 1: int32 (8) on device 0, 2: uint8 (2, 3) on device 1"));
  CHECK(text.find("FromInput<2> ") != std::string::npos);
  CHECK(summary<Training<Single>>().find("inputs  ") == std::string::npos);
}

TEST_CASE("values that are bfloat16 are told, and an input that is given as floats is told as such") {
  struct Two : Sequential<Inputs<Input<6>, Input<5>>, Branches<Concat, Linear<6, 8>, Sequential<FromInput<1>, Linear<5, 8>>>, Linear<16, 4>> {};
  const std::string text = summary<Plan<Two, CrossEntropy, Adam, Batch<8>, Single, Mixed<BFloat16>>>();
  CAPTURE(text);
  CHECK(has(text, "values      bfloat16 between layers; they compute in float32"));
  CHECK(has(text, "inputs      0: float32 (6) on device 0, 1: float32 (5) on device 0"));
  CHECK(summary<Training<Single>>().find("values  ") == std::string::npos);
}
