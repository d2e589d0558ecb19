# SPDX-License-Identifier: MIT
# cuDNN: the target cuDNN::cudnn, cuDNN_FOUND and cuDNN_VERSION, and where it was not found cuDNN_NOT_FOUND_MESSAGE says why.
include("${CMAKE_CURRENT_LIST_DIR}/find_beside_cuda.cmake")
heddle_find_beside_cuda(cuDNN cudnn.h cudnn_version.h "CUDNN_(MAJOR|MINOR|PATCHLEVEL)" cudnn libcudnn.so.9)
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(cuDNN REQUIRED_VARS cuDNN_LIBRARY cuDNN_INCLUDE_DIR VERSION_VAR cuDNN_VERSION REASON_FAILURE_MESSAGE "${cuDNN_NOT_FOUND_MESSAGE}")
if(cuDNN_FOUND)
  set(cuDNN_NOT_FOUND_MESSAGE "")
endif()
if(cuDNN_FOUND AND NOT TARGET cuDNN::cudnn)
  add_library(cuDNN::cudnn UNKNOWN IMPORTED)
  set_target_properties(cuDNN::cudnn PROPERTIES IMPORTED_LOCATION "${cuDNN_LIBRARY}" INTERFACE_INCLUDE_DIRECTORIES "${cuDNN_INCLUDE_DIR}")
endif()
