# SPDX-License-Identifier: MIT
# What Heddle's own programs are built with; nothing of this reaches a consumer.
add_library(heddle_development INTERFACE)
target_compile_options(heddle_development INTERFACE -Wall -Wextra -Wpedantic -Wshadow)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  # GCC 12 warns of overlapping memory in "literal" + std::string, which is not there (GCC bug 105651).
  target_compile_options(heddle_development INTERFACE -Wno-restrict)
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # g++ collects garbage from 100 MB on, which takes a tenth of the time of a file with many plans; here from 1 GiB on.
  target_compile_options(heddle_development INTERFACE "SHELL:--param ggc-min-heapsize=1048576")
endif()
if(HEDDLE_WARNINGS_AS_ERRORS)
  target_compile_options(heddle_development INTERFACE -Werror)
endif()

if(PROJECT_IS_TOP_LEVEL)
  set(CMAKE_CXX_EXTENSIONS OFF)
  set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
  if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
    set(CMAKE_BUILD_TYPE Release CACHE STRING "Kind of build" FORCE)
  endif()
  if(NOT CMAKE_CXX_COMPILER_LAUNCHER)
    find_program(HEDDLE_CCACHE ccache)
    if(HEDDLE_CCACHE)
      # Without the second word ccache passes by whatever reads a precompiled header.
      set(CMAKE_CXX_COMPILER_LAUNCHER "${CMAKE_COMMAND}" -E env CCACHE_SLOPPINESS=pch_defines,time_macros "${HEDDLE_CCACHE}")
    endif()
  endif()
endif()

# What the project's own programs need and its users do not; whoever wants only the headers is told the way.
macro(heddle_find_for_programs)
  foreach(package IN ITEMS ${ARGN})
    find_package(${package} QUIET)
    if(NOT ${package}_FOUND)
      message(FATAL_ERROR "heddle: ${package} was not found, which Heddle's own tests and tools need. \
Fix: ./heddle test installs them on Debian and Ubuntu; cmake --preset install needs none of them.")
    endif()
  endforeach()
endmacro()

# One program from one source file, linked with all components.
function(heddle_add_program name source)
  add_executable(${name} "${source}")
  target_link_libraries(${name} PRIVATE heddle::eigen heddle::gzip heddle_development)
endfunction()

# How tests start processes, or why they cannot. Open MPI refuses root and more ranks than cores unless it is told; its own leaks and locks are not ours.
set(HEDDLE_TEST_PROCESSES 4)
set(HEDDLE_MPI_ENVIRONMENT OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1 ASAN_OPTIONS=detect_leaks=0
  TSAN_OPTIONS=detect_deadlocks=0:ignore_noninstrumented_modules=1)
set(HEDDLE_WHY_NO_MPI "")
if(NOT TARGET heddle::mpi)
  set(HEDDLE_WHY_NO_MPI "MPI was not found (packages libopenmpi-dev and openmpi-bin)")
elseif(NOT MPIEXEC_EXECUTABLE)
  set(HEDDLE_WHY_NO_MPI "there is no mpirun (package openmpi-bin)")
endif()
