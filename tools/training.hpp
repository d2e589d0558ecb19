// SPDX-License-Identifier: MIT
// What the programs behind ./heddle train share: options, one trained plan as a row of the table, the table.
#pragma once

#include <fmt/core.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <heddle/heddle.hpp>
#include <heddle/io/gzip.hpp>
#include <heddle/io/replacement.hpp>
#include <heddle/io/synthetic.hpp>
#include <heddle/run/trainer.hpp>
#include <heddle/transport/movement.hpp>
#include <initializer_list>
#include <limits>
#include <span>
#include <string>
#include <system_error>
#include <vector>

#include "output.hpp"
#include "plans.hpp"

namespace training {

using namespace heddle;
using namespace heddle::extending;

struct Settings {
  int epochs = 10;
  double learning_rate = 1e-3;
  std::int64_t seed = 1;
  std::string data = "fashion-mnist";
  std::string output;
};

struct Row {
  std::string plan;
  int devices = 0;
  Bytes memory, measured_memory;
  std::int64_t step_bytes = 0;
  double counted_bytes = 0;
  double seconds = 0;
  float loss = 0;
  double accuracy = 0;
  std::uint64_t hash = 0;
};

/// Shows how far a plan is: a bar that is drawn over on a terminal, plain lines elsewhere.
class Progress {
 public:
  Progress(std::string plan, std::int64_t steps, bool shown)
      : plan_(std::move(plan)), steps_(steps), shown_(shown), terminal_(isatty(STDOUT_FILENO) == 1) {}
  void show(int epoch, int epochs, std::int64_t step, float loss) const {
    if (!shown_) return;
    if (terminal_)
      draw(step, loss);
    else
      output::print("{}: epoch {} of {}, step {} of {}, loss {:.4f}\n", plan_, epoch, epochs, step, steps_, loss);
    output::flush();
  }
  void end(float loss) const {
    if (!shown_ || !terminal_) return;
    draw(steps_, loss);
    output::print("\n");
    output::line_is_open = 0;
  }

 private:
  void draw(std::int64_t step, float loss) const {
    constexpr int width = 30;
    const auto done = static_cast<int>(width * step / steps_);
    output::line_is_open = 1;
    output::print("\r{:<19} [{:#<{}}{:.<{}}] {:3}%  loss {:.4f} ", plan_, "", done, "", width - done, 100 * step / steps_, loss);
  }

  std::string plan_;
  std::int64_t steps_;
  bool shown_;
  bool terminal_;
};

/// A number that the process of a rank knows, in every process.
template <class Trained, class Get> [[nodiscard]] std::int64_t of_rank(Trained& trainer, Rank rank, Get get) {
  std::int64_t number = trainer.local(rank) ? get() : 0;
  trainer.session().share(rank, std::as_writable_bytes(std::span{&number, 1}));
  return number;
}

/// All bytes that the ranks have sent since the counters were cleared.
template <class ThePlan, class Trained> [[nodiscard]] std::int64_t bytes_sent(Trained& trainer) {
  std::int64_t sum = 0;
  for (int r = 0; r < devices<ThePlan>; ++r)
    for (const auto kind : {transport_room::Movement::point_to_point, transport_room::Movement::all_reduce})
      sum += of_rank(trainer, Rank{r}, [&] { return trainer.session().transport().sent(Rank{r}, kind).bytes.value; });
  return sum;
}

/// Every plan and every replica must end with the same bits.
inline void refuse_other(const std::string& name, std::uint64_t hash, const std::string& first, std::uint64_t expected) {
  if (hash != expected)
    throw HeddleError(Code{'R', 7}, name + " ended with other parameters than " + first +
                                        ". Fix: this is a fault of Heddle: report it with the machine and its compiler.");
}

/// Trains one plan from the same seed and fills its row of the table.
template <class ThePlan, class Backend>
Row train(const std::string& name, const Settings& settings, const datasets::Dataset& training, const datasets::Dataset& test,
          const std::vector<Row>& before) {
  Trainer<ThePlan, Backend> trainer{{.learning_rate = settings.learning_rate}, Seed{static_cast<std::uint64_t>(settings.seed)}};
  const std::int64_t steps_an_epoch = (training.size() + batch_rows - 1) / batch_rows;
  const std::int64_t steps = settings.epochs * steps_an_epoch;
  const Progress progress{name, steps, trainer.first_process()};
  Row row;
  row.plan = name;
  row.devices = devices<ThePlan>;
  int epoch = 0;
  std::int64_t reports = 0;
  const auto report = [&](const StepResult& result) {
    ++reports;
    row.loss = *result.loss;
    progress.show(epoch + 1, settings.epochs, result.step, row.loss);
  };
  trainer.on_step(report, Every{100});
  trainer.session().transport().clear_traffic();
  const auto begin = std::chrono::steady_clock::now();
  for (epoch = 0; epoch < settings.epochs; ++epoch)
    for (const auto& batch : training.shuffled(Seed{static_cast<std::uint64_t>(settings.seed)}, epoch).template batches<ThePlan>()) {
      if (trainer.steps() + 1 == steps) trainer.on_step(report);  // the last loss stands in the table
      trainer.step(batch);
    }
  row.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  progress.end(row.loss);

  constexpr auto moved = traffic<ThePlan>();
  row.step_bytes = (moved.gradients().on(axis::data).total_with_padding + moved.activations().total_with_padding).value;
  const std::int64_t of_reports = reports * moved.loss().total_with_padding.value;
  if (trainer.steps() > 0) row.counted_bytes = static_cast<double>(bytes_sent<ThePlan>(trainer) - of_reports) / static_cast<double>(trainer.steps());
  row.accuracy = trainer.accuracy(test.all());
  row.memory = peak_memory<ThePlan>();
  for (int r = 0; r < devices<ThePlan>; ++r) {
    const std::int64_t used = of_rank(trainer, Rank{r}, [&] { return trainer.executor(Rank{r}).arena().high_water().value; });
    row.measured_memory = std::max(row.measured_memory, Bytes{used});
  }
  row.hash = trainer.parameter_hash();
  for (int r = 1; r < trainer.replicas(); ++r) refuse_other(name + ", replica " + std::to_string(r), trainer.parameter_hash(r), name, row.hash);
  if (!before.empty()) refuse_other(name, row.hash, before.front().plan, before.front().hash);
  if (!settings.output.empty()) trainer.save(settings.output + "/parameters.safetensors");
  return row;
}

inline constexpr const char* shows_equality = "The table shows equality. Which word is fastest depends on the model: docs/performance.md.\n";

[[nodiscard]] inline std::string table_of(const std::vector<Row>& rows) {
  const auto memory = [](const Row& row) {
    return fmt::format("{:.1f} / {:.1f}", static_cast<double>(row.memory.value) / 1024, static_cast<double>(row.measured_memory.value) / 1024);
  };
  const auto bytes = [](const Row& row) { return fmt::format("{} / {:.0f}", row.step_bytes, row.counted_bytes); };
  std::size_t widths[] = {4, 11, 12};  // of the words above
  for (const Row& row : rows) {
    const std::size_t taken[] = {row.plan.size(), memory(row).size(), bytes(row).size()};
    for (int i = 0; i < 3; ++i) widths[i] = std::max(widths[i], taken[i]);
  }
  std::string out = fmt::format("{:<{}} {:>7} {:>{}} {:>{}} {:>7} {:>6} {:>8} {}\n", "plan", widths[0], "devices", "memory, KiB", widths[1],
                                "bytes a step", widths[2], "seconds", "loss", "accuracy", "parameters");
  for (const Row& row : rows)
    out += fmt::format("{:<{}} {:>7} {:>{}} {:>{}} {:>7.2f} {:>6.4f} {:>8.4f} {:016x}\n", row.plan, widths[0], row.devices, memory(row), widths[1],
                       bytes(row), widths[2], row.seconds, row.loss, row.accuracy, row.hash);
  return out;
}

/// A whole number from 0 on that is one: CLI11 makes the largest of a larger one.
inline std::string check_seed(const std::string& text) {
  std::int64_t seed = 0;
  const char* const end = text.data() + text.size();
  if (const auto read = std::from_chars(text.data(), end, seed); read.ec == std::errc{} && read.ptr == end && seed >= 0) return {};
  return fmt::format("{} is no whole number from 0 to {}. Fix: give one, as 1", text, std::numeric_limits<std::int64_t>::max());
}
/// A number within both, which NaN is not.
[[nodiscard]] inline CLI::Validator number_in(double least, double most) {
  const auto check = [=](const std::string& text) -> std::string {
    double number = 0;
    if (CLI::detail::lexical_cast(text, number) && number >= least && number <= most) return {};
    return fmt::format("{} is no number from {} to {}. Fix: give one", text, least, most);
  };
  return CLI::Validator{check, fmt::format("FLOAT in [{} - {}]", least, most)};
}

/// Refuses an output folder before any work is done; no file in it is touched.
inline void prepare_output(const std::string& folder, std::initializer_list<const char*> files = {"table.txt", "parameters.safetensors"}) {
  if (folder.empty()) return;
  std::error_code problem;
  if (!std::filesystem::is_directory(folder, problem)) std::filesystem::create_directories(folder, problem);
  if (problem)
    throw HeddleError(Code{'D', 20}, "the output folder '" + folder + "' cannot be made: " + problem.message() +
                                         ". Fix: name a folder that you may write to with --output.");
  for (const char* name : files) io_room::Replacement{std::filesystem::path{folder} / name};
}

[[nodiscard]] inline datasets::Dataset load(const Settings& settings, datasets::DataSplit split) {
  if (settings.data == "synthetic")
    return datasets::synthetic(Seed{static_cast<std::uint64_t>(settings.seed)}, split == datasets::DataSplit::train ? 6000 : 1000, 28 * 28, 10,
                               split);
  const bool fashion = settings.data == "fashion-mnist";
  return datasets::load_idx(fashion ? HEDDLE_FASHION_MNIST : settings.data, split);
}

struct Sets {
  datasets::Dataset training;
  datasets::Dataset test;
};

[[nodiscard]] inline Sets load_both(const Settings& settings) {
  Sets sets{load(settings, datasets::DataSplit::train), load(settings, datasets::DataSplit::test)};
  for (const datasets::Dataset* data : {&sets.training, &sets.test})
    if (data->features() != 28 * 28)
      throw HeddleError(Code{'D', 3}, "the images of '" + settings.data + "' have " + std::to_string(data->features()) +
                                          " pixels, but the model takes 784. Fix: use images of 28 x 28.");
  return sets;
}

inline void print_heading(const Settings& settings, const Sets& sets) {
  output::print("{} training and {} test images, {} epoch{} of batches of {}, Adam with learning rate {}\n", sets.training.size(), sets.test.size(),
                settings.epochs, settings.epochs == 1 ? "" : "s", batch_rows, settings.learning_rate);
}

inline void print_table(const Settings& settings, const std::vector<Row>& rows, const std::string& more) {
  const std::string table = table_of(rows);
  output::print("\n{}", table);
  if (!settings.output.empty()) io_room::replace_file(std::filesystem::path{settings.output} / "table.txt", table);
  output::print(
      "Left of a slash stands what the type says before the run, right of it what the run measured.\n"
      "\nAll plans ended with the same parameters, to the last bit.\n{}",
      more);
}

/// The options of ./heddle train.
class Options {
 public:
  explicit Options(CLI::App& app, Settings& settings) {
    app.add_option("--epochs", settings.epochs, "passes over the training images")->check(CLI::Range(1, 1000))->capture_default_str();
    app.add_option("--learning-rate", settings.learning_rate, "of Adam")->check(number_in(0, 10))->capture_default_str();
    app.add_option("--seed", settings.seed, "of initialisation and shuffling")->check(check_seed)->capture_default_str();
    app.add_option("--data", settings.data, "fashion-mnist, synthetic, or a folder with the four MNIST files, plain or .gz")->capture_default_str();
    app.add_option("--output", settings.output, "folder for table.txt and parameters.safetensors");
    batch_option_ = app.add_option("--batch", batch_, "refused: the batch is part of the plan's type");
  }
  /// After the parse: what cannot be an option is refused with the reason.
  void check() const {
    if (batch_option_->count() > 0)
      throw CLI::ValidationError("--batch",
                                 fmt::format("the batch of {} rows is part of the plan's type, so memory and traffic are known when it is built. "
                                             "Fix: change batch_rows in tools/plans.hpp and build again",
                                             batch_rows));
  }

 private:
  int batch_ = 0;
  const CLI::Option* batch_option_ = nullptr;
};

}  // namespace training
