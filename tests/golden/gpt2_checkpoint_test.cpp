// SPDX-License-Identifier: MIT
// A checkpoint that Hugging Face's transformers saved, read by extending::read_gpt2 (make_gpt2_checkpoint.py).
#include "heddle/io/gpt2.hpp"

#include "golden/golden.hpp"

using namespace golden;

namespace {

struct Attention : Sequential<Named<"c_attn", Linear<16, 48>>, SelfAttention<Heads<4>, Causal>, Named<"c_proj", Linear<16, 16>>> {};
struct Feed : Sequential<Named<"c_fc", Linear<16, 64>>, GELUTanh, Named<"c_proj", Linear<64, 16>>> {};
struct Block : Sequential<Unnumbered<Residual<Named<"ln_1", LayerNorm<16>>, Named<"attn", Attention>>>,
                          Unnumbered<Residual<Named<"ln_2", LayerNorm<16>>, Named<"mlp", Feed>>>> {};
struct Gpt2 : Sequential<Input<6>, Named<"wte", Embedding<13, 16>>, Named<"wpe", LearnedPositions<8, 16>>, Named<"h", Repeat<2, Block>>,
                         Named<"ln_f", LayerNorm<16>>, Tied<"lm_head", Linear<16, 13, NoBias>, To<"wte">>> {};
template <class... Parts> using Of = Plan<Gpt2, CrossEntropy, MomentumSGD, Batch<8>, Parts...>;

/// The tensors of a file whose names begin so, as a checkpoint of Hugging Face is read.
TensorFile part_of(const TensorFile& file, const std::string& prefix) {
  TensorFile part;
  for (const auto& [name, tensor] : file.tensors())
    if (name.starts_with(prefix)) part.put(name.substr(prefix.size()), tensor.shape, file.get<float>(name));
  return gpt2_tensors(part);
}
/// The file of 20 steps under the names and with the shapes of the model.
TensorFile steps_of_checkpoint() {
  const TensorFile file = golden_file("gpt2_steps");
  TensorFile all;
  for (const std::string part : {"initial.", "gradient.", "after1.", "after20."}) {
    const TensorFile turned = part_of(file, part);
    for (const auto& [name, tensor] : turned.tensors()) all.put(part + name, tensor.shape, turned.get<float>(name));
  }
  for (const std::string name : {"output", "loss", "losses", "input"}) all.put(name, file.shape(name), file.get<float>(name));
  all.put("labels", file.shape("labels"), file.get<std::int64_t>("labels"));
  return all;
}
template <class ThePlan> void check_plan() {
  const TensorFile file = steps_of_checkpoint();
  const Sentences sentences{file};
  const auto load = [](auto& trainer) { trainer.load(read_gpt2(std::filesystem::path{HEDDLE_GOLDEN_DIR} / "gpt2_checkpoint.safetensors")); };
  follow<ThePlan>(file, {.learning_rate = 0.01, .momentum = 0.9}, sentences.batch(), 20, load);
}

}  // namespace

TEST_CASE("a GPT-2 that transformers saved gives its logits, its gradients and 20 of its steps under five policies") {
  check_plan<Of<Single>>();
  check_plan<Of<DataParallel<4>>>();
  check_plan<Of<Sharded<2>>>();
  check_plan<Of<TensorParallel<2>>>();
  check_plan<Of<Pipeline<Balanced<2>, OneFOneB, Microbatches<4>>>>();
}

TEST_CASE("the comparison can fail: a square weight that is not turned is another model") {
  const TensorFile file = steps_of_checkpoint();
  const Sentences sentences{file};
  TensorFile read = read_gpt2(std::filesystem::path{HEDDLE_GOLDEN_DIR} / "gpt2_checkpoint.safetensors");
  Trainer<Of<Single>, CpuThreads> trainer{{.learning_rate = 0.01}, Seed{1}};
  trainer.load(read);
  CHECK(largest_difference(trainer.evaluate(sentences.batch()).outputs, file.get<float>("output")) <= tolerance);
  const TensorFile stored = TensorFile::read(std::filesystem::path{HEDDLE_GOLDEN_DIR} / "gpt2_checkpoint.safetensors");
  read.put("h.0.attn.c_proj.weight", {16, 16}, stored.get<float>("transformer.h.0.attn.c_proj.weight"));
  trainer.load(read);
  CHECK(largest_difference(trainer.evaluate(sentences.batch()).outputs, file.get<float>("output")) > 100 * tolerance);
}
