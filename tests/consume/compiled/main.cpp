// SPDX-License-Identifier: MIT
// Says what was trained, or in one sentence why it was not.
#include <heddle/run/run_main.hpp>

#include <cstdio>
#include <string>

std::string TRAINED();
#ifdef ALSO_TRAINED
std::string ALSO_TRAINED();
#endif

int main() {
  return heddle::run_main([] {
    std::fputs(TRAINED().c_str(), stdout);
#ifdef ALSO_TRAINED
    std::fputs(ALSO_TRAINED().c_str(), stdout);
#endif
  });
}
