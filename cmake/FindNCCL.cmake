# SPDX-License-Identifier: MIT
# NCCL: the target NCCL::nccl, NCCL_FOUND and NCCL_VERSION, and where it was not found NCCL_NOT_FOUND_MESSAGE says why.
include("${CMAKE_CURRENT_LIST_DIR}/find_beside_cuda.cmake")
heddle_find_beside_cuda(NCCL nccl.h nccl.h "NCCL_(MAJOR|MINOR|PATCH)" nccl libnccl.so.2)
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(NCCL REQUIRED_VARS NCCL_LIBRARY NCCL_INCLUDE_DIR VERSION_VAR NCCL_VERSION REASON_FAILURE_MESSAGE "${NCCL_NOT_FOUND_MESSAGE}")
if(NCCL_FOUND)
  set(NCCL_NOT_FOUND_MESSAGE "")
endif()
if(NCCL_FOUND AND NOT TARGET NCCL::nccl)
  add_library(NCCL::nccl UNKNOWN IMPORTED)
  set_target_properties(NCCL::nccl PROPERTIES IMPORTED_LOCATION "${NCCL_LIBRARY}" INTERFACE_INCLUDE_DIRECTORIES "${NCCL_INCLUDE_DIR}")
endif()
