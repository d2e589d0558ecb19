// SPDX-License-Identifier: MIT
// Room: tests. What the emulator's own tests share: a stream with arrays on a card, sentences that have words, code that ends its process.
// Sees: cuda_emulator, compute/cuda/resources.  Does not see: how the emulator works.
// In: numbers, words, functions.  Out: OneCard, Line, says, ended_by, seeds.
#pragma once

#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cuda_emulator/cuda_emulator.hpp"
#include "cuda_emulator/sanitizers.hpp"
#include "heddle/compute/cuda/resources.hpp"

namespace cuda_emulator::tests {

using namespace heddle::compute_room;

inline constexpr std::uint64_t seeds = 50;

/// A stream and what goes to and from its card.
class OneCard {
 public:
  [[nodiscard]] cudaStream_t stream() const { return stream_.get(); }
  /// n numbers on the card that nobody has written.
  template <class T = float> static CardMemory<T> unset(std::size_t n) { return card_memory<T>(n, "a test"); }
  template <class T> CardMemory<T> up(const std::vector<T>& numbers) const {
    CardMemory<T> there = unset<T>(numbers.size());
    check_cuda(cudaMemcpyAsync(there.get(), numbers.data(), numbers.size() * sizeof(T), cudaMemcpyHostToDevice, stream()), "up");
    return there;
  }
  CardMemory<float> up(std::size_t n, float x) const { return up(std::vector<float>(n, x)); }
  template <class T> std::vector<T> down(const T* there, std::size_t n) const {
    std::vector<T> numbers(n);
    check_cuda(cudaMemcpyAsync(numbers.data(), there, n * sizeof(T), cudaMemcpyDeviceToHost, stream()), "down");
    check_cuda(cudaStreamSynchronize(stream()), "cudaStreamSynchronize");
    return numbers;
  }
  template <class T> std::vector<T> down(const CardMemory<T>& there, std::size_t n) const { return down(there.get(), n); }
  [[nodiscard]] cudaError_t synchronize() const { return cudaStreamSynchronize(stream()); }

 private:
  Stream stream_ = make_stream();
};

/// x[i] = scale x[i] + by.
struct Line {
  static constexpr const char* name = "Line";
  static constexpr bool cooperative = false;
  template <BlockOfThreads B> HEDDLE_DEVICE void operator()(B& b, float* x, float scale, float by) const {
    x[b.thread()] = scale * x[b.thread()] + by;
  }
};

/// Whether one of the sentences has all the words.
inline bool says(const std::vector<std::string>& sentences, std::initializer_list<std::string_view> words) {
  return std::any_of(sentences.begin(), sentences.end(), [&](const std::string& sentence) {
    return std::all_of(words.begin(), words.end(), [&](std::string_view word) { return sentence.find(word) != std::string::npos; });
  });
}
inline bool all_are(const std::vector<float>& numbers, float x) {
  return std::all_of(numbers.begin(), numbers.end(), [&](float number) { return number == x; });
}
/// A right program: nothing was said and everything was given back.
inline void check_right() {
  CHECK(violations() == std::vector<std::string>{});
  CHECK(alive().empty());
}
/// Runs a body in a process of its own: its exit code and what it wrote to standard error.
template <class Body> std::pair<int, std::string> ended_by(Body&& body) {
  int ends[2] = {};
  REQUIRE(pipe(ends) == 0);
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    dup2(ends[1], STDERR_FILENO);
    close(STDOUT_FILENO);
    body();
    _exit(0);
  }
  close(ends[1]);
  std::string text;
  char some[256];
  for (ssize_t n = 0; (n = read(ends[0], some, sizeof some)) > 0;) text.append(some, static_cast<std::size_t>(n));
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, text};
}

}  // namespace cuda_emulator::tests
