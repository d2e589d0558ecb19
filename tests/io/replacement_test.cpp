// SPDX-License-Identifier: MIT
#include "heddle/io/replacement.hpp"

#include <doctest/doctest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>
#include <vector>

#include "io/idx_bytes.hpp"

using namespace heddle;
using idx_bytes::has;
using idx_bytes::sentence;
using idx_bytes::text_of;
namespace fs = std::filesystem;

namespace {

void put(const fs::path& path, const std::string& text) { std::ofstream{path, std::ios::binary} << text; }
auto files_in(const fs::path& folder) { return std::distance(fs::directory_iterator{folder}, {}); }
mode_t mode_of(const fs::path& path) {
  struct stat seen {};
  REQUIRE(lstat(path.c_str(), &seen) == 0);
  return seen.st_mode & 07777U;
}
std::string refusal(const fs::path& path) {
  return sentence([&] { replace_file(path, "new"); });
}

}  // namespace

TEST_CASE("a file is made, and replaced by a longer and a shorter one, and nothing is left beside it") {
  const idx_bytes::Folder folder{"replacement_plain"};
  const fs::path path = folder.path / "weights";
  for (const std::string& text : {std::string("first"), std::string(300'000, 'x'), std::string()}) {
    replace_file(path, text);
    CHECK(text_of(path) == text);
    CHECK(files_in(folder.path) == 1);
  }
}

TEST_CASE("until it is whole, the file before it stands; a replacement that is given up leaves nothing") {
  const idx_bytes::Folder folder{"replacement_given_up"};
  const fs::path path = folder.path / "weights";
  put(path, "before");
  {
    Replacement file{path};
    file.append(std::as_bytes(std::span{"half of it"}));
    CHECK(text_of(path) == "before");
    CHECK(files_in(folder.path) == 2);
  }
  CHECK(text_of(path) == "before");
  CHECK(files_in(folder.path) == 1);
}

TEST_CASE("files of the user beside the path are not touched, whatever they are called") {
  const idx_bytes::Folder folder{"replacement_neighbours"};
  put(folder.path / "m.part", "a partial download");
  put(folder.path / "victim", "a file of somebody else");
  fs::create_symlink("victim", folder.path / "s.part");
  fs::create_directory(folder.path / "d.part");
  for (const char* name : {"m", "s", "d"}) replace_file(folder.path / name, "new");
  CHECK(text_of(folder.path / "m.part") == "a partial download");
  CHECK(text_of(folder.path / "victim") == "a file of somebody else");
  CHECK(fs::is_symlink(folder.path / "s.part"));
  CHECK(fs::is_directory(folder.path / "d.part"));
  CHECK(files_in(folder.path) == 7);
}

TEST_CASE("the mode of a file is kept, and that of a new one is the mask's") {
  const idx_bytes::Folder folder{"replacement_mode"};
  for (const mode_t mode : {0600U, 0640U, 0664U, 0755U}) {
    const fs::path path = folder.path / std::to_string(mode);
    put(path, "before");
    REQUIRE(chmod(path.c_str(), mode) == 0);
    replace_file(path, "after");
    CHECK(mode_of(path) == mode);
  }
  const mode_t mask = umask(027);
  replace_file(folder.path / "new", "new");
  umask(mask);
  CHECK(mode_of(folder.path / "new") == 0640);
}

TEST_CASE("a link stays and the file that it leads to is replaced, through several links and into other folders, also if it is not there yet") {
  const idx_bytes::Folder folder{"replacement_links"};
  fs::create_directory(folder.path / "runs");
  put(folder.path / "runs" / "model", "before");
  fs::create_symlink("runs/model", folder.path / "second");
  fs::create_symlink(folder.path / "second", folder.path / "first");
  replace_file(folder.path / "first", "after");
  CHECK(text_of(folder.path / "runs" / "model") == "after");
  CHECK(fs::is_symlink(folder.path / "first"));
  CHECK(fs::is_symlink(folder.path / "second"));
  fs::create_symlink("runs/later", folder.path / "to_come");
  replace_file(folder.path / "to_come", "made");
  CHECK(text_of(folder.path / "runs" / "later") == "made");
  fs::create_symlink("round", folder.path / "round");
  CHECK(has(refusal(folder.path / "round"), "' cannot be written: Too many levels of symbolic links. Fix: "));
  fs::create_hard_link(folder.path / "runs" / "model", folder.path / "other_name");
  replace_file(folder.path / "runs" / "model", "newer");
  CHECK(text_of(folder.path / "other_name") == "after");
}

TEST_CASE("what is no file is not replaced: folders, pipes, devices") {
  const idx_bytes::Folder folder{"replacement_kinds"};
  fs::create_directory(folder.path / "taken");
  REQUIRE(mkfifo((folder.path / "pipe").c_str(), 0600) == 0);
  CHECK(refusal(folder.path / "taken") ==
        "[heddle.D20] '" + (folder.path / "taken").string() + "' cannot be written: there is a folder of that name. Fix: name another file.");
  CHECK(has(refusal(folder.path / "pipe"), "there is a pipe of that name"));
  // A device of its own: were the rule broken, root would lose those of the machine.
  if (mknod((folder.path / "null").c_str(), S_IFCHR | 0600U, makedev(1, 3)) != 0) fs::create_symlink("pipe", folder.path / "null");
  fs::create_symlink("null", folder.path / "to_null");
  const std::string kind = fs::is_symlink(folder.path / "null") ? "a pipe" : "a device";
  CHECK(has(refusal(folder.path / "null"), "there is " + kind + " of that name"));
  CHECK(has(refusal(folder.path / "to_null"), "there is " + kind + " of that name"));
  CHECK(has(refusal(folder.path / ""), "its name is none of a file"));
  CHECK(has(refusal(""), "its name is none of a file"));
  CHECK(has(refusal(folder.path / std::string("a\0b", 3)), "its name is none of a file"));
  CHECK(files_in(folder.path) == 4);
}

TEST_CASE("a path that argv does not have is refused") {
  const char* not_given = nullptr;
  CHECK(sentence([&] { Replacement{not_given}; }) == "[heddle.D20] no path was given, but a null pointer. Fix: give the path of a file.");
}

TEST_CASE("the sentence says why: no folder, a file in place of a folder, a name too long, no right") {
  const idx_bytes::Folder folder{"replacement_why"};
  put(folder.path / "file", "before");
  CHECK(refusal(folder.path / "none" / "weights") == "[heddle.D20] '" + (folder.path / "none" / "weights").string() +
                                                         "' cannot be written: No such file or directory. Fix: name a file in a folder that exists.");
  CHECK(has(refusal(folder.path / "file" / "weights"), "' cannot be written: Not a directory. Fix: name a file in a folder that exists."));
  CHECK(has(refusal(folder.path / std::string(300, 'x')), "' cannot be written: File name too long. Fix: "));
  CHECK(sentence([&] { replace_file(folder.path / std::string(255, 'x'), "fits"); }) == "nothing was thrown");
  if (geteuid() == 0) return;  // root may write everywhere; faults/files_test has the rest
  REQUIRE(chmod((folder.path / "file").c_str(), 0400) == 0);
  CHECK(has(refusal(folder.path / "file"), "the file of that name may not be changed"));
  REQUIRE(chmod(folder.path.c_str(), 0500) == 0);
  CHECK(has(refusal(folder.path / "new"), "' cannot be written: Permission denied. Fix: get the right to write in its folder"));
  REQUIRE(chmod(folder.path.c_str(), 0700) == 0);
}

TEST_CASE("a path without a folder is in the folder of the process") {
  const idx_bytes::Folder folder{"replacement_relative"};
  const fs::path here = fs::current_path();
  fs::current_path(folder.path);
  replace_file("weights", "new");
  fs::current_path(here);
  CHECK(text_of(folder.path / "weights") == "new");
}

TEST_CASE("several writers of one path never mix: every reader sees a file that one of them wrote whole") {
  const idx_bytes::Folder folder{"replacement_writers"};
  const fs::path path = folder.path / "weights";
  const auto version = [](int writer) { return std::string(100'000 + 1000 * static_cast<std::size_t>(writer), static_cast<char>('a' + writer)); };
  replace_file(path, version(0));
  std::vector<std::thread> writers;
  for (int w = 0; w < 4; ++w)
    writers.emplace_back([&, w] {
      for (int i = 0; i < 10; ++i) replace_file(path, version(w));
    });
  for (int i = 0; i < 50; ++i) {
    const std::string seen = text_of(path);
    CHECK((!seen.empty() && seen == version(seen[0] - 'a')));
  }
  for (std::thread& writer : writers) writer.join();
  CHECK(files_in(folder.path) == 1);
}

TEST_CASE("a file above the limit of the process is a sentence and no end of it, and its signals are as they were") {
  const idx_bytes::Folder folder{"replacement_limit"};
  const fs::path path = folder.path / "weights";
  put(path, "before");
  std::array<int, 2> words{};
  REQUIRE(pipe(words.data()) == 0);
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {  // the limit holds for a whole process
    const rlimit limit{1000, 1000};
    std::string said = setrlimit(RLIMIT_FSIZE, &limit) == 0 ? sentence([&] { replace_file(path, std::string(3000, 'x')); }) : "no such limit";
    sigset_t seen;
    if (pthread_sigmask(SIG_SETMASK, nullptr, &seen) != 0 || sigismember(&seen, SIGXFSZ) != 0) said += "blocked";
    if (sigpending(&seen) != 0 || sigismember(&seen, SIGXFSZ) != 0) said += "pending";
    if (write(words[1], said.data(), said.size()) != std::ssize(said)) _exit(2);
    _exit(0);
  }
  close(words[1]);
  std::string said(1000, ' ');
  const ssize_t length = read(words[0], said.data(), said.size());
  close(words[0]);
  said.resize(static_cast<std::size_t>(length > 0 ? length : 0));
  int ended = 0;
  REQUIRE(waitpid(child, &ended, 0) == child);
  CHECK((WIFEXITED(ended) && WEXITSTATUS(ended) == 0));
  CHECK(said == "[heddle.D20] '" + path.string() + "' cannot be written: File too large. Fix: raise the limit on the size of files (ulimit -f).");
  CHECK(text_of(path) == "before");
  CHECK(files_in(folder.path) == 1);
}
