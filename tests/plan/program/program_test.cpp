// SPDX-License-Identifier: MIT
#include "heddle/plan/program/program.hpp"

#include <doctest/doctest.h>

using namespace heddle;

TEST_CASE("a place is nowhere until it is set, and scratch is a place") {
  static_assert(!Place{}.set());
  static_assert(Place{Place::scratch, 0}.set());
  static_assert(Place{3, 64}.set());
  static_assert(Place{3, 64} == Place{3, 64} && !(Place{3, 64} == Place{3, 128}) && !(Place{3, 64} == Place{2, 64}));
  CHECK(Place{Place::scratch, 64} != Place{0, 64});
}

TEST_CASE("a program by hand answers where the loss is, which slot a micro-batch has and how grains lie") {
  const int devices_of_chunks[] = {0, 1, 0};
  const std::int16_t slots[] = {0, 1, 0, 1, 2, 3, 4, 5};  // two pools, four micro-batches
  Program program;
  program.roles = 2;
  program.chunks = 3;
  program.device_of_chunk = devices_of_chunks;
  program.slots = slots;
  program.batch.rounds = 2;
  program.batch.micro_batches = 2;
  program.batch.grain_rows = 3;
  CHECK(program.loss_role() == 0);
  CHECK(program.slot(0, 1) == 1);
  CHECK(program.slot(0, 2) == 0);
  CHECK(program.slot(1, 3) == 5);
  CHECK(program.grain_stride(5) == 16);  // 15 floats fill a line of 16
  CHECK(program.grain_stride(6) == 32);  // 18 do not
  CHECK(program.grain_stride(16) == 48);
}

TEST_CASE("a transfer has the elements of its value, and a gradient float32") {
  Graph graph;
  graph.input.type = ElementType::int32;
  Program program;
  program.graph = &graph;
  Transfer sent;
  sent.elements = 800;
  CHECK(program.type_of(sent) == ElementType::int32);
  CHECK(program.bytes(sent) == Bytes{3200});
  sent.gradient = true;
  CHECK(program.type_of(sent) == ElementType::float32);
  sent = {};
  sent.use = 0;  // of tied parameters
  CHECK(program.type_of(sent) == ElementType::float32);
}

TEST_CASE("an instruction names nothing until it is filled in; one of no bucket moves what its collective is for") {
  constexpr Instruction line;
  static_assert(line.chunk == -1 && line.micro_batch == -1 && line.transfer == -1 && line.peer == -1 && line.bucket == -1 && line.token == -1);
  static_assert(line.when == When::always);
  Collective loss;
  loss.purpose = Purpose::loss;
  Program p;
  p.collectives = &loss;
  CHECK_FALSE(p.moves(line, Purpose::loss));
  Instruction moving;
  moving.collective = 0;
  CHECK((p.moves(moving, Purpose::loss) && !p.moves(moving, Purpose::norm)));
  moving.bucket = 0;  // a bucket says what it is
  CHECK_FALSE(p.moves(moving, Purpose::loss));
  CHECK(IndexRange{3, 7}.count() == 4);
}
