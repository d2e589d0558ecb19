// SPDX-License-Identifier: MIT
// Room: plan. Options of a plan that are no policy: memory budget, bucket size.
// Sees: core.  Does not see: policies, processes.
// In: quantities.  Out: Memory<...>, Bucket<...>.
#pragma once

#include "heddle/core/units.hpp"

namespace heddle::inline plan_room {

/// The memory that one device may need, for example Memory<80_GB>.
///
/// Errors  C01 at build if a device needs more; the sentence names the stage and the largest contributors
/// Tested  plan/options_test, fail/C01_over_budget
template <Bytes Most> struct Memory { static constexpr Bytes memory_budget = Most; };

/// Gradients are reduced in buckets of at least this size, started as soon as their last layer's backward has run.
///
/// Source  sources.md#pytorch-ddp
/// Tested  plan/options_test
template <Bytes AtLeast> struct Bucket { static constexpr Bytes bucket_bytes = AtLeast; };

/// The bucket of a plan that names none.
///
/// Source  sources.md#pytorch-ddp (bucket_cap_mb)
inline constexpr Bytes default_bucket = Bytes{25 * 1024 * 1024};

}  // namespace heddle::inline plan_room
