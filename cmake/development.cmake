# SPDX-License-Identifier: MIT
# What Heddle's own programs are built with; nothing of this reaches a consumer.
add_library(heddle_development INTERFACE)
target_compile_options(heddle_development INTERFACE -Wall -Wextra -Wpedantic -Wshadow)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  # GCC 12 warns of overlapping memory in "literal" + std::string, which is not there (GCC bug 105651).
  target_compile_options(heddle_development INTERFACE -Wno-restrict)
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # g++ collects garbage from 100 MB on, which takes a tenth of the time of a file with many plans; here from 1 GiB on. Once it has collected some,
  # it looks for each larger block in a list of all pages that became free, which takes up to a third: with memory enough it never collects.
  cmake_host_system_information(RESULT memory_mib QUERY TOTAL_PHYSICAL_MEMORY)
  cmake_host_system_information(RESULT cores QUERY NUMBER_OF_LOGICAL_CORES)
  math(EXPR memory_mib_a_core "${memory_mib} / ${cores}")
  set(heap_kib 1048576)
  if(memory_mib_a_core GREATER_EQUAL 6144)
    set(heap_kib 4194304)
  endif()
  target_compile_options(heddle_development INTERFACE "SHELL:--param ggc-min-heapsize=${heap_kib}")
endif()
# Hundreds of programs are linked: gold takes a third of the time of the linker that g++ takes by itself.
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND NOT "${CMAKE_CXX_FLAGS} ${CMAKE_CXX_FLAGS_RELEASE}" MATCHES "-fsanitize|-flto|-fuse-ld")
  include(CheckLinkerFlag)
  check_linker_flag(CXX -fuse-ld=gold HEDDLE_HAS_GOLD)
  if(HEDDLE_HAS_GOLD)
    target_link_options(heddle_development INTERFACE -fuse-ld=gold)
  endif()
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

# What heddle/backend/cpu_threads.hpp holds is read once for all programs that include it, and with the tests compiled once where it depends on no plan.
# Nothing else is precompiled, so that an include which such a program lacks is found as ever.
function(heddle_reads_cpu_threads name)
  if(NOT TARGET heddle_cpu_threads)
    set(source "${PROJECT_BINARY_DIR}/precompiled/cpu_threads.cpp")
    set(headers <heddle/backend/cpu_threads.hpp>)
    if(HEDDLE_BUILD_TESTS)  # plans of such a program are noted
      set(source "${PROJECT_SOURCE_DIR}/tests/shared_ranks.cpp")
      list(APPEND headers "${PROJECT_SOURCE_DIR}/tests/plan/noticed.hpp" "${PROJECT_SOURCE_DIR}/tests/shared_ranks.hpp")
    else()
      file(CONFIGURE OUTPUT "${source}" CONTENT "// What is precompiled belongs to a target that has a file.\n")
    endif()
    add_library(heddle_cpu_threads OBJECT "${source}")
    target_link_libraries(heddle_cpu_threads PRIVATE heddle::eigen heddle::gzip heddle_development)
    target_precompile_headers(heddle_cpu_threads PRIVATE ${headers})
  endif()
  target_precompile_headers(${name} REUSE_FROM heddle_cpu_threads)
  if(HEDDLE_BUILD_TESTS)
    target_sources(${name} PRIVATE $<TARGET_OBJECTS:heddle_cpu_threads>)
  endif()
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
