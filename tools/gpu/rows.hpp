// SPDX-License-Identifier: MIT
// Rows of a table, each of which may break the card for this process: such a fault stays until the process ends, and would be said of all rows
// behind it. The program begins anew behind that row.
#pragma once

#include <cuda_runtime_api.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <string>
#include <vector>

namespace gpu_check {

/// `rows` of a program that has been given --from 7 --wrong 1 are those from the eighth on, and one before was wrong.
class Rows {
 public:
  /// `wrong` counts rows that are; what is given to the program beside these two options is kept for when it begins anew.
  Rows(int count, char** given, int& wrong) : wrong_(wrong) {
    for (int i = 1; i < count; ++i) {
      if (std::strcmp(given[i], "--from") == 0 && i + 1 < count)
        first_ = std::atoi(given[++i]);
      else if (std::strcmp(given[i], "--wrong") == 0 && i + 1 < count)
        wrong_ = std::atoi(given[++i]);
      else
        kept_.emplace_back(given[i]);
    }
    std::setvbuf(stdout, nullptr, _IOLBF, 0);  // a program that is ended at its limit has said what it knew
  }
  /// What was given to the program, its own words alone.
  [[nodiscard]] const std::vector<std::string>& kept() const { return kept_; }
  /// A row, or the head of a table.
  template <class Row> void each(Row row) {
    if (number_++ < first_) return;
    try {
      row();
    } catch (const std::exception& error) {
      ++wrong_;
      std::printf("| NO: %s | | | | |\n", error.what());
    }
    const cudaError_t left = cudaDeviceSynchronize();
    static_cast<void>(cudaGetLastError());
    if (left != cudaSuccess) begin_anew(left);
  }

 private:
  void begin_anew(cudaError_t left) {
    std::printf("| the card answers nothing after the row above: %s | | | | |\n", cudaGetErrorName(left));
    std::fflush(stdout);
    std::vector<std::string> words{"/proc/self/exe"};
    words.insert(words.end(), kept_.begin(), kept_.end());
    for (const std::string& word : {std::string{"--from"}, std::to_string(number_), std::string{"--wrong"}, std::to_string(wrong_ > 0 ? wrong_ : 1)})
      words.push_back(word);
    std::vector<char*> all;
    for (std::string& word : words) all.push_back(word.data());
    all.push_back(nullptr);
    execv("/proc/self/exe", all.data());
    std::perror("a program that begins anew");
    std::exit(1);
  }
  int& wrong_;
  int first_ = 0, number_ = 0;
  std::vector<std::string> kept_;
};

}  // namespace gpu_check
