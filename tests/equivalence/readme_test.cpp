// SPDX-License-Identifier: MIT
// The program of README.md, word for word, under each plan that it names. program_of_readme.hpp is cut out of README.md by CMake; a macro says which
// plan its trainer takes, another lets the trainer leave the hash of its parameters and the name of its file behind.
#include <doctest/doctest.h>

#include <cstdint>
#include <cstdio>
#include <random>
#include <string>

#include "heddle/backend/cpu_threads.hpp"
#include "heddle/heddle.hpp"
#include "heddle/io/gzip.hpp"
#include "io/idx_bytes.hpp"

namespace {

std::uint64_t hash_of_last = 0;
std::int64_t steps_of_last = 0;
std::string saved_by_last;

template <class ThePlan, class Backend> class Watched : public heddle::Trainer<ThePlan, Backend> {
 public:
  using heddle::Trainer<ThePlan, Backend>::Trainer;
  ~Watched() {
    hash_of_last = this->parameter_hash();
    steps_of_last = this->steps();
  }
  void save(const std::string& file) { saved_by_last = file; }  // the folder of the test keeps what it has
};

}  // namespace

#define Trainer Watched
#define TrainedPlan Alone
namespace alone {
#include "program_of_readme.hpp"
}
#undef TrainedPlan
#define TrainedPlan Spread
namespace spread {
#include "program_of_readme.hpp"
}
#undef TrainedPlan
#define TrainedPlan Staged
namespace staged {
#include "program_of_readme.hpp"
}
#undef TrainedPlan
#define TrainedPlan Both
namespace both {
#include "program_of_readme.hpp"
}
#undef TrainedPlan
#undef Trainer

namespace {

constexpr std::uint32_t rows = 200;  // three batches and 8 rows

std::string write_images() {
  static const idx_bytes::Folder folder{"readme"};
  std::mt19937 random{7};
  idx_bytes::Bytes images = idx_bytes::header(8, {rows, 28, 28});
  idx_bytes::Bytes labels = idx_bytes::header(8, {rows});
  for (std::uint32_t i = 0; i < rows * 28 * 28; ++i) images.push_back(static_cast<std::byte>(random() % 256));
  for (std::uint32_t i = 0; i < rows; ++i) labels.push_back(static_cast<std::byte>(random() % 10));
  idx_bytes::write(folder.path / "train-images-idx3-ubyte", images);
  idx_bytes::write(folder.path / "train-labels-idx1-ubyte", labels);
  return folder.path.string();
}

std::uint64_t hash_after(int (*program)(int, char**), std::string data) {
  std::string name = "program";
  char* arguments[] = {name.data(), data.data(), nullptr};
  saved_by_last.clear();
  CHECK(program(2, arguments) == 0);
  CHECK(steps_of_last == 40);
  CHECK(saved_by_last == "mnist.safetensors");
  return hash_of_last;
}

}  // namespace

TEST_CASE("the program of README ends with the same bits under every plan that README names") {
  const std::string data = write_images();
  const std::uint64_t wanted = hash_after(&alone::run, data);
  CHECK(hash_after(&spread::run, data) == wanted);
  CHECK(hash_after(&staged::run, data) == wanted);
  CHECK(hash_after(&both::run, data) == wanted);
}

TEST_CASE("the program of README ends with 1 where there are no data") {
  std::string name = "program", nowhere = "no/such/folder";
  char* arguments[] = {name.data(), nowhere.data(), nullptr};
  CHECK(spread::run(2, arguments) == 1);
}
