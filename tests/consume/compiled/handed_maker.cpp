// SPDX-License-Identifier: MIT
// Any argument puts the trainer behind a vector.
#include "handed.hpp"

#include <heddle/run/run_main.hpp>

#include <cstdio>

template <class Made> void make() {
  Made made;
  std::printf("%a\n", static_cast<double>(first_weight(made)));
}

int main(int count, char**) { return heddle::run_main(count == 1 ? make<Handed> : make<Behind>); }
