// SPDX-License-Identifier: MIT
// Configurations that the benchmarks of Alpa name for GPT on V100 of 16 GB: sizes of models, and by number of devices the ranks of each axis, the
// rows of a step and its micro-batches. Source: sources.md#alpa.
#pragma once

#include <vector>

namespace heddle::tests::alpa {

enum class Size { m125, m350, m760, b1_3, b2_6, b6_7, b15, b39 };

/// A row: 16 devices train 2.6B as 4 replicas of 2 tensor ranks in 2 stages, 1,024 sequences a step in 64 micro-batches.
struct Configuration {
  int devices;
  Size size;
  int data, tensor, stages, rows, micro_batches;
};

/// Every configuration of 1,024 sequences a step that the manual suite lists, of Megatron-LM's axes and of Alpa's own.
inline const std::vector<Configuration> of_1024{
    {2, Size::m760, 2, 1, 1, 1024, 64},    {2, Size::m760, 2, 1, 1, 1024, 32},    {2, Size::m760, 1, 2, 1, 1024, 64},
    {2, Size::m760, 1, 1, 2, 1024, 64},    {2, Size::m760, 1, 1, 2, 1024, 128},   {4, Size::m760, 2, 2, 1, 1024, 32},
    {4, Size::m760, 4, 1, 1, 1024, 16},    {4, Size::m760, 1, 4, 1, 1024, 32},    {4, Size::m760, 1, 1, 4, 1024, 32},
    {4, Size::m760, 1, 1, 4, 1024, 64},    {4, Size::m760, 2, 1, 2, 1024, 32},    {4, Size::m760, 2, 1, 2, 1024, 64},
    {4, Size::m760, 1, 2, 2, 1024, 64},    {4, Size::m760, 1, 2, 2, 1024, 32},    {4, Size::b1_3, 4, 1, 1, 1024, 32},
    {4, Size::b1_3, 2, 2, 1, 1024, 128},   {4, Size::b1_3, 2, 2, 1, 1024, 32},    {4, Size::b1_3, 1, 4, 1, 1024, 64},
    {4, Size::b1_3, 1, 1, 4, 1024, 128},   {4, Size::b1_3, 2, 1, 2, 1024, 128},   {4, Size::b1_3, 2, 1, 2, 1024, 64},
    {4, Size::b1_3, 1, 2, 2, 1024, 64},    {8, Size::b1_3, 8, 1, 1, 1024, 8},     {8, Size::b1_3, 4, 2, 1, 1024, 64},
    {8, Size::b1_3, 4, 2, 1, 1024, 8},     {8, Size::b1_3, 4, 1, 2, 1024, 64},    {8, Size::b1_3, 2, 4, 1, 1024, 32},
    {8, Size::b1_3, 2, 1, 4, 1024, 64},    {8, Size::b1_3, 2, 2, 2, 1024, 32},    {8, Size::b1_3, 1, 8, 1, 1024, 32},
    {8, Size::b1_3, 1, 4, 2, 1024, 32},    {8, Size::b1_3, 1, 2, 4, 1024, 32},    {8, Size::b1_3, 1, 1, 8, 1024, 64},
    {8, Size::b1_3, 1, 1, 8, 1024, 128},   {8, Size::b2_6, 4, 2, 1, 1024, 32},    {8, Size::b2_6, 2, 4, 1, 1024, 128},
    {8, Size::b2_6, 2, 2, 2, 1024, 128},   {8, Size::b2_6, 2, 2, 2, 1024, 64},    {8, Size::b2_6, 4, 1, 2, 1024, 64},
    {8, Size::b2_6, 2, 1, 4, 1024, 64},    {8, Size::b2_6, 1, 8, 1, 1024, 128},   {8, Size::b2_6, 1, 4, 2, 1024, 64},
    {8, Size::b2_6, 1, 2, 4, 1024, 64},    {8, Size::b2_6, 1, 1, 8, 1024, 128},   {16, Size::b2_6, 16, 1, 1, 1024, 64},
    {16, Size::b2_6, 8, 1, 2, 1024, 64},   {16, Size::b2_6, 8, 1, 2, 1024, 32},   {16, Size::b2_6, 8, 2, 1, 1024, 32},
    {16, Size::b2_6, 4, 4, 1, 1024, 64},   {16, Size::b2_6, 4, 2, 2, 1024, 64},   {16, Size::b2_6, 4, 2, 2, 1024, 32},
    {16, Size::b2_6, 4, 1, 4, 1024, 64},   {16, Size::b2_6, 4, 1, 4, 1024, 32},   {16, Size::b2_6, 4, 1, 4, 1024, 128},
    {16, Size::b2_6, 2, 8, 1, 1024, 64},   {16, Size::b2_6, 2, 4, 2, 1024, 64},   {16, Size::b2_6, 2, 4, 2, 1024, 32},
    {16, Size::b2_6, 2, 2, 4, 1024, 64},   {16, Size::b2_6, 2, 2, 4, 1024, 32},   {16, Size::b2_6, 2, 1, 8, 1024, 64},
    {16, Size::b2_6, 2, 1, 8, 1024, 128},  {16, Size::b2_6, 1, 8, 2, 1024, 32},   {16, Size::b2_6, 1, 4, 4, 1024, 64},
    {16, Size::b2_6, 1, 2, 8, 1024, 64},   {16, Size::b2_6, 1, 1, 16, 1024, 64},  {16, Size::b2_6, 1, 1, 16, 1024, 128},
    {16, Size::b6_7, 2, 4, 2, 1024, 64},   {16, Size::b6_7, 2, 2, 4, 1024, 128},  {16, Size::b6_7, 2, 1, 8, 1024, 256},
    {16, Size::b6_7, 2, 1, 8, 1024, 512},  {16, Size::b6_7, 1, 8, 2, 1024, 64},   {16, Size::b6_7, 1, 4, 4, 1024, 128},
    {16, Size::b6_7, 1, 4, 4, 1024, 256},  {16, Size::b6_7, 1, 2, 8, 1024, 256},  {16, Size::b6_7, 1, 1, 16, 1024, 512},
    {32, Size::b6_7, 2, 8, 2, 1024, 32},   {32, Size::b6_7, 2, 4, 4, 1024, 64},   {32, Size::b6_7, 2, 2, 8, 1024, 64},
    {32, Size::b6_7, 2, 1, 16, 1024, 128}, {32, Size::b6_7, 1, 8, 4, 1024, 64},   {32, Size::b6_7, 1, 4, 8, 1024, 64},
    {32, Size::b6_7, 1, 2, 16, 1024, 128}, {32, Size::b6_7, 1, 1, 32, 1024, 256}, {32, Size::b6_7, 8, 4, 1, 1024, 64},
    {32, Size::b6_7, 4, 8, 1, 1024, 16},   {32, Size::b6_7, 8, 1, 4, 1024, 128},  {32, Size::b6_7, 8, 2, 2, 1024, 128},
    {32, Size::b6_7, 4, 1, 8, 1024, 64},   {32, Size::b6_7, 4, 2, 4, 1024, 32},   {32, Size::b6_7, 1, 1, 32, 1024, 512},
    {32, Size::b15, 1, 8, 4, 1024, 256},   {32, Size::b15, 1, 4, 8, 1024, 256},   {32, Size::b15, 1, 2, 16, 1024, 256},
    {32, Size::b15, 2, 4, 4, 1024, 256},   {32, Size::b15, 1, 2, 16, 1024, 512},  {64, Size::b39, 1, 4, 16, 1024, 1024},
    {64, Size::b39, 1, 8, 8, 1024, 512}};

/// Small batches of the same suite whose stages are more than their micro-batches: some of them always stand idle.
inline const std::vector<Configuration> too_few_micro_batches{
    {2, Size::m350, 1, 1, 2, 16, 1},   {2, Size::m760, 1, 1, 2, 16, 1},    {4, Size::m760, 1, 1, 4, 32, 1},  {4, Size::m760, 1, 1, 4, 64, 2},
    {4, Size::m760, 2, 1, 2, 32, 1},   {8, Size::b1_3, 4, 1, 2, 16, 1},    {8, Size::b1_3, 2, 1, 4, 16, 1},  {8, Size::b1_3, 2, 1, 4, 32, 2},
    {8, Size::b1_3, 2, 2, 2, 32, 1},   {8, Size::b1_3, 1, 4, 2, 32, 1},    {8, Size::b1_3, 1, 2, 4, 32, 1},  {8, Size::b1_3, 1, 2, 4, 64, 2},
    {8, Size::b1_3, 1, 1, 8, 32, 2},   {8, Size::b1_3, 1, 1, 8, 64, 4},    {8, Size::b2_6, 2, 2, 2, 8, 1},   {8, Size::b2_6, 1, 4, 2, 16, 1},
    {8, Size::b2_6, 1, 2, 4, 16, 1},   {8, Size::b2_6, 1, 1, 8, 8, 1},     {16, Size::b2_6, 4, 2, 2, 16, 1}, {16, Size::b2_6, 2, 2, 4, 32, 2},
    {16, Size::b2_6, 1, 1, 16, 16, 1}, {16, Size::b2_6, 1, 1, 16, 128, 8}, {16, Size::b6_7, 1, 8, 2, 16, 1}, {16, Size::b6_7, 1, 1, 16, 8, 1},
    {32, Size::b6_7, 2, 8, 2, 32, 1},  {32, Size::b6_7, 1, 1, 32, 64, 8},  {32, Size::b15, 1, 8, 4, 8, 1},   {32, Size::b15, 2, 2, 8, 64, 2}};

/// What Alpa's own search found on 1 to 64 devices, where all stages have as many devices.
inline const std::vector<Configuration> found{{1, Size::m350, 1, 1, 1, 1024, 512}, {2, Size::m760, 1, 1, 2, 1024, 128},
                                              {4, Size::b1_3, 2, 1, 2, 1024, 128}, {16, Size::b6_7, 2, 4, 2, 1024, 64},
                                              {32, Size::b15, 2, 4, 4, 1024, 128}, {64, Size::b39, 1, 4, 16, 1024, 1024}};

}  // namespace heddle::tests::alpa
