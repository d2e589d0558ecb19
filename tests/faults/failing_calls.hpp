// SPDX-License-Identifier: MIT
// Calls of the system and of memory that fail when a test says so, in the one program that includes this: the linker takes these in place of those
// of the C library. Whatever is not told to fail goes through.
#pragma once

#include <fcntl.h>
#include <malloc.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdarg>
#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <new>
#include <string>

namespace failing {

enum class Call { none, open, status, mode, read, write, flush, close, rename, memory };

inline Call call = Call::none;        // what is to fail
inline std::atomic<int> in{0};        // at which of its calls from now on; 0: never
inline int error = EIO;               // how
inline std::size_t most_at_once = 0;  // bytes that one read or write moves at most; 0: all
inline std::atomic<long> allocated{0}, most_allocated{0};

/// True for the one call that is to fail.
inline bool now(Call which) {
  if (which != call || in.load() == 0 || --in != 0) return false;
  errno = error;
  return true;
}
inline std::size_t portion(std::size_t bytes) { return most_at_once > 0 && bytes > most_at_once ? most_at_once : bytes; }

/// Arms one failure; disarmed at the end of the block.
struct Next {
  Next(Call which, int number, int how = EIO) {
    call = which;
    error = how;
    in = number;
  }
  ~Next() { in = 0; }
  Next(const Next&) = delete;
  Next& operator=(const Next&) = delete;
  [[nodiscard]] static bool came() { return in.load() == 0; }
};

inline long open_files() {
  return std::distance(std::filesystem::directory_iterator{"/proc/self/fd"}, {}) - 1;  // one is the folder itself
}

inline void* take(std::size_t bytes, std::size_t alignment) {
  if (now(Call::memory)) throw std::bad_alloc{};
  const std::size_t whole = (bytes + alignment - 1) / alignment * alignment;
  void* const memory = alignment > alignof(std::max_align_t) ? std::aligned_alloc(alignment, whole) : std::malloc(bytes > 0 ? bytes : 1);
  if (memory == nullptr) throw std::bad_alloc{};
  const long all = allocated += static_cast<long>(malloc_usable_size(memory));
  if (all > most_allocated) most_allocated = all;
  return memory;
}
inline void give_back(void* memory) {
  if (memory == nullptr) return;
  allocated -= static_cast<long>(malloc_usable_size(memory));
  std::free(memory);
}

}  // namespace failing

void* operator new(std::size_t bytes) { return failing::take(bytes, 1); }
void* operator new[](std::size_t bytes) { return failing::take(bytes, 1); }
void* operator new(std::size_t bytes, std::align_val_t alignment) { return failing::take(bytes, static_cast<std::size_t>(alignment)); }
void* operator new[](std::size_t bytes, std::align_val_t alignment) { return failing::take(bytes, static_cast<std::size_t>(alignment)); }
void operator delete(void* memory) noexcept { failing::give_back(memory); }
void operator delete[](void* memory) noexcept { failing::give_back(memory); }
void operator delete(void* memory, std::size_t) noexcept { failing::give_back(memory); }
void operator delete[](void* memory, std::size_t) noexcept { failing::give_back(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { failing::give_back(memory); }
void operator delete[](void* memory, std::align_val_t) noexcept { failing::give_back(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { failing::give_back(memory); }
void operator delete[](void* memory, std::size_t, std::align_val_t) noexcept { failing::give_back(memory); }

extern "C" {
using failing::Call;

int openat(int folder, const char* path, int flags, ...) {
  va_list more;
  va_start(more, flags);
  const mode_t mode = (flags & O_CREAT) != 0 ? va_arg(more, mode_t) : 0;
  va_end(more);
  return failing::now(Call::open) ? -1 : static_cast<int>(syscall(SYS_openat, folder, path, flags, mode));
}
int open(const char* path, int flags, ...) {
  va_list more;
  va_start(more, flags);
  const mode_t mode = (flags & O_CREAT) != 0 ? va_arg(more, mode_t) : 0;
  va_end(more);
  return failing::now(Call::open) ? -1 : static_cast<int>(syscall(SYS_openat, AT_FDCWD, path, flags, mode));
}
int fchmod(int file, mode_t mode) noexcept { return failing::now(Call::mode) ? -1 : static_cast<int>(syscall(SYS_fchmod, file, mode)); }
ssize_t read(int file, void* into, size_t bytes) { return failing::now(Call::read) ? -1 : syscall(SYS_read, file, into, failing::portion(bytes)); }
ssize_t write(int file, const void* from, size_t bytes) {
  return failing::now(Call::write) ? -1 : syscall(SYS_write, file, from, failing::portion(bytes));
}
int fsync(int file) { return failing::now(Call::flush) ? -1 : static_cast<int>(syscall(SYS_fsync, file)); }
int close(int file) {
  const bool fails = failing::now(Call::close);  // the descriptor is gone all the same, as the system has it
  const int done = static_cast<int>(syscall(SYS_close, file));
  if (fails) errno = failing::error;
  return fails ? -1 : done;
}
int renameat(int from, const char* name, int to, const char* other) noexcept {
  return failing::now(Call::rename) ? -1 : static_cast<int>(syscall(SYS_renameat, from, name, to, other));
}
int fstat(int file, struct stat* seen) noexcept {
  return failing::now(Call::status) ? -1 : static_cast<int>(syscall(SYS_newfstatat, file, "", seen, AT_EMPTY_PATH));
}
int fstatat(int folder, const char* path, struct stat* seen, int flags) noexcept {
  return failing::now(Call::status) ? -1 : static_cast<int>(syscall(SYS_newfstatat, folder, path, seen, flags));
}
}
