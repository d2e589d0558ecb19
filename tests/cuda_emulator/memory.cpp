// SPDX-License-Identifier: MIT
// Pages of cards: where an allocation lies between its guards, how it is closed to the host, and what it holds before it is written.
#include "memory.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <iterator>

#include "sanitizers.hpp"
#include "state.hpp"

namespace cuda_emulator {
namespace {

constexpr std::size_t page = 4096;
constexpr std::size_t alignment = 256;
constexpr std::size_t least_canary = 64;  // bytes before the data
constexpr unsigned char poison = 0xFF;

std::size_t rounded_up(std::size_t bytes, std::size_t to) { return (bytes + to - 1) / to * to; }

/// A canary is NaN as float and bfloat16, so that a read of it shows, and no write of poison goes unseen.
unsigned char canary_at(const char* at) { return reinterpret_cast<std::uintptr_t>(at) % 2 == 0 ? 0xC5 : 0xFF; }
void write_canaries(char* begin, const char* end) {
  for (; begin < end; ++begin) *begin = static_cast<char>(canary_at(begin));
}
bool canaries_hold(const char* begin, const char* end) {
  for (; begin < end; ++begin)
    if (static_cast<unsigned char>(*begin) != canary_at(begin)) return false;
  return true;
}
char* canary_begin(const Allocation& a) { return std::max(a.map + page, a.data - least_canary); }
char* canary_end(const Allocation& a) { return a.map + a.map_bytes - page; }

/// 4 MiB of poison. Large memory begins as copies of it that take no room until they are written.
constexpr std::size_t poison_file_bytes = std::size_t{4} << 20;
int poison_file() {
  static const int file = [] {
    const int made = memfd_create("cuda_emulator_poison", 0);
    const std::vector<char> bytes(poison_file_bytes, static_cast<char>(poison));
    return made >= 0 && write(made, bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size()) ? made : -1;
  }();
  return file;
}
bool fill_pages(char* begin, std::size_t bytes) {
  constexpr std::size_t worth_a_file = 64 * page;
  if (bytes < worth_a_file || poison_file() < 0) {
    if (mprotect(begin, bytes, PROT_READ | PROT_WRITE) != 0) return false;
    std::memset(begin, poison, bytes);
    return true;
  }
  for (std::size_t at = 0; at < bytes; at += poison_file_bytes) {
    const std::size_t part = std::min(poison_file_bytes, bytes - at);
    if (mmap(begin + at, part, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_FIXED | MAP_NORESERVE, poison_file(), 0) == MAP_FAILED) return false;
  }
  return true;
}

}  // namespace

void* Memory::allocate(std::size_t bytes, int device, bool pinned) {
  Allocation made;
  const std::size_t pages = rounded_up(bytes + least_canary + alignment, page);
  made.map_bytes = pages + 2 * page;
  void* const reserved = mmap(nullptr, made.map_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (reserved == MAP_FAILED) return nullptr;
  made.map = static_cast<char*>(reserved);
  if (!fill_pages(made.map + page, pages)) {
    munmap(made.map, made.map_bytes);
    return nullptr;
  }
  made.data = made.map + page + pages - rounded_up(bytes, alignment);
  made.bytes = bytes;
  made.device = device;
  made.pinned = pinned;
  made.number = ++numbers_;
  write_canaries(canary_begin(made), made.data);
  write_canaries(made.end(), canary_end(made));
  asan::forbid(made.map, static_cast<std::size_t>(made.data - made.map));
  asan::forbid(made.end(), static_cast<std::size_t>(made.map + made.map_bytes - made.end()));
  if (!pinned) mprotect(made.map + page, pages, PROT_NONE);
  alive_[made.end()] = made;
  return made.data;
}
const Allocation* Memory::starting_at(const void* data, bool pinned) const {
  const auto next = alive_.upper_bound(const_cast<char*>(static_cast<const char*>(data)));
  return next != alive_.end() && next->second.data == data && next->second.pinned == pinned ? &next->second : nullptr;
}
void Memory::give_back(const Allocation& allocation) {
  const Allocation gone = allocation;
  asan::allow(gone.map, gone.map_bytes);
  mmap(gone.map, gone.map_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1, 0);
  given_back_.push_back(gone);
  alive_.erase(gone.end());
}
const Allocation* Memory::around(const void* begin, std::size_t bytes) const {
  char* const at = const_cast<char*>(static_cast<const char*>(begin));
  const auto found = bytes == 0 ? alive_.lower_bound(at) : alive_.upper_bound(at);
  if (found == alive_.end()) return nullptr;
  const Allocation& a = found->second;
  return at >= a.data && bytes <= static_cast<std::size_t>(a.end() - at) ? &a : nullptr;
}
bool Memory::on_device(const void* begin, std::size_t bytes, int device) const {
  const Allocation* const a = around(begin, bytes);
  return bytes == 0 || (a != nullptr && !a->pinned && a->device == device);
}
void Memory::describe(const void* address, char* text, std::size_t room) const {
  const char* const at = static_cast<const char*>(address);
  const auto within = [&](const Allocation& a) { return at >= a.map && at < a.map + a.map_bytes; };
  for (const auto& [end, a] : alive_)
    if (within(a)) {
      std::snprintf(text, room, "byte %td of %s memory %d of device %d, which has %zu bytes", at - a.data, a.pinned ? "pinned" : "the", a.number,
                    a.device, a.bytes);
      return;
    }
  for (const Allocation& a : given_back_)
    if (within(a)) {
      std::snprintf(text, room, "byte %td of the memory %d of device %d, which was given back", at - a.data, a.number, a.device);
      return;
    }
  std::snprintf(text, room, "address %p, which is no memory of a card", address);
}
std::vector<Allocation*> Memory::spoilt() {
  std::vector<Allocation*> found;
  if (asan::on) return found;  // the sanitizer sees such a write itself, and forbids to look
  for (auto& [end, a] : alive_) {
    if (!(a.open || a.pinned) || (canaries_hold(canary_begin(a), a.data) && canaries_hold(a.end(), canary_end(a)))) continue;
    found.push_back(&a);
    write_canaries(canary_begin(a), a.data);
    write_canaries(a.end(), canary_end(a));
  }
  return found;
}
void Memory::forget_given_back() {
  for (const Allocation& a : given_back_) munmap(a.map, a.map_bytes);
  given_back_.clear();
}
bool Memory::open(Allocation& allocation) {
  if (allocation.pinned || allocation.open) return false;
  allocation.open = true;
  return mprotect(allocation.map + page, allocation.map_bytes - 2 * page, PROT_READ | PROT_WRITE) == 0;
}
void Memory::close_all() {
  for (auto& [end, a] : alive_) {
    if (!a.open) continue;
    mprotect(a.map + page, a.map_bytes - 2 * page, PROT_NONE);
    a.open = false;
  }
}

namespace {
thread_local int works_on_this_thread = 0;
}  // namespace

OpenMemory::OpenMemory(Memory& memory) : memory_(memory) { ++works_on_this_thread; }
OpenMemory::~OpenMemory() {
  if (--works_on_this_thread == 0) memory_.close_all();
}
bool OpenMemory::also(const void* address) {
  if (works_on_this_thread == 0) return false;
  const char* const at = static_cast<const char*>(address);
  auto& alive = state().memory.alive_;
  auto found = alive.upper_bound(const_cast<char*>(at));
  if (found != alive.begin()) {  // the pages of an allocation go on behind its data
    const auto before = std::prev(found);
    if (at < canary_end(before->second)) found = before;
  }
  if (found == alive.end() || at < found->second.map + page || at >= canary_end(found->second)) return false;
  return Memory::open(found->second);
}

void look_at_canaries(int device, const std::string& after) {
  for (const Allocation* const a : state().memory.spoilt())
    fault(device,
          after + " wrote outside of memory " + std::to_string(a->number) + " of device " + std::to_string(a->device) + ", which has " +
              std::to_string(a->bytes) + " bytes",
          cudaErrorIllegalAddress);
}

}  // namespace cuda_emulator
