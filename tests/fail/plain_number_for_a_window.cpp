// SPDX-License-Identifier: MIT
// `MaxPool2d<2>` for `MaxPool2d<KernelSize<2>>`
// compilers: g++ clang++ clang++-14
// expect-g++: 'template<class \.\.\. OptionsSuchAsKernelSize2> struct heddle::graph_room::MaxPool2d'
// expect-g++: expected a type, got '2'
// expect-clang: template argument for template type parameter must be a type
// expect-clang: OptionsSuchAsKernelSize2
#include "heddle/heddle.hpp"

using namespace heddle;

#ifdef HEDDLE_REPAIRED
using Pooling = MaxPool2d<KernelSize<2>>;
#else
using Pooling = MaxPool2d<2>;
#endif
