// SPDX-License-Identifier: MIT
#include "heddle/plan/lower/units.hpp"

#include <doctest/doctest.h>

#include "plan/plans.hpp"

using namespace heddle;
using namespace heddle::tests;

TEST_CASE("sizes are rounded up to whole lines and units") {
  static_assert(rounded_up(0, 64) == 0 && rounded_up(1, 64) == 64 && rounded_up(64, 64) == 64 && rounded_up(65, 64) == 128);
  CHECK(unit_bytes == 64 * line_bytes);
}

TEST_CASE("parameters lie in the order of nodes, each on a line of its own, a unit per leaf") {
  constexpr const Graph& graph = graph_of<Mnist>;
  constexpr Layout layout = cut_at(graph, {0}, {0});
  constexpr auto flat = lay_out_parameters<graph.parameter_count, graph.node_count, 1>(graph, layout);
  static_assert(flat.parameters[0].begin == 0 && flat.parameters[0].elements == 39'200);
  static_assert(flat.parameters[1].begin == 39'200);
  static_assert(flat.parameters[2].begin == 159'744 / 4 && flat.parameters[2].node == 2 && flat.parameters[2].index == 0);
  static_assert(flat.parameters[3].begin == (159'744 + 2'048) / 4);  // 500 floats fill 32 lines
  CHECK(flat.role_elements[0] == (159'744 + 4'096) / 4);
}

TEST_CASE("no two parameters of a role overlap, and each unit starts and ends at whole units") {
  constexpr const Graph& graph = graph_of<Skips>;
  constexpr Layout layout = cut_at(graph, {0, 5, 10}, {0, 1, 0});
  constexpr auto flat = lay_out_parameters<graph.parameter_count, graph.node_count, 2>(graph, layout);
  for (int a = 0; a < graph.parameter_count; ++a) {
    const ParameterPlace& p = flat.parameters[a];
    CHECK(p.begin % line_elements == 0);
    CHECK(p.begin + p.elements <= flat.role_elements[p.role]);
    CHECK(p.role == layout.device_of_chunk[layout.chunk_of(p.node)]);
    if (p.index == 0) CHECK(p.begin % unit_elements == 0);  // outside a Repeat each leaf is a unit
    for (int b = 0; b < a; ++b) {
      const ParameterPlace& q = flat.parameters[b];
      if (q.role == p.role) CHECK((q.begin + q.elements <= p.begin || p.begin + p.elements <= q.begin));
    }
  }
}

TEST_CASE("a repetition of a block is one unit, so its parameters lie together") {
  constexpr const Graph& graph = graph_of<Sequential<Linear<8, 4>, Repeat<2, Sequential<Linear<4, 4>, Linear<4, 4>>>, Linear<4, 2>>>;
  constexpr Layout layout = cut_at(graph, {0}, {0});
  constexpr auto flat = lay_out_parameters<graph.parameter_count, graph.node_count, 1>(graph, layout);
  static_assert(flat.node_begin[1] == unit_elements && flat.node_begin[2] == unit_elements + 2 * line_elements);
  static_assert(flat.node_begin[3] == 2 * unit_elements && flat.node_begin[5] == 3 * unit_elements);
  CHECK(flat.role_elements[0] == 4 * unit_elements);
}
