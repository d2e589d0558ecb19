# SPDX-License-Identifier: MIT
# cmake -DINCLUDE_FOLDER=include -DOUTPUT=headers_hash.hpp -P headers_hash.cmake: one number of the names and the texts of all headers, as a header of its
# own. heddle::compiled compares its number with that of the program. The file is written only if it changes.
file(GLOB_RECURSE names RELATIVE "${INCLUDE_FOLDER}" "${INCLUDE_FOLDER}/heddle/*.hpp")
list(REMOVE_ITEM names "heddle/run/headers_hash.hpp")
list(SORT names)
set(all "")
foreach(name IN LISTS names)
  file(SHA256 "${INCLUDE_FOLDER}/${name}" hash)
  string(APPEND all "${name} ${hash}\n")
endforeach()
string(SHA256 hash "${all}")
string(SUBSTRING "${hash}" 0 15 hash)  # below the largest number of a signed 64-bit integer
file(CONFIGURE OUTPUT "${OUTPUT}" CONTENT "// SPDX-License-Identifier: MIT
// Written by cmake/headers_hash.cmake: the hash of the headers that this file is installed with.
#pragma once

#define HEDDLE_HEADERS_HASH 0x${hash}
" @ONLY)
