// SPDX-License-Identifier: MIT
#include "nccl_processes.hpp"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <system_error>
#include <utility>

namespace cuda_emulator {
namespace {

/// Folders that this process has made.
struct Made {
  std::vector<std::string> paths;
  ~Made() {
    std::error_code ignored;
    for (const std::string& path : paths) std::filesystem::remove_all(path, ignored);
  }
};
[[noreturn]] void stop(const std::string& what) {
  std::fprintf(stderr, "cuda_emulator: %s\n", what.c_str());
  std::abort();
}

}  // namespace

Folder::Folder(std::string path) : path_(std::move(path)) { std::filesystem::create_directories(path_); }

Folder Folder::made() {
  static Made all;
  std::string path = (std::filesystem::temp_directory_path() / "emulated_nccl_").string() + std::string(6, 'X');  // as mkdtemp asks
  if (mkdtemp(path.data()) == nullptr) stop("no folder can be made for ranks that are processes");
  all.paths.push_back(path);
  return Folder{path};
}

void Folder::put(const std::string& name, const std::vector<char>& bytes) const {
  const std::string whole = path_ + "/" + name, part = whole + ".part";
  {
    std::ofstream out(part, std::ios::binary);
    out.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    if (!out.flush()) stop(part + " cannot be written");
  }
  if (std::rename(part.c_str(), whole.c_str()) != 0) stop(whole + " cannot be named");
}

bool Folder::has(const std::string& name) const { return access((path_ + "/" + name).c_str(), F_OK) == 0; }

std::vector<char> Folder::get(const std::string& name) const {
  std::ifstream in(path_ + "/" + name, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

}  // namespace cuda_emulator
