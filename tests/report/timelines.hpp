// SPDX-License-Identifier: MIT
// Room: tests. Timelines that the tests of pictures draw.
// Sees: plan/read/timeline.
#pragma once

#include <string>
#include <vector>

#include "heddle/plan/read/timeline.hpp"

namespace heddle::tests {

inline extending::Span computed(extending::SpanKind kind, int device, int micro_batch, double begin, double end) {
  extending::Span span;
  span.kind = kind;
  span.device = device;
  span.chunk = device;
  span.micro_batch = micro_batch;
  span.begin.value = begin;
  span.end.value = end;
  return span;
}
inline extending::Span moved(extending::SpanKind kind, int device, int peer, int flow, double begin, double end) {
  extending::Span span = computed(kind, device, 0, begin, end);
  span.lane = extending::Lane::communication;
  span.chunk = -1;
  span.peer = peer;
  span.flow = flow;
  span.bytes = core_room::Bytes{kind == extending::SpanKind::send ? 3200 : 0};
  return span;
}

/// Two stages and one micro-batch: a forward of 1 s and a backward of 2 s each, messages of half a second, so 7 s of which each computes for 3.
inline extending::Timeline two_stages() {
  using extending::SpanKind;
  extending::Timeline t;
  t.title = "two stages";
  t.devices = {"stage 0", "stage 1"};
  t.spans = {computed(SpanKind::forward, 0, 0, 0, 1),     moved(SpanKind::send, 0, 1, 0, 1, 1.5),       moved(SpanKind::receive, 1, 0, 0, 1, 1.5),
             computed(SpanKind::forward, 1, 0, 1.5, 2.5), computed(SpanKind::backward, 1, 0, 2.5, 4.5), moved(SpanKind::send, 1, 0, 1, 4.5, 5),
             moved(SpanKind::receive, 0, 1, 1, 4.5, 5),   computed(SpanKind::backward, 0, 0, 5, 7)};
  t.memory = {{0, {0}, core_room::Bytes{1000}}, {0, {1}, core_room::Bytes{1800}}, {0, {7}, core_room::Bytes{1000}}, {1, {0}, core_room::Bytes{500}}};
  return t;
}

}  // namespace heddle::tests
