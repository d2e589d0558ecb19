// SPDX-License-Identifier: MIT
// Room: plan. Parameters that are not trained, where they are sliced: each layer has its own in one bucket, which is gathered for it.
// Sees: plan/check/flat, plan/program.  Does not see: lowering, policies by name, processes, threads.
// In: a Program and what it was made from.  Out: ok, S18 with what is noted and what follows, or S19 with what overlaps.
#pragma once

#include <cstdint>

#include "heddle/core/rule.hpp"
#include "heddle/plan/check/flat.hpp"
#include "heddle/plan/check/noted.hpp"
#include "heddle/plan/program/alignment.hpp"
#include "heddle/plan/program/program.hpp"

namespace heddle::plan_room {

/// Asked after FlatCheck, which has compared where parameters lie. Buckets of a device come from the end of its frozen parameters.
///
/// Frozen<Linear<16, 16>> under Sharded<2> is one bucket of 272 elements in 1,024; under DataParallel<2> it is in none.
/// Tested  plan/check/frozen_test
struct FrozenCheck {
  const Program& p;
  const MadeFrom& from;
  const Graph& model = from.model;
  Diagnosis fault{};

  constexpr void run() {
    for (int b = 0; b < p.bucket_count; ++b)
      if (p.buckets[b].frozen) return void(fault = noted_otherwise<std::int64_t>("whether the parameters of a bucket are frozen", "", 1, 0));
    if (!p.storage.parameters) {
      if (p.frozen_count != 0) fault = noted_otherwise<std::int64_t>("the number of buckets of frozen parameters", "", p.frozen_count, 0);
      return;
    }
    std::int64_t before[Layout::most_chunks][2]{};
    for (int r = 0; r < p.roles; ++r) {
      before[r][0] = p.arenas[r][RegionKind::frozen].elements();
      before[r][1] = p.storage.keeps ? p.arenas[r][RegionKind::thawed].elements() : INT64_MAX;
    }
    for (int b = p.bucket_count; b < p.bucket_count + p.frozen_count && fault.ok(); ++b) bucket(b, before);
    for (int n = 0; n < model.node_count && fault.ok(); ++n)
      if (model.frozen(n)) has_bucket(n);
  }

 private:
  [[nodiscard]] static constexpr bool lies_in(const ParameterPlace& place, const FlatBucket& bucket) {
    return place.role == bucket.role && place.begin >= bucket.begin && place.begin + place.elements <= bucket.end();
  }
  /// Bucket b ends before the one before it begins, is of even slices and has room in its ring.
  constexpr void bucket(int b, std::int64_t (*before)[2]) {
    const FlatBucket& is = p.buckets[b];
    if (is.role < 0 || is.role >= p.roles)
      return void(fault = noted_otherwise<std::int64_t>("the device of a bucket of frozen parameters", "", is.role, p.roles - 1));
    if (!is.frozen) return void(fault = noted_otherwise<std::int64_t>("whether the parameters of a bucket are frozen", "", 0, 1));
    if (is.shared)
      return void(fault = noted_otherwise<std::int64_t>("whether a bucket of frozen parameters has gradients that are shared", "", 1, 0));
    std::int64_t& end = before[is.role][is.steps() ? 0 : 1];
    const std::int64_t least = is.steps() ? 0 : p.arenas[is.role][RegionKind::frozen].elements();
    if (is.end() > end) return void(fault = ends_outside("bucket ", b, is.role, float_bytes * is.end(), float_bytes * end));
    if (is.begin < least || is.elements <= 0 || is.begin % unit_elements != 0)
      return void(fault = overlaps("bucket ", b, is.role, float_bytes * is.begin, float_bytes * least));
    if (is.elements % unit_elements != 0)
      return void(fault = noted_otherwise("the elements of a sliced bucket", "", is.elements, rounded_up(is.elements, unit_elements)));
    end = is.begin;
    const std::int64_t room = p.arenas[is.role][RegionKind::thawed].elements();
    if (!p.storage.keeps && (is.slot < 0 || is.slot > 1 || is.elements > room))
      return void(fault = ends_outside("bucket ", b, is.role, float_bytes * (is.slot * room + is.elements), 2 * float_bytes * room));
    filled(b);
  }
  /// What a bucket says of its layers is so of those that lie in it.
  constexpr void filled(int b) {
    const FlatBucket& is = p.buckets[b];
    std::int64_t payload = 0;
    int lowest = -1, highest = -1;
    for (int n = is.lowest_node < 0 ? 0 : is.lowest_node; n <= is.highest_node && n < model.node_count; ++n) {
      if (!model.frozen(n) || !lies_in(p.parameters[model.nodes[n].first_parameter], is)) continue;
      if (lowest < 0) lowest = n;
      highest = n;
      for (int k = 0; k < model.nodes[n].parameter_count && fault.ok(); ++k) {
        const ParameterPlace& place = p.parameters[model.nodes[n].first_parameter + k];
        payload += place.elements;
        const std::int64_t owned = place.owner_begin < 0 ? -1 : is.begin - place.begin + place.owner_begin;
        if (is.owner_begin != owned)
          fault = noted_otherwise("where another layer keeps the bucket of parameter ", model.parameter_name(n, k).view(), is.owner_begin, owned);
      }
    }
    if (!fault.ok()) return;
    const NotedNumber all[] = {{"the lowest layer of a bucket of frozen parameters", is.lowest_node, lowest},
                               {"the highest layer of a bucket of frozen parameters", is.highest_node, highest},
                               {"the number of frozen parameters in a bucket", is.payload, payload}};
    if (fault = differs(all); fault.ok() && !is.steps()) has_keeper(is);
  }
  /// Slices of a use are those of the bucket that keeps it.
  constexpr void has_keeper(const FlatBucket& use) {
    for (int b = p.bucket_count; b < p.bucket_count + p.frozen_count; ++b)
      if (const FlatBucket& keeper = p.buckets[b]; keeper.role == use.role && keeper.steps() && keeper.begin == use.owner_begin) {
        if (keeper.elements != use.elements)
          fault = noted_otherwise("the elements of a bucket of frozen parameters that another layer keeps", "", use.elements, keeper.elements);
        return;
      }
    fault = noted_otherwise("the begin of the bucket that keeps frozen parameters", "", use.owner_begin, std::int64_t{-1});
  }
  constexpr void has_bucket(int n) {
    const int b = p.bucket_of_node[n];
    const bool there = b >= p.bucket_count && b < p.bucket_count + p.frozen_count;
    for (int k = 0; k < model.nodes[n].parameter_count && fault.ok(); ++k)
      if (!there || !lies_in(p.parameters[model.nodes[n].first_parameter + k], p.buckets[b]))
        fault = noted_otherwise<std::int64_t>("whether its bucket has the frozen parameter ", model.parameter_name(n, k).view(), 0, 1);
  }
};

}  // namespace heddle::plan_room
