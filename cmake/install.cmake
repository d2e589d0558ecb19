# SPDX-License-Identifier: MIT
# One export set per component, so that a program that wants only types needs neither Eigen nor zlib.
include(CMakePackageConfigHelpers)
set(package_folder "${CMAKE_INSTALL_DATADIR}/cmake/heddle")

foreach(component IN LISTS HEDDLE_COMPONENTS)
  if(component STREQUAL "heddle")
    set(target heddle)
  else()
    set(target heddle_${component})
  endif()
  if(component MATCHES "^(compiled|cuda_kernels)$")  # they have no headers of their own
    install(TARGETS ${target} EXPORT heddle-${component} ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}")
  else()
    install(TARGETS ${target} EXPORT heddle-${component} FILE_SET HEADERS DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}")
  endif()
  install(EXPORT heddle-${component} NAMESPACE heddle:: FILE heddle-${component}-targets.cmake DESTINATION "${package_folder}")
endforeach()

# The hash is made where headers are installed, so that it belongs to them whether anything was built or not.
if(TARGET heddle_compiled)
  install(CODE "execute_process(COMMAND \"${CMAKE_COMMAND}\" \"-DINCLUDE_FOLDER=${include_folder}\" \"-DOUTPUT=${headers_hash}\" -P \"${PROJECT_SOURCE_DIR}/cmake/headers_hash.cmake\" COMMAND_ERROR_IS_FATAL ANY)")
  install(FILES "${headers_hash}" DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/heddle/run")
  install(FILES "${headers_hash}" DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/heddle/compute/cuda")
endif()

configure_package_config_file(
  "${PROJECT_SOURCE_DIR}/cmake/heddle-config.cmake.in" "${PROJECT_BINARY_DIR}/heddle-config.cmake" INSTALL_DESTINATION "${package_folder}")
# Headers only: one package serves 32 and 64 bit; a library serves one. Before 1.0 a new minor number may change interfaces.
set(architectures ARCH_INDEPENDENT)
if("compiled" IN_LIST HEDDLE_COMPONENTS OR "cuda_kernels" IN_LIST HEDDLE_COMPONENTS)
  set(architectures "")
endif()
write_basic_package_version_file("${PROJECT_BINARY_DIR}/heddle-config-version.cmake" COMPATIBILITY SameMinorVersion ${architectures})
install(FILES "${PROJECT_BINARY_DIR}/heddle-config.cmake" "${PROJECT_BINARY_DIR}/heddle-config-version.cmake" DESTINATION "${package_folder}")
foreach(module IN ITEMS NCCL cuDNN)
  string(TOLOWER "${module}" component)
  if("${component}" IN_LIST HEDDLE_COMPONENTS)
    install(FILES "${PROJECT_SOURCE_DIR}/cmake/Find${module}.cmake" "${PROJECT_SOURCE_DIR}/cmake/find_beside_cuda.cmake" DESTINATION "${package_folder}")
  endif()
endforeach()
install(FILES "${PROJECT_SOURCE_DIR}/LICENSE" DESTINATION "${CMAKE_INSTALL_DATADIR}/licenses/heddle")
