// SPDX-License-Identifier: MIT
// The program behind ./heddle train gpt: a small GPT that learns a text byte by byte, under four plans, and writes a few lines after each.
#include <cmath>
#include <heddle/backend/cpu_threads.hpp>
#include <heddle/core/random.hpp>
#include <heddle/io/file.hpp>
#include <heddle/io/gzip.hpp>
#include <heddle/io/sequences.hpp>
#include <heddle/report/curve_svg.hpp>

#include "models.hpp"
#include "training.hpp"

using namespace heddle;
using namespace heddle::extending;

namespace {

using models::Gpt, models::length, models::tokens;
constexpr int rows = 32;
template <class Policy> using GptPlan = Plan<Gpt, CrossEntropy, AdamW, Batch<rows, DropLast>, Policy, Grain<8>>;
using OneDevice = GptPlan<Single>;
using TwoParts = GptPlan<TensorParallel<2>>;
using TwoStages = GptPlan<Pipeline<Balanced<2>, OneFOneB, Microbatches<4>>>;
using TwoSlices = GptPlan<Sharded<2>>;

struct Settings {
  std::string text = HEDDLE_JARGON;
  std::string output;
  std::string begin = "The ";
  std::int64_t steps = 300;
  std::int64_t sample = 200;
  std::int64_t seed = 1;
  double learning_rate = 3e-3;
  double temperature = 0.8;
};

/// All bytes that a source gives, as tokens. Errors  D09, D14
template <io_room::ByteSource Source> std::vector<std::int32_t> tokens_of(Source& source) {
  std::vector<std::int32_t> all;
  std::vector<std::byte> piece(1 << 16);
  for (std::size_t read = piece.size(); read == piece.size();) {
    read = source.read(piece);
    io_room::refuse_beyond_memory((all.size() + read) * sizeof(std::int32_t) * 2, source.name());  // a vector that grows is there twice
    for (std::size_t i = 0; i < read; ++i) all.push_back(static_cast<std::int32_t>(piece[i]));
  }
  return all;
}
/// The bytes of a file, plain or .gz: what begins as a gzip file is one. Errors  D01 of what is no file, D09, D14
std::vector<std::int32_t> bytes_of(const std::string& path) {
  return io_room::within_memory(path, [&] {
    io_room::InputFile file{path};
    std::array<std::byte, 2> first{};
    const bool packed = file.read(first) == 2 && first[0] == std::byte{0x1f} && first[1] == std::byte{0x8b};
    io_room::InputFile again{path};
    if (packed) {
      io_room::Unpacked<io_room::InputFile> unpacked{std::move(again)};
      return tokens_of(unpacked);
    }
    io_room::refuse_beyond_memory(again.most() * sizeof(std::int32_t), path);
    return tokens_of(again);
  });
}

struct Texts {
  datasets::TokenDataset training, test;
};
/// Nineteen parts to learn from, the last one to ask about.
Texts cut(const std::vector<std::int32_t>& text) {
  constexpr std::int64_t least = 20 * (rows + 1) * length;
  if (std::ssize(text) < least)
    throw HeddleError(Code{'D', 10}, fmt::format("the text has {} bytes, too few to learn from. Fix: name one of {} bytes or more with --text.",
                                                 text.size(), least));
  const std::span<const std::int32_t> all{text};
  const std::size_t most = text.size() / 20 * 19;
  return {datasets::next_token_rows(all.first(most), tokens, {.length = length}),
          datasets::next_token_rows(all.subspan(most), tokens, {.length = length})};
}

struct Row {
  std::string plan;
  int devices = 0;
  Bytes memory, moved;
  double seconds = 0, loss = 0;
  std::vector<float> losses;  // of steps that are shown
  std::string sample;
};

/// The bytes that the model has most in mind after those before, drawn by their probabilities.
template <class ThePlan> std::string sampled(Trainer<ThePlan, CpuThreads>& trainer, const Settings& settings) {
  std::string text = settings.begin;
  std::vector<std::int32_t> window(length);
  std::vector<double> powers(tokens);
  while (std::ssize(text) < settings.sample) {
    const std::size_t known = std::min<std::size_t>(text.size(), length);
    std::fill(window.begin(), window.end(), 0);  // what lies behind the last byte is not seen
    for (std::size_t i = 0; i < known; ++i) window[i] = static_cast<unsigned char>(text[text.size() - known + i]);
    const std::vector<float> logits = trainer.predict(window);
    const auto last = logits.begin() + static_cast<std::ptrdiff_t>((known - 1) * tokens);
    const float most = *std::max_element(last, last + tokens);
    double sum = 0;
    for (std::size_t t = 0; t < tokens; ++t)
      sum += powers[t] = std::exp(static_cast<double>(last[static_cast<std::ptrdiff_t>(t)] - most) / settings.temperature);
    double left = sum * static_cast<double>(core_room::uniform(Seed{static_cast<std::uint64_t>(settings.seed)}, 9, text.size(), 0.0F, 1.0F));
    std::size_t chosen = 0;
    while (chosen + 1 < tokens && (left -= powers[chosen]) > 0) ++chosen;
    text += static_cast<char>(chosen);
  }
  return text;
}

template <class ThePlan> Row train(const char* name, const Settings& settings, const Texts& texts) {
  Trainer<ThePlan, CpuThreads> trainer{{.learning_rate = settings.learning_rate}, Seed{static_cast<std::uint64_t>(settings.seed)}};
  const training::Progress progress{name, settings.steps, true};
  Row row;
  row.plan = name;
  row.devices = devices<ThePlan>;
  row.memory = peak_memory<ThePlan>();
  row.moved = traffic<ThePlan>().total();
  trainer.on_step(
      [&](const StepResult& result) {
        row.losses.push_back(*result.loss);
        progress.show(1, 1, result.step, *result.loss);
      },
      Every{std::max<std::int64_t>(1, settings.steps / 20)});
  const auto begin = std::chrono::steady_clock::now();
  for (int epoch = 0; trainer.steps() < settings.steps; ++epoch)
    for (const auto& batch : texts.training.shuffled(Seed{static_cast<std::uint64_t>(settings.seed)}, epoch).template batches<ThePlan>()) {
      if (trainer.steps() == settings.steps) break;
      trainer.step(batch);
    }
  row.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  progress.end(row.losses.empty() ? 0 : row.losses.back());
  row.loss = trainer.evaluate(texts.test.all()).loss;
  row.sample = sampled(trainer, settings);
  return row;
}

std::string table_of(const std::vector<Row>& all, const Settings& settings) {
  std::string out = fmt::format("{:<19} {:>7} {:>12} {:>13} {:>9} {:>9} {:>13}\n", "plan", "devices", "memory, KiB", "bytes a step", "ms a step",
                                "tokens/s", "bits per byte");
  for (const Row& row : all) {
    const double each = row.seconds / static_cast<double>(settings.steps);
    out += fmt::format("{:<19} {:>7} {:>12.1f} {:>13} {:>9.1f} {:>9.0f} {:>13.3f}\n", row.plan, row.devices,
                       static_cast<double>(row.memory.value) / 1024, row.moved.value, 1000 * each, rows * length / each, row.loss / std::log(2.0));
  }
  return out + "Bits per byte are those of the last twentieth of the text, which no plan has seen.\n";
}

/// What was sampled, with a dot for what no terminal shows.
std::string shown(const std::string& text) {
  std::string line;
  for (const char c : text) line += c == '\n' || c == '\t' ? ' ' : c >= ' ' && c < 127 ? c : '.';
  return line;
}

/// The losses of the steps that were shown, one curve for each plan.
std::string picture(const std::vector<Row>& all, const Settings& settings) {
  const std::int64_t every = std::max<std::int64_t>(1, settings.steps / 20);
  std::vector<Curve> curves;
  for (const Row& row : all) {
    Curve curve{row.plan, {}};
    for (std::size_t i = 0; i < row.losses.size(); ++i)
      curve.points.emplace_back(static_cast<double>(every) * static_cast<double>(i + 1), static_cast<double>(row.losses[i]));
    curves.push_back(curve);
  }
  return curve_svg(curves, {.title = fmt::format("A small GPT, {} steps", settings.steps), .y = "loss of a step"});
}

int train_all(const Settings& settings) {
  training::prepare_output(settings.output, {"table.txt", "loss.svg"});
  const Texts texts = cut(bytes_of(settings.text));
  output::print("{} rows of {} bytes, {} parameters, {} steps of {} rows, AdamW with learning rate {}\n", texts.training.size(), length,
                parameters<Gpt>, settings.steps, rows, settings.learning_rate);
  std::vector<Row> all;
  all.push_back(train<OneDevice>("Single", settings, texts));
  all.push_back(train<TwoParts>("TensorParallel<2>", settings, texts));
  all.push_back(train<TwoStages>("Pipeline, 1F1B", settings, texts));
  all.push_back(train<TwoSlices>("Sharded<2>", settings, texts));
  const std::string table = table_of(all, settings);
  output::print("\n{}\n", table);
  for (const Row& row : all) output::print("{} writes:\n  {}\n", row.plan, shown(row.sample));
  if (!settings.output.empty()) {
    io_room::replace_file(std::filesystem::path{settings.output} / "table.txt", table);
    io_room::replace_file(std::filesystem::path{settings.output} / "loss.svg", picture(all, settings));
  }
  output::flush();
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  Settings settings;
  CLI::App app{"Trains a small GPT on a text, byte by byte, under four plans; each writes a few lines."};
  app.name("heddle train gpt");
  app.add_option("--text", settings.text, "the text, plain or .gz")->capture_default_str();
  app.add_option("--steps", settings.steps, "steps of each plan")->check(CLI::Range(std::int64_t{1}, std::int64_t{1'000'000}))->capture_default_str();
  app.add_option("--learning-rate", settings.learning_rate, "of AdamW")->check(training::number_in(0, 10))->capture_default_str();
  app.add_option("--seed", settings.seed, "of initialisation, shuffling and sampling")->check(training::check_seed)->capture_default_str();
  app.add_option("--sample", settings.sample, "bytes that each plan writes")
      ->check(CLI::Range(std::int64_t{0}, std::int64_t{1'000'000}))
      ->capture_default_str();
  app.add_option("--begin", settings.begin, "how they begin")
      ->check([](const std::string& text) { return text.empty() ? std::string{"it is empty. Fix: give at least one letter"} : std::string{}; })
      ->capture_default_str();
  app.add_option("--temperature", settings.temperature, "below 1 the likely bytes are more likely")
      ->check(training::number_in(0.01, 100))
      ->capture_default_str();
  app.add_option("--output", settings.output, "folder for table.txt and loss.svg");
  output::end_with_a_sentence(app, "there is no table");
  return output::run(app, [&] {
    app.parse(argc, argv);
    return train_all(settings);
  });
}
