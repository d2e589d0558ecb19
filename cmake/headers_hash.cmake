# SPDX-License-Identifier: MIT
# cmake -DINCLUDE_FOLDER=include -DOUTPUT=headers_hash.hpp -P headers_hash.cmake: one number of the names and the texts of all headers, as a header of its
# own. heddle::compiled compares its number with that of the program. The file is written only if it changes.
get_filename_component(folder "${INCLUDE_FOLDER}" ABSOLUTE)  # below a relative one no header is found
string(REPLACE "[" "[[]" pattern "${folder}")
file(GLOB_RECURSE names RELATIVE "${folder}" "${pattern}/heddle/*.hpp")
list(REMOVE_ITEM names "heddle/run/headers_hash.hpp" "heddle/compute/cuda/headers_hash.hpp")
list(SORT names)
if(NOT names)
  message(FATAL_ERROR "there is no header in '${folder}/heddle', so there is nothing to hash. Fix: let INCLUDE_FOLDER be the folder that has heddle/heddle.hpp.")
endif()
set(all "")
foreach(name IN LISTS names)
  file(SHA256 "${folder}/${name}" hash)
  string(APPEND all "${name} ${hash}\n")
endforeach()
string(SHA256 hash "${all}")
string(SUBSTRING "${hash}" 0 15 hash)  # below the largest number of a signed 64-bit integer
file(CONFIGURE OUTPUT "${OUTPUT}" CONTENT "// SPDX-License-Identifier: MIT
// Written by cmake/headers_hash.cmake: the hash of the headers that this file is installed with.
#pragma once

#define HEDDLE_HEADERS_HASH 0x${hash}
" @ONLY)
