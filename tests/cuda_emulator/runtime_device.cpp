// SPDX-License-Identifier: MIT
// The CUDA runtime, cards and errors:
//   cudaGetDeviceCount cudaSetDevice cudaGetDevice cudaGetDeviceProperties cudaDeviceGetAttribute cudaDeviceGetPCIBusId
//   cudaDriverGetVersion cudaRuntimeGetVersion cudaDeviceSynchronize cudaDeviceCanAccessPeer cudaDeviceEnablePeerAccess
//   cudaGetLastError cudaPeekAtLastError cudaGetErrorName cudaGetErrorString
#include <cuda_runtime_api.h>

#include <cstdio>

#include "code_texts.hpp"
#include "queues.hpp"
#include "sanitizers.hpp"
#include "state.hpp"

namespace cuda_emulator {
namespace {

/// An H200 with the memory that the test has asked for.
constexpr int major_of_card = 9;
constexpr int multiprocessors = 132;
constexpr int most_threads = 1024;
constexpr int shared_bytes = 48 << 10;
constexpr int shared_bytes_on_demand = 227 << 10;

constexpr CodeText<cudaError_t> error_texts[] = {
    CUDA_EMULATOR_CODE(cudaSuccess, "no error"),
    CUDA_EMULATOR_CODE(cudaErrorInvalidValue, "invalid argument"),
    CUDA_EMULATOR_CODE(cudaErrorMemoryAllocation, "out of memory"),
    CUDA_EMULATOR_CODE(cudaErrorInvalidConfiguration, "invalid configuration argument"),
    CUDA_EMULATOR_CODE(cudaErrorInvalidPitchValue, "invalid pitch argument"),
    CUDA_EMULATOR_CODE(cudaErrorInsufficientDriver, "CUDA driver version is insufficient for CUDA runtime version"),
    CUDA_EMULATOR_CODE(cudaErrorInvalidDeviceFunction, "invalid device function"),
    CUDA_EMULATOR_CODE(cudaErrorNoDevice, "no CUDA-capable device is detected"),
    CUDA_EMULATOR_CODE(cudaErrorInvalidDevice, "invalid device ordinal"),
    CUDA_EMULATOR_CODE(cudaErrorInvalidResourceHandle, "invalid resource handle"),
    CUDA_EMULATOR_CODE(cudaErrorNotReady, "device not ready"),
    CUDA_EMULATOR_CODE(cudaErrorIllegalAddress, "an illegal memory access was encountered"),
    CUDA_EMULATOR_CODE(cudaErrorMisalignedAddress, "misaligned address"),
    CUDA_EMULATOR_CODE(cudaErrorLaunchOutOfResources, "too many resources requested for launch"),
    CUDA_EMULATOR_CODE(cudaErrorPeerAccessAlreadyEnabled, "peer access is already enabled"),
    CUDA_EMULATOR_CODE(cudaErrorPeerAccessUnsupported, "peer access is not supported between these two devices"),
    CUDA_EMULATOR_CODE(cudaErrorLaunchFailure, "unspecified launch failure"),
    CUDA_EMULATOR_CODE(cudaErrorIllegalState, "the operation cannot be performed in the present state"),
    CUDA_EMULATOR_CODE(cudaErrorStreamCaptureUnsupported, "operation not permitted when stream is capturing"),
    CUDA_EMULATOR_CODE(cudaErrorStreamCaptureInvalidated, "operation failed due to a previous error during capture"),
    CUDA_EMULATOR_CODE(cudaErrorStreamCaptureMerge, "operation would result in a merge of separate capture sequences"),
    CUDA_EMULATOR_CODE(cudaErrorStreamCaptureUnmatched, "capture was not ended in the same stream as it began"),
    CUDA_EMULATOR_CODE(cudaErrorStreamCaptureUnjoined, "capturing stream has unjoined work"),
    CUDA_EMULATOR_CODE(cudaErrorStreamCaptureIsolation, "dependency created on uncaptured work in another stream"),
    CUDA_EMULATOR_CODE(cudaErrorStreamCaptureImplicit, "operation would make the legacy stream depend on a capturing blocking stream"),
    CUDA_EMULATOR_CODE(cudaErrorStreamCaptureWrongThread, "attempt to terminate a thread-local capture sequence from another thread"),
    CUDA_EMULATOR_CODE(cudaErrorCapturedEvent, "operation not permitted on an event last recorded in a capturing stream"),
    CUDA_EMULATOR_CODE(cudaErrorUnknown, "unknown error"),
};
constexpr CodeText<cudaError_t> unknown_error{cudaErrorUnknown, "an error that the emulator does not name",
                                              "an error that the emulator does not name"};
const CodeText<cudaError_t>& text_of(cudaError_t error) { return text_of(error_texts, unknown_error, error); }
bool exists(int number) { return number >= 0 && number < state().options.devices; }

cudaError_t attribute(int* value, cudaDeviceAttr asked) {
  switch (asked) {
    case cudaDevAttrMaxThreadsPerBlock: *value = most_threads; return cudaSuccess;
    case cudaDevAttrMaxSharedMemoryPerBlock: *value = shared_bytes; return cudaSuccess;
    case cudaDevAttrMaxSharedMemoryPerBlockOptin: *value = shared_bytes_on_demand; return cudaSuccess;
    case cudaDevAttrWarpSize: *value = 32; return cudaSuccess;
    case cudaDevAttrMultiProcessorCount: *value = multiprocessors; return cudaSuccess;
    case cudaDevAttrComputeCapabilityMajor: *value = major_of_card; return cudaSuccess;
    case cudaDevAttrComputeCapabilityMinor: *value = 0; return cudaSuccess;
    default: violation("cudaDeviceGetAttribute is asked for an attribute that the emulator does not know."); return cudaErrorInvalidValue;
  }
}

}  // namespace
}  // namespace cuda_emulator

using namespace cuda_emulator;

extern "C" {

cudaError_t cudaGetDeviceCount(int* number) {
  *number = 0;
  return runtime_call(__func__, cudaErrorNoDevice, [&](Call&) {
    *number = state().options.devices;
    return cudaSuccess;
  });
}
cudaError_t cudaSetDevice(int number) {
  return runtime_call(__func__, cudaErrorInvalidDevice, [&](Call&) {
    if (!exists(number)) return cudaErrorInvalidDevice;
    current_device() = number;
    return device(number).error;
  });
}
cudaError_t cudaGetDevice(int* number) {
  return runtime_call(__func__, cudaErrorUnknown, [&](Call&) {
    *number = current_device();
    return cudaSuccess;
  });
}
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int number) {
  return runtime_call(__func__, cudaErrorInvalidDevice, [&](Call&) {
    if (!exists(number)) return cudaErrorInvalidDevice;
    *properties = {};
    std::snprintf(properties->name, sizeof properties->name, "emulated card %d", number);
    properties->totalGlobalMem = state().options.device_bytes;
    properties->major = major_of_card;
    properties->multiProcessorCount = multiprocessors;
    properties->warpSize = 32;
    properties->maxThreadsPerBlock = most_threads;
    properties->sharedMemPerBlock = shared_bytes;
    properties->sharedMemPerBlockOptin = shared_bytes_on_demand;
    properties->asyncEngineCount = 3;
    return cudaSuccess;
  });
}
cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr asked, int number) {
  return runtime_call(__func__, cudaErrorInvalidDevice, [&](Call&) { return exists(number) ? attribute(value, asked) : cudaErrorInvalidDevice; });
}
cudaError_t cudaDeviceGetPCIBusId(char* id, int room, int number) {
  return runtime_call(__func__, cudaErrorInvalidDevice, [&](Call&) {
    if (!exists(number)) return cudaErrorInvalidDevice;
    std::snprintf(id, static_cast<std::size_t>(room), "0000:%02X:00.0", 0x10 + number);
    return cudaSuccess;
  });
}
cudaError_t cudaDriverGetVersion(int* version) {
  const Call call(__func__);
  *version = state().options.driver_version;
  return call.failed() ? noted(cudaErrorUnknown) : cudaSuccess;
}
cudaError_t cudaRuntimeGetVersion(int* version) {
  const Call call(__func__);
  *version = CUDART_VERSION;
  return call.failed() ? noted(cudaErrorUnknown) : cudaSuccess;
}
cudaError_t cudaDeviceSynchronize() {
  return runtime_call(__func__, cudaErrorUnknown, [&](Call& call) {
    if (forbidden_in_capture("cudaDeviceSynchronize")) return cudaErrorStreamCaptureUnsupported;
    const int number = current_device();
    const cudaError_t error = wait_until(call, [number] { return device_is_idle(number); });
    for (const auto& stream : state().streams)
      if (stream->device == number) tsan::acquire(stream.get());
    return error;
  });
}
cudaError_t cudaDeviceCanAccessPeer(int* can, int number, int peer) {
  return runtime_call(__func__, cudaErrorInvalidDevice, [&](Call&) {
    if (!exists(number) || !exists(peer)) return cudaErrorInvalidDevice;
    *can = number != peer && state().options.peers ? 1 : 0;
    return cudaSuccess;
  });
}
cudaError_t cudaDeviceEnablePeerAccess(int peer, unsigned) {
  return runtime_call(__func__, cudaErrorInvalidDevice, [&](Call&) {
    if (!exists(peer) || peer == current_device()) return cudaErrorInvalidDevice;
    if (!state().options.peers) return cudaErrorPeerAccessUnsupported;
    return device(current_device()).peers.insert(peer).second ? cudaSuccess : cudaErrorPeerAccessAlreadyEnabled;
  });
}
cudaError_t cudaGetLastError() { return take_last_error(); }
cudaError_t cudaPeekAtLastError() { return last_error(); }
const char* cudaGetErrorName(cudaError_t error) { return text_of(error).name; }
const char* cudaGetErrorString(cudaError_t error) { return said_of(text_of(error), error != cudaSuccess && error != cudaErrorNotReady); }

}  // extern "C"
