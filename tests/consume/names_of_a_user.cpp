// SPDX-License-Identifier: MIT
// A program that has everyday names of its own beside `using namespace heddle`: none of them is one of Heddle's.
#include <heddle/backend/cpu_threads.hpp>
#include <heddle/backend/field_threads.hpp>
#include <heddle/heddle.hpp>
#include <heddle/io/synthetic.hpp>
#include <heddle/report/difference.hpp>
#include <heddle/report/summary.hpp>
#include <heddle/report/table.hpp>
#include <heddle/run/runner.hpp>
using namespace heddle;

struct Node {
  int n;
};
struct Window {
  int w;
};
struct Error {
  int e;
};
enum class Device { cpu };
struct Entry {
  int e;
};
struct Group {
  int g;
};
struct Text {
  const char* t;
};
struct Unit {
  float u;
};
struct Program {
  int p;
};
struct Table {
  int rows;
};
struct Session {
  int s;
};
struct Worker {
  int w;
};
struct Split {
  float f;
};
struct Target {
  int t;
};
struct Block : Residual<Linear<32, 32>> {};
struct Layer {
  int l;
};
struct Layout {
  int l;
};
struct Arena {
  int a;
};
struct Transfer {
  int t;
};
struct Profile {
  int p;
};
struct Leaf {
  int l;
};
struct Code {
  int c;
};
struct Proof {
  int steps;
};
struct FieldThreads : Worker {};
struct FieldMpi : Worker {};
int sent = 0;
bool require_no_advice() { return true; }
void fill(int* to, int value) { *to = value; }
int product(int a, int b) { return a * b; }

struct Model : Sequential<Linear<32, 32>, Block, Linear<32, 4>> {};
using Mine = Plan<Model, CrossEntropy, Adam, Batch<8>, DataParallel<2>>;

int main() {
  const Node node{1};
  const Window window{1};
  const Error error{1};
  const Device device_of_mine = Device::cpu;
  const Entry entry{1};
  const Group group{1};
  const Text text{"all of them stand together"};
  const Unit unit{1};
  const Program program{1};
  const Table rows{1};
  const Session session{1};
  const Worker worker{1};
  const Split split{1};
  const Target target{1};
  const Layer layer{1};
  const Layout layout{1};
  const Arena arena{1};
  const Transfer transfer{1};
  const Profile profile{1};
  const Leaf leaf{1};
  const Code code{1};
  const Proof proof{1};
  const FieldThreads field_threads{{1}};
  const FieldMpi field_mpi{{1}};
  sent += 1;
  int sum = 0;
  fill(&sum, product(node.n + window.w + error.e + entry.e + group.g + program.p + rows.rows + session.s + worker.w, 1));
  sum += target.t + layer.l + layout.l + arena.a + transfer.t + profile.p + leaf.l + code.c + static_cast<int>(unit.u + split.f);
  sum += proof.steps + field_threads.w + field_mpi.w + sent;
  return sum == 23 && require_no_advice() && device_of_mine == Device::cpu && text.t[0] == 'a' && devices<Mine> == 2 ? 0 : 1;
}
