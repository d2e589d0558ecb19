// SPDX-License-Identifier: MIT
// CMake precompiles headers for a library only if one of its sources is compiled with them; main.cpp is not.
