// SPDX-License-Identifier: MIT
// Processes that nothing joins but a folder, as torchrun starts them: RANK, WORLD_SIZE and HEDDLE_MEETING are in the environment of each.
#pragma once

#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <iostream>
#include <string>
#include <utility>
#include <vector>

namespace forked_processes {

/// What a process has left: its words and how it ended.
struct Ended {
  std::string words;
  int status = 0;
};

/// body(rank) in each of `ranks` processes; what it returns are the words, or what it throws. Nobody ends before all have said theirs, so that no
/// folder of the emulator goes too early; one that ends in the middle of its body says nothing.
template <class Body> std::vector<Ended> run(int ranks, const std::string& folder, Body body) {
  std::array<int, 2> go{};
  if (pipe(go.data()) != 0) std::abort();
  std::vector<std::pair<pid_t, int>> children;
  for (int rank = 0; rank < ranks; ++rank) {
    std::array<int, 2> words{};
    if (pipe(words.data()) != 0) std::abort();
    std::fflush(stdout);  // what the child has of it, it would print as well
    std::cout.flush();
    const pid_t child = fork();
    if (child == 0) {
      close(words[0]);
      close(go[1]);
      for (const auto& [name, value] :
           {std::pair{"RANK", std::to_string(rank)}, std::pair{"WORLD_SIZE", std::to_string(ranks)}, std::pair{"HEDDLE_MEETING", folder}})
        setenv(name, value.c_str(), 1);
      std::string said;
      try {
        said = body(rank);
      } catch (const std::exception& error) {
        said = error.what();
      }
      if (write(words[1], said.data(), said.size()) < 0) std::abort();
      close(words[1]);
      char end = 0;
      static_cast<void>(read(go[0], &end, 1));  // until the first process closes it
      std::exit(0);
    }
    close(words[1]);
    children.emplace_back(child, words[0]);
  }
  close(go[0]);
  std::vector<Ended> all;
  for (const auto& [child, words] : children) {
    Ended one;
    std::array<char, 4096> room{};
    for (ssize_t got = 0; (got = read(words, room.data(), room.size())) > 0;) one.words.append(room.data(), static_cast<std::size_t>(got));
    close(words);
    all.push_back(one);
  }
  close(go[1]);
  for (std::size_t r = 0; r < children.size(); ++r) waitpid(children[r].first, &all[r].status, 0);
  return all;
}

}  // namespace forked_processes
