# SPDX-License-Identifier: MIT
"""Every example says in its second line how it is built. A numbered example has at most 40 lines and shows one refused variant with its sentence:
    // Refused: using Bad = Training<DataParallel<3>>;
    // Says: [heddle.B01] Batch<128> does not divide by 3 ranks. Fix: ...      (in as many lines of comment as it takes)
All these variants are compiled in one file, after the header that the numbered examples share; each must be refused in exactly these words."""
import pathlib
import re
import shutil
import subprocess
import tempfile

import house

EIGEN = "/usr/include/eigen3"
MOST_LINES = 40
BUILD = re.compile(r"// Build: (g\+\+|mpicxx) -std=c\+\+20 -O2 -I include (-I /usr/include/eigen3 )?(\S+)( -pthread)?(?: -lz)? -o (\w+) && (mpirun -np \d )?\./(\w+)")
# Of a program for cards: -lnccl where several are joined, -lz where it reads .gz files, and MPI's wrapper as the compiler of the host where processes are.
BUILD_FOR_CARDS = re.compile(r"// Build: nvcc (?:-ccbin mpicxx )?-std=c\+\+20 -O2 -arch=sm_90 --expt-relaxed-constexpr -I include -I /usr/include/eigen3 (\S+) "
                             r"-lcublasLt (?:-lnccl )?(?:-lz )?-o (\w+) && (?:mpirun -np \d |HEDDLE_MEETING=\S+ torchrun --nproc-per-node \d --no-python )?\./(\w+)")
# Of a program for cards in a file of the host's compiler, whose kernels nvcc compiles.
BUILD_IN_HOST_FILE = re.compile(r"// Build: g\+\+ -std=c\+\+20 -O2 -DHEDDLE_CUDA_KERNELS -I include -I /usr/include/eigen3 -I /usr/local/cuda/include (\S+) cuda_kernels\.o "
                                r"-L /usr/local/cuda/lib64 -lcudart -lcublasLt (?:-lnccl )?(?:-lz )?-pthread -o (\w+) && \./(\w+)")
# A program for the cores and one for a card, *_on_cores.cpp and *_on_card.cu, are the same but for these words; so is what they print.
WORDS_OF_A_CARD = (("_on_card", "_on_cores"), ("cuda_one_card", "cpu_threads"), ("CudaOneCard", "CpuThreads"))
BY_HAND = ("examples/by_hand/data_parallel_mpi.cpp", "examples/by_subject/replicate_scatter_gather.cpp")  # they show what it takes without Heddle
REFUSAL = re.compile(r"^// Refused: using Bad = (.*);\n// Says: (.*(?:\n// .*)*)\n", re.M)


def missing():
    return None if shutil.which("g++") else "g++ is not installed"


def faults_of(name, text):
    lines = text.splitlines()
    build = BUILD.fullmatch(lines[1]) if len(lines) > 1 else None
    program = pathlib.Path(name).stem
    if not build or build.group(3) != name or build.group(5) != build.group(7):
        yield f"{name}: its second line does not say how it is built and run. Fix: write // Build: g++ -std=c++20 -O2 -I include ... {name} -o {program} && ./{program}"
    elif ("backend/" in text or '#include "network.hpp"' in text) != bool(build.group(2)):
        yield f"{name}: its second line names Eigen if it includes a backend, and only then"
    if '#include <heddle/backend/' in text and "return run_main([" not in text and name not in BY_HAND:
        yield f"{name}: what it throws or cannot print has no sentence. Fix: let main return run_main([] {{ ... }})"
    if name.startswith("examples/0"):
        if len(lines) > MOST_LINES:
            yield f"{name}: it has {len(lines)} lines, a numbered example has at most {MOST_LINES}"
        if len(REFUSAL.findall(text)) != 1:
            yield f"{name}: it does not show one refused variant. Fix: write // Refused: using Bad = ...; and below it // Says: [heddle.B01] ..."


def faults_for_cards(name, text):
    in_host_file = name.endswith(".cpp")
    build = (BUILD_IN_HOST_FILE if in_host_file else BUILD_FOR_CARDS).match(text.partition("\n")[2].replace("\n// ", " "))  # it may go on in the next line
    if not build or build.group(1) != name or build.group(2) != build.group(3):
        program = pathlib.Path(name).stem
        how = f"g++ -std=c++20 -O2 -DHEDDLE_CUDA_KERNELS ... {name} cuda_kernels.o ..." if in_host_file else f"nvcc -std=c++20 -O2 -arch=sm_90 ... {name} -lcublasLt"
        yield f"{name}: it does not say from its second line on how it is built and run. Fix: write // Build: {how} -o {program} && ./{program}"
    if "return run_main([" not in text:
        yield f"{name}: what it throws or cannot print has no sentence. Fix: let main return run_main([] {{ ... }})"


def faults_of_a_pair(cores, card):
    """One word, and the file that has it, is all that differs between both."""
    def body(path):
        return path.read_text().partition("\n//\n")[2] if path.exists() else None
    told = body(card)
    for word, other in WORDS_OF_A_CARD:
        told = told.replace(word, other)
    if told != body(cores):
        yield f"{card.name} differs from {cores.name} in more than the backend. Fix: put what they share into a header"
    printed = [path.with_suffix(".expected") for path in (cores, card)]
    if not all(path.exists() for path in printed) or printed[0].read_text() != printed[1].read_text():
        yield f"{printed[0].name} and {printed[1].name} are not the same: cores and card are to end with the same losses"


def source_of(variants):
    """A program that asks for the sentence of each variant and says which differ."""
    parts = ['#include <string_view>\n#include "network.hpp"\n#include <cstdio>\n'
             "static int differs(const char* name, std::string_view shown, std::string_view told) {\n"
             "  if (shown == told) return 0;\n"
             '  std::printf("%s: the refused variant says: %.*s\\n", name, static_cast<int>(told.size()), told.data());\n  return 1;\n}\n'
             "int main() {\n  int count = 0;\n"]
    for name, bad, says in variants:
        sentence = says.replace("\\", "\\\\").replace('"', '\\"')
        parts.append(f'  {{\n#line 1 "{name}"\n    using Bad = {bad};\n    static constexpr auto found = check<Bad>();\n'
                     f'    count += differs("{name}", "{sentence}", found.sentence().view());\n  }}\n')
    return "".join(parts) + "  return count;\n}\n"


def misquoted(root, variants):
    with tempfile.TemporaryDirectory() as folder:
        source, program = pathlib.Path(folder) / "variants.cpp", pathlib.Path(folder) / "variants"
        source.write_text(source_of(variants))
        command = ["g++", "-std=c++20", "-O0", f"-I{root / 'include'}", f"-I{root / 'examples'}", "-isystem", EIGEN, str(source), "-o", str(program), "-pthread"]
        made = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace")
        if made.returncode != 0:
            yield f"the refused variants of the examples do not compile as questions\n{made.stdout}"
            return
        told = subprocess.run([str(program)], stdout=subprocess.PIPE, text=True, errors="replace")
        yield from told.stdout.splitlines()
        if told.returncode != len(told.stdout.splitlines()):
            yield f"the program of the refused variants ended with {told.returncode}"


def check(root):
    variants = []
    for path in sorted((root / "examples").rglob("*.cpp")):
        name, text = str(path.relative_to(root)), path.read_text()
        yield from (faults_for_cards if "#include <heddle/backend/cuda_" in text else faults_of)(name, text)
        if name.startswith("examples/0"):
            variants += [(name, bad, says.replace("\n// ", " ")) for bad, says in REFUSAL.findall(text)]
    for path in sorted((root / "examples").rglob("*.cu")):
        yield from faults_for_cards(str(path.relative_to(root)), path.read_text())
        if path.stem.endswith("_on_card"):
            yield from faults_of_a_pair(path.with_name(path.stem[:-len("card")] + "cores.cpp"), path)
    if variants:
        yield from misquoted(root, variants)
    print(f"{len(variants)} refused variants compared")


FIRST = "// SPDX-License-Identifier: MIT\n// Build: g++ -std=c++20 -O2 -I include -I /usr/include/eigen3 examples/01_a.cpp -pthread -o 01_a && ./01_a\n#include \"network.hpp\"\n"
SHOWN = "// Refused: using Bad = Plan<3>;\n// Says: [heddle.B01] it is\n// 3.\n\n"
SHARED = {"examples/network.hpp": "#include <string_view>\n"
                                  "template <int> struct Plan {};\nstruct Words { const char* words; constexpr std::string_view view() const { return words; } };\n"
                                  "struct Found { Words words; constexpr Words sentence() const { return words; } };\ntemplate <class> constexpr Found check() { return {{\"[heddle.B01] it is 3.\"}}; }\n"}
CORES = "//\n// Build: g++ -std=c++20 -O2 -I include -I /usr/include/eigen3 examples/c_on_cores.cpp -pthread -lz -o c_on_cores && ./c_on_cores\n//\n" \
        "#include <heddle/backend/cpu_threads.hpp>\nint main() { return run_main([] { twice<CpuThreads>(); }); }\n"
CARD = "//\n// Build: nvcc -std=c++20 -O2 -arch=sm_90 --expt-relaxed-constexpr -I include -I /usr/include/eigen3 examples/c_on_card.cu -lcublasLt -lz -o c_on_card " \
       "&& ./c_on_card\n//\n#include <heddle/backend/cuda_one_card.hpp>\nint main() { return run_main([] { twice<CudaOneCard>(); }); }\n"
PAIR = {"examples/c_on_cores.cpp": CORES, "examples/c_on_card.cu": CARD, "examples/c_on_cores.expected": "loss 1\n", "examples/c_on_card.expected": "loss 1\n"}
APART = "//\n// Build: nvcc -std=c++20 -O2 -arch=sm_90 --expt-relaxed-constexpr -I include -I /usr/include/eigen3 examples/d.cu -lcublasLt -lnccl -o d && " \
        "HEDDLE_MEETING=/dev/shm/met torchrun --nproc-per-node 4 --no-python ./d\n//\nint main() { return run_main([] {}); }\n"
ACCEPTED = SHARED | PAIR | {"examples/01_a.cpp": FIRST + SHOWN + "int main() {}\n", "examples/d.cu": APART}
REFUSED = {
    "examples/01_a.cpp: the refused variant says: [heddle.B01] it is 3.": SHARED | {"examples/01_a.cpp": FIRST + SHOWN.replace("// 3.", "// 4.")},
    "do not compile as questions": SHARED | {"examples/01_a.cpp": FIRST + SHOWN.replace("Plan<3>", "Plan<four>")},
    "does not show one refused variant": SHARED | {"examples/01_a.cpp": FIRST},
    "it has 50 lines": SHARED | {"examples/01_a.cpp": FIRST + SHOWN + "\n" * 43},
    "does not say how it is built and run": {"examples/by_hand/b.cpp": "// SPDX-License-Identifier: MIT\nint main() {}\n"},
    "what it throws or cannot print has no sentence": {
        "examples/b.cpp": "//\n// Build: g++ -std=c++20 -O2 -I include -I /usr/include/eigen3 examples/b.cpp -pthread -o b && ./b\n#include <heddle/backend/cpu_threads.hpp>\nint main() {}\n"},
    "examples/on_cards/c.cu: it does not say": {"examples/on_cards/c.cu": "//\n// Build: nvcc examples/on_cards/c.cu -o c && ./c\nint main() { return run_main([] {}); }\n"},
    "examples/on_cards/c.cpp: it does not say": {"examples/on_cards/c.cpp": CARD.replace("c_on_card.cu", "on_cards/c.cpp").replace("c_on_card", "c")},
    "examples/on_cards/c.cu: what it throws": {
        "examples/on_cards/c.cu": "//\n// Build: nvcc -std=c++20 -O2 -arch=sm_90 --expt-relaxed-constexpr -I include -I /usr/include/eigen3 examples/on_cards/c.cu -lcublasLt -o c && ./c\nint main() {}\n"},
    "c_on_card.cu differs from c_on_cores.cpp": PAIR | {"examples/c_on_card.cu": PAIR["examples/c_on_card.cu"].replace("twice", "once")},
    "c_on_cores.expected and c_on_card.expected are not the same": PAIR | {"examples/c_on_card.expected": "loss 2\n"},
    "names Eigen if it includes a backend": {"examples/b.cpp": "//\n// Build: g++ -std=c++20 -O2 -I include examples/b.cpp -o b && ./b\n#include <heddle/backend/cpu_threads.hpp>\n"},
}
