// SPDX-License-Identifier: MIT
// Room: core. Other names of the rooms for programs that link heddle::compiled: no symbol of theirs is one of a program that compiles Heddle itself.
// Sees: core/language.  Does not see: every other room.
// In: HEDDLE_COMPILED, which the target defines.  Out: the namespaces of every header that comes after, as core/language.hpp comes first.
#pragma once

#include "heddle/core/language.hpp"

#ifdef HEDDLE_COMPILED
// Linked into one program, files that were compiled with and without HEDDLE_COMPILED, perhaps with other flags, would otherwise share functions:
// the linker takes one of each name, and whichever it takes is wrong for half of the callers. An object of one kind that is handed to a function
// of the other is now a name that the linker does not find. Inside a struct, or returned, it has no name: run/movable.hpp refuses a trainer there.
// clang 14 to 19 open a second namespace where `namespace heddle::run_room` meets a room inside an inline namespace, so the rooms themselves have
// two names.
#define core_room compiled_core_room
#define graph_room compiled_graph_room
#define mesh_room compiled_mesh_room
#define policy_room compiled_policy_room
#define plan_room compiled_plan_room
#define cost_room compiled_cost_room
#define seams_room compiled_seams_room
#define run_room compiled_run_room
#define report_room compiled_report_room
#define io_room compiled_io_room
#define compute_room compiled_compute_room
#define transport_room compiled_transport_room
#define backend_room compiled_backend_room
#define proof_room compiled_proof_room
#endif
