// SPDX-License-Identifier: MIT
// The other one of two programs that are compiled with other flags.
#include "processes/builds.hpp"

int main() { return processes::builds::main_of_process(); }
