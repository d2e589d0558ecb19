// SPDX-License-Identifier: MIT
// The clock against steps that others measured on eight B200, row by row: the tables of docs/performance.md. Nothing is run.
// usage: published; prints markdown
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <vector>

#include "oracle/b200.hpp"

using heddle::tests::b200::PublishedStep;

namespace {

/// The mean of the two in the middle.
template <class Error> double median_of(const std::vector<PublishedStep>& rows, Error error) {
  std::vector<double> all;
  for (const PublishedStep& row : rows) all.push_back(std::abs(error(row)));
  std::sort(all.begin(), all.end());
  return (all[(all.size() - 1) / 2] + all[all.size() / 2]) / 2;
}

double time_error(const PublishedStep& row) { return row.time_error(); }
double memory_error(const PublishedStep& row) { return row.memory_error(); }

void print_measured() {
  const std::vector<PublishedStep> rows = heddle::tests::b200::rows();
  std::printf(
      "| model | layout | micro-batches | measured | predicted | error | measured | states + frames + buffers | error | this plan |\n"
      "|---|---|---|---|---|---|---|---|---|---|\n");
  for (const PublishedStep& row : rows)
    std::printf("| %s | %s | %d | %.1f ms | %.1f ms | %+.1f %% | %.2f GiB | %.2f + %.2f + %.2f GiB | %+.1f %% | %.2f GiB |\n", row.model.c_str(),
                row.layout.c_str(), row.micro_batches, row.milliseconds, row.predicted_ms, row.time_error(), row.gibibytes, row.states, row.frames,
                row.external, row.memory_error(), row.own);
  std::printf("\nMedian error: %.1f %% of time, %.1f %% of memory.\n", median_of(rows, time_error), median_of(rows, memory_error));
}

/// The same steps where the datasheet alone says what the machine is.
void print_datasheet() {
  const std::vector<PublishedStep> rows = heddle::tests::b200::rows(heddle::tests::b200::datasheet());
  std::printf("\n| model | layout | micro-batches | measured | predicted by the datasheet | error |\n|---|---|---|---|---|---|\n");
  for (const PublishedStep& row : rows)
    std::printf("| %s | %s | %d | %.1f ms | %.1f ms | %+.1f %% |\n", row.model.c_str(), row.layout.c_str(), row.micro_batches, row.milliseconds,
                row.predicted_ms, row.time_error());
  std::printf("\nMedian error: %.1f %% of time.\n", median_of(rows, time_error));
}

}  // namespace

int main() {
  print_measured();
  print_datasheet();
}
