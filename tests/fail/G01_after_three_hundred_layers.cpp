// SPDX-License-Identifier: MIT
// More children than clang folds by default: they are checked all the same.
// compilers: g++ clang++ clang++-14
// expect: \[heddle\.G01\] A layer takes another shape than the layer before it gives\.
#include <utility>

#include "heddle/heddle.hpp"

using namespace heddle;

#ifdef HEDDLE_REPAIRED
using Last = Linear<8, 4>;
#else
using Last = Linear<9, 4>;
#endif

template <std::size_t> using Next = Linear<8, 8>;
template <std::size_t... each> Sequential<Next<each>..., Last> deep(std::index_sequence<each...>);
struct Net : decltype(deep(std::make_index_sequence<300>{})) {};
using Trained = Plan<Net, MeanSquaredError, SGD, Batch<8>, Single>;
static_assert(sizeof(Trained) > 0);
