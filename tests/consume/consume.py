#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Uses Heddle as other projects do, each way in a folder of its own: consume.py <way> <project> <scratch folder> <compiler> <lowered_again.o>.
That object lowers the plans of a program once more while it runs (tests/lowered_again.cpp). It is "" where the linker cannot wrap main."""
import fcntl
import os
import pathlib
import re
import shutil
import subprocess
import sys
import zipfile

SKIPPED = 77
HERE = pathlib.Path(__file__).resolve().parent


def run(*command, fails=False, **options):
    """Runs a command, shows what it says and gives it back; ends the test if it fails, or with fails=True if it does not."""
    done = subprocess.run([str(part) for part in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace", **options)
    print("$", *command, f"\n{done.stdout}", flush=True)
    if (done.returncode != 0) != fails:
        sys.exit(f"consume.py: this was to {'fail' if fails else 'work'}, and ended with {done.returncode}")
    return done.stdout


def quick_flags():
    """What lets g++ compile in less time and changes no code (cmake/development.cmake); CMake takes it where it is told no flags."""
    return os.environ.get("CXXFLAGS", "")


def configure(source, scratch, compiler, *options, fails=False):
    """With asserts; -g would take a fifth of the time of each program and changes nothing that is looked at here."""
    return run("cmake", "-S", source, "-B", scratch, "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Debug", "-DCMAKE_CXX_FLAGS_DEBUG=", f"-DCMAKE_CXX_COMPILER={compiler}",
               *options, fails=fails)


def install(project, scratch, compiler, *options):
    """As README says it, from another folder than the project's; what only its own programs need is not there."""
    absent = [f"-DCMAKE_DISABLE_FIND_PACKAGE_{package}=ON" for package in ("CLI11", "fmt", "doctest", "Python3")]
    run("cmake", "--preset", "install", "-B", scratch / "heddle", f"-DCMAKE_CXX_COMPILER={compiler}", *absent, *options, cwd=project)
    run("cmake", "--build", scratch / "heddle", "--parallel", "1")
    run("cmake", "--install", scratch / "heddle", "--prefix", scratch / "prefix")
    return f"-DCMAKE_PREFIX_PATH={scratch / 'prefix'}"


def noticing(project):
    """Flags of programs that check their plans once more, as tests do; a program that links heddle::compiled has other names for the rooms."""
    return (f"-include {project / 'tests' / 'plan' / 'noticed.hpp'}", f"-Wl,--wrap=main {lowered_again}") if lowered_again else ("", "")


def build_and_run(way, project, scratch, compiler, *options):
    """Each way builds types and one program that calls what heddle::eigen and heddle::gzip bring."""
    configure(HERE / way, scratch / "user", compiler, f"-DPROGRAMS={project / 'test_package'}", f"-DHEDDLE={project}", *options)
    run("cmake", "--build", scratch / "user", "--parallel", "1")
    run(scratch / "user" / "types")
    for name in ("pairing", "products"):
        if (scratch / "user" / name).exists():
            run(scratch / "user" / name, cwd=scratch)
    if (scratch / "user" / "processes").exists():
        run(scratch / "user" / "processes")


def installed(project, scratch, compiler):
    prefix = install(project, scratch, compiler)
    build_and_run("installed", project, scratch, compiler, prefix)
    # Warnings of Heddle's headers are not the consumer's: CMake must give the folder as a system folder.
    rules = (scratch / "user" / "build.ninja").read_text()
    if f"-isystem {scratch / 'prefix' / 'include'}" not in rules:
        sys.exit("consume.py: the headers of an installed Heddle are no system headers")


def said(words, output):
    flat = re.sub(r"\s+", " ", output)
    if words not in flat:
        sys.exit(f"consume.py: CMake does not say: {words}")


def components(project, scratch, compiler):
    """A component that does not exist, and one that the installation lacks, are named with the remedy."""
    prefix = install(project, scratch, compiler, "-DHEDDLE_WITH_GZIP=OFF")
    ask = lambda name: configure(
        HERE / "unknown_component", scratch / name, compiler, prefix, f"-DCOMPONENT={name}", fails=True)
    said("has no component 'egien'; it has: eigen, gzip, mpi, cuda, cuda_kernels, nccl, cudnn, compiled.", ask("egien"))
    said("was made without the component 'compiled'. Fix: install Heddle again where HEDDLE_BUILD_COMPILED=ON", ask("compiled"))
    said("was made without the component 'cuda_kernels'. Fix: install Heddle again where HEDDLE_BUILD_CUDA_KERNELS=ON", ask("cuda_kernels"))
    said("was made without the component 'gzip'. Fix: install Heddle again where zlib", ask("gzip"))
    without = install(project, scratch / "without_cuda", compiler, "-DHEDDLE_WITH_CUDA=OFF")
    output = configure(HERE / "unknown_component", scratch / "cuda", compiler, without, "-DCOMPONENT=cuda", fails=True)
    said("was made without the component 'cuda'. Fix: install Heddle again where the CUDA toolkit 12.4 or newer", output)
    if (pathlib.Path(prefix.split("=", 1)[1] if "=" in prefix else prefix) / "share" / "cmake" / "heddle" / "heddle-cuda-targets.cmake").exists():
        configure(HERE / "unknown_component", scratch / "with_cuda", compiler, prefix, "-DCOMPONENT=cuda")
    without = install(project, scratch / "without_nccl", compiler, "-DHEDDLE_WITH_NCCL=OFF")
    output = configure(HERE / "unknown_component", scratch / "nccl", compiler, without, "-DCOMPONENT=nccl", fails=True)
    said("was made without the component 'nccl'. Fix: install Heddle again where NCCL 2.18 or newer", output)
    if (pathlib.Path(prefix.split("=", 1)[1] if "=" in prefix else prefix) / "share" / "cmake" / "heddle" / "heddle-nccl-targets.cmake").exists():
        configure(HERE / "unknown_component", scratch / "with_nccl", compiler, prefix, "-DCOMPONENT=nccl")
    without = install(project, scratch / "without_cudnn", compiler, "-DHEDDLE_WITH_CUDNN=OFF")
    output = configure(HERE / "unknown_component", scratch / "cudnn", compiler, without, "-DCOMPONENT=cudnn", fails=True)
    said("was made without the component 'cudnn'. Fix: install Heddle again where cuDNN 9.19 or newer", output)
    if (pathlib.Path(prefix.split("=", 1)[1] if "=" in prefix else prefix) / "share" / "cmake" / "heddle" / "heddle-cudnn-targets.cmake").exists():
        configure(HERE / "unknown_component", scratch / "with_cudnn", compiler, prefix, "-DCOMPONENT=cudnn")
    # Without the preset the whole project is configured: what it lacks is said with the two ways on.
    for package in ("CLI11", "doctest"):
        output = configure(project, scratch / package, compiler, f"-DCMAKE_DISABLE_FIND_PACKAGE_{package}=ON", fails=True)
        said("Fix: ./heddle test installs them on Debian and Ubuntu; cmake --preset install needs none of them.", output)


def asked_for(project, scratch, compiler):
    """An option that is ON and cannot be had is an end with what is in the way, which is not always what it is called after. Nothing is built."""
    build, off = scratch / "build", "was not found, so there is no target"
    given = {f"HEDDLE_WITH_{name}": "AUTO" for name in ("MPI", "CUDA", "NCCL", "CUDNN")}
    given.update({"HEDDLE_WITH_EIGEN": "ON", "HEDDLE_BUILD_COMPILED": "OFF", "HEDDLE_BUILD_CUDA_KERNELS": "OFF", "CMAKE_DISABLE_FIND_PACKAGE_CUDAToolkit": "OFF"})

    def configured(fails=True, **options):
        unknown = set(options) - set(given)
        assert not unknown, unknown
        return run("cmake", "--preset", "install", "-B", build, f"-DCMAKE_CXX_COMPILER={compiler}", *(f"-D{name}={value}" for name, value in {**given, **options}.items()),
                   cwd=project, fails=fails)

    def stops(words, **options):
        output = configured(**options)
        said(f"heddle: {words}.", output)
        if output.count("CMake Error") != 1:
            sys.exit("consume.py: CMake says more than one error")

    no_eigen = "but HEDDLE_WITH_EIGEN, which it needs, is OFF. Fix: set HEDDLE_WITH_EIGEN=ON, or set"
    for option in ("HEDDLE_WITH_MPI", "HEDDLE_WITH_CUDA", "HEDDLE_WITH_NCCL", "HEDDLE_WITH_CUDNN", "HEDDLE_BUILD_COMPILED", "HEDDLE_BUILD_CUDA_KERNELS"):
        stops(f"{option} is ON, {no_eigen} {option}=OFF", HEDDLE_WITH_EIGEN="OFF", **{option: "ON"})
    no_toolkit = "the CUDA toolkit was not found. Fix: install the CUDA toolkit, 12.4 or newer, and have nvcc on the PATH, or set"
    for option in ("HEDDLE_WITH_NCCL", "HEDDLE_WITH_CUDNN", "HEDDLE_BUILD_CUDA_KERNELS"):
        stops(f"{option} is ON, but HEDDLE_WITH_CUDA, which it needs, is OFF. Fix: set HEDDLE_WITH_CUDA=ON, or set {option}=OFF", HEDDLE_WITH_CUDA="OFF", **{option: "ON"})
        stops(f"{option} is ON, but {no_toolkit} {option}=OFF", CMAKE_DISABLE_FIND_PACKAGE_CUDAToolkit="ON", **{option: "ON"})
    stops(f"HEDDLE_WITH_CUDA is ON, but {no_toolkit} HEDDLE_WITH_CUDA=OFF", CMAKE_DISABLE_FIND_PACKAGE_CUDAToolkit="ON", HEDDLE_WITH_CUDA="ON", HEDDLE_WITH_NCCL="ON")
    # What is AUTO asks for nothing.
    configured(fails=False, HEDDLE_WITH_EIGEN="OFF")
    said("the CUDA toolkit " + off, configured(fails=False, CMAKE_DISABLE_FIND_PACKAGE_CUDAToolkit="ON"))


def named_roots(project, scratch, compiler):
    """NCCL and cuDNN are where NCCL_ROOT and cuDNN_ROOT say, headers and library, or they are not found: no header of one with the library of another.
    Folders are as Python's packages have them, whose libraries have numbers behind their names; a second run takes another root. Nothing is compiled."""
    parts = (("NCCL", "nccl.h", "nccl.h", ("NCCL_MAJOR", "NCCL_MINOR", "NCCL_PATCH"), "libnccl.so", ".2", "2.18"),
             ("cuDNN", "cudnn.h", "cudnn_version.h", ("CUDNN_MAJOR", "CUDNN_MINOR", "CUDNN_PATCHLEVEL"), "libcudnn.so", ".9", "9.19"))

    def root(name, version=(99, 1, 2), header=True, library=True, link=False):
        for _, main_header, version_header, macros, file, number, _ in parts:
            for part in ("include", "lib"):
                (scratch / name / part).mkdir(parents=True, exist_ok=True)
            if header:
                (scratch / name / "include" / main_header).touch()
                (scratch / name / "include" / version_header).write_text("".join(f"#define {macro} {value}\n" for macro, value in zip(macros, version)))
            for suffix in [number] * library + [""] * link:
                (scratch / name / "lib" / (file + suffix)).touch()
        return scratch / name

    wheel, other, linked = root("wheel"), root("other"), root("linked", link=True)
    only_headers, only_library, old = root("only_headers", library=False), root("only_library", header=False), root("old", version=(1, 2, 3))

    def configured(*options, build="build", fails=False, environment=None):
        output = run("cmake", "--preset", "install", "-B", scratch / build, f"-DCMAKE_CXX_COMPILER={compiler}", "-DHEDDLE_WITH_MPI=OFF", *options, cwd=project, fails=fails,
                     env=dict(os.environ, **{name: str(value) for name, value in (environment or {}).items()}))
        return output, dict(re.findall(r"^(\w+):\w+=(.*)$", (scratch / build / "CMakeCache.txt").read_text(), re.M))

    def taken(folder, end, **how):
        output, cache = configured(*(() if "environment" in how else (f"-D{name}_ROOT={folder}" for name, *_ in parts)), "-DHEDDLE_WITH_NCCL=ON", "-DHEDDLE_WITH_CUDNN=ON", **how)
        for name, _, _, _, file, number, _ in parts:
            if (cache[f"{name}_INCLUDE_DIR"], cache[f"{name}_LIBRARY"]) != (f"{folder}/include", f"{folder}/lib/{file}{number if end else ''}"):
                sys.exit(f"consume.py: {name} is not taken from {folder}")

    if "the CUDA toolkit was not found" in configured()[0]:
        print("SKIPPED: the CUDA toolkit was not found")
        return SKIPPED
    taken(wheel, True)  # whatever the first run has found on this machine
    taken(other, True)
    taken(linked, False)
    taken(wheel, True, build="by_environment", environment={f"{name}_ROOT": wheel for name, *_ in parts})
    # All of them together in one folder of CMake's: the file with a number beside its header comes before a link elsewhere.
    _, cache = configured(f"-DCMAKE_PREFIX_PATH={wheel};{linked}", build="prefixes")
    for name, _, _, _, file, number, _ in parts:
        if cache[f"{name}_LIBRARY"] != f"{wheel}/lib/{file}{number}":
            sys.exit(f"consume.py: the header of {name} is that of {wheel}, and its library is not")
    for name, header, _, _, file, number, least in parts:
        component = name.lower()

        def refused(words, *options):
            output, _ = configured(*options, f"-DHEDDLE_WITH_{name.upper()}=ON", fails=True)
            said(f"heddle: HEDDLE_WITH_{name.upper()} is ON, but {words}. Fix: install {name} {least} or newer", output)

        refused(f"{name}_ROOT is {only_headers}, where {file} or {file}{number} was not found", f"-D{name}_ROOT={only_headers}")
        refused(f"{name}_ROOT is {only_library}, where {header} was not found", f"-D{name}_ROOT={only_library}")
        refused(f"{name}_ROOT is {only_headers}, and {name}_LIBRARY is {wheel}/lib/{file}{number}, which lies elsewhere",
                f"-D{name}_ROOT={only_headers}", f"-U{name}_LIBRARY", f"-D{name}_LIBRARY={wheel}/lib/{file}{number}")
        refused(f"{name} in {old}/include is 1.2.3", f"-D{name}_ROOT={old}")
        said(f"heddle: {name}_ROOT is {only_library}, where {header} was not found, so there is no target heddle::{component}.",
             configured(f"-D{name}_ROOT={only_library}", f"-DHEDDLE_WITH_{name.upper()}=AUTO")[0])
    # The same of an installed Heddle, which finds them anew.
    prefix = install(project, scratch, compiler, "-DHEDDLE_WITH_MPI=OFF", f"-DNCCL_ROOT={wheel}", f"-DcuDNN_ROOT={wheel}")
    for name, header, _, _, file, number, _ in parts:
        ask = lambda folder, fails: configure(HERE / "unknown_component", scratch / "user", compiler, prefix, f"-DCOMPONENT={name.lower()}", f"-D{name}_ROOT={folder}", fails=fails)
        said(f"or newer and a thread library, but {name}_ROOT is {only_headers}, where {file} or {file}{number} was not found.", ask(only_headers, True))
        ask(wheel, False)
    return 0


def subdirectory(project, scratch, compiler):
    flags, linked = noticing(project)
    build_and_run("subdirectory", project, scratch, compiler, f"-DCMAKE_CXX_FLAGS={flags} {quick_flags()}", f"-DCMAKE_EXE_LINKER_FLAGS={linked}")


def fetched(project, scratch, compiler):
    build_and_run("fetched", project, scratch, compiler)


def compiled(project, scratch, compiler):
    """heddle::compiled, installed: the bits of heddle::eigen; beside it in one program; other flags, and headers of another commit, are refused in one sentence."""
    # -O3 takes twice the time of -O1.
    optimization = os.environ.get("HEDDLE_CONSUMED_OPTIMIZATION", "-O1")
    prefix = install(project, scratch, compiler, "-DHEDDLE_BUILD_COMPILED=ON", "-DHEDDLE_WITH_MPI=OFF", f"-DCMAKE_CXX_FLAGS_RELEASE={optimization} -DNDEBUG")
    # The same version of Heddle with one line more, as another commit has it; headers are installed without anything being built.
    newer, headers = scratch / "newer", scratch / "newer_prefix"
    shutil.copytree(project, newer, ignore=shutil.ignore_patterns(".git", "build", "shared", "tests", "docs", "examples"))
    with open(newer / "include" / "heddle" / "run" / "results.hpp", "a", encoding="utf-8") as file:
        file.write("// One line more.\n")
    said("heddle::compiled is built without optimization, because CMAKE_BUILD_TYPE is empty. Fix: -DCMAKE_BUILD_TYPE=Release", run(
        "cmake", "--preset", "install", "-B", scratch / "newer_build", f"-DCMAKE_CXX_COMPILER={compiler}", "-DCMAKE_BUILD_TYPE=", "-DHEDDLE_BUILD_COMPILED=ON", cwd=newer))
    run("cmake", "--preset", "install", "-B", scratch / "newer_build", "-DHEDDLE_BUILD_COMPILED=OFF", cwd=newer)
    run("cmake", "--install", scratch / "newer_build", "--prefix", headers)
    configure(HERE / "compiled", scratch / "user", compiler, prefix, "-DCMAKE_BUILD_TYPE=Release", "-DCMAKE_CXX_FLAGS_RELEASE=-O1 -DNDEBUG", f"-DOTHER_HEADERS={headers / 'include'}",
              f"-DOPTIMIZATION={optimization}",
              *(f"-DNOTICING_{kind}={flags}" for kind, flags in zip(("COMPILER", "LINKER"), noticing(project))))
    run("cmake", "--build", scratch / "user", "--parallel", "1")
    from_headers, from_library = (run(scratch / "user" / name, cwd=scratch) for name in ("from_headers", "from_library"))
    if from_headers != from_library or from_headers.count("parameters") != 4:
        sys.exit("consume.py: the library does not give what the headers give")
    if run(scratch / "user" / "side_by_side", cwd=scratch) != from_headers + from_library:
        sys.exit("consume.py: side by side headers and library do not give what each gives")
    said("[heddle.R33] this Trainer of Net was made in a file that uses heddle::compiled and is called in one that compiles Heddle itself, ",
         run(scratch / "user" / "handed", fails=True))
    said("[heddle.R33] a file that compiles Heddle itself calls a Trainer or a Runner, but where it looks lies none: ",
         run(scratch / "user" / "handed", "behind", fails=True))
    refused = "[heddle.R33] this program and heddle::compiled were not compiled alike: "
    said(refused + "EIGEN_MAX_ALIGN_BYTES is 128 in the program and 16 in the library. Fix:", run(scratch / "user" / "other_alignment", fails=True))
    said(refused + "-fno-math-errno is on in the program and off in the library. Fix:", run(scratch / "user" / "other_errno", fails=True))
    other = scratch / "user" / "other_instructions"
    if other.exists():
        said("SSE4.1 is on in the program and off in the library", run(other, fails=True))
    if run(scratch / "user" / "with_asserts", cwd=scratch) != from_headers:
        sys.exit("consume.py: asserts make a difference")
    other = run(scratch / "user" / "other_headers", fails=True)
    if not re.search(re.escape(refused) + "the hash of the headers is ([0-9a-f]{15}) in the program and (?!\\1)[0-9a-f]{15} in the library. Fix: ", other):
        sys.exit("consume.py: the headers of another commit are not refused")


def cuda_kernels(project, scratch, compiler):
    """A plan on a card in a file that this compiler compiles alone: nvcc compiles the kernels, and the real libraries are linked. Where there is no card the program
    ends with the sentence that says so. nvcc compiles for sm_90, whose code differs from that of sm_80 in no line of a header; the slow tests take both."""
    nvcc = shutil.which("nvcc") or shutil.which("nvcc", path="/usr/local/cuda/bin")
    if nvcc is None:
        print("SKIPPED: nvcc was not found")
        return SKIPPED
    of_newer_cards = [f"{path}: {line}" for path in (project / "include").rglob("*.hpp") for line in path.read_text(encoding="utf-8").splitlines()
                      if any(int(number) > 800 for number in re.findall(r"__CUDA_ARCH__\D*(\d+)", line))]
    if of_newer_cards:
        sys.exit(f"consume.py: lines for cards newer than sm_80, for which nvcc does not compile here: {of_newer_cards}")
    run(nvcc, "-std=c++20", "--expt-relaxed-constexpr", "-I", project / "include", "-Xcompiler", "-fsyntax-only", "-c", HERE / "cuda_kernels" / "numbers_of_types.cu",
        "-arch=sm_80", "-o", scratch / "numbers.o")
    said("[heddle.L29] Heddle's kernels run on cards of compute capability 8.0 or newer, but this file is compiled for an older one. Fix: nvcc -arch=sm_90", run(
        nvcc, "-std=c++20", "--expt-relaxed-constexpr", "-I", project / "include", "-c", HERE / "cuda_kernels" / "numbers_of_types.cu", "-arch=sm_75", "-o",
        scratch / "numbers.o", fails=True))
    os.environ["NVCC_APPEND_FLAGS"] = "-Xptxas -O0 -Xcicc -O0"  # no card runs these kernels here, and nvcc takes a third of the time
    # Parts of a user's own on a card. What nvcc warns of Heddle's lines is an error here; 20012 is Eigen's.
    eigen = [f"-I{folder}" for folder in os.environ.get("HEDDLE_TESTED_EIGEN", "/usr/include/eigen3").split(":")]
    cards = os.environ.get("HEDDLE_TESTED_CARDS", "90").split(",")
    for source in [HERE / "cuda_kernels" / "own_kernel.cu"] + [project / "examples" / "on_cards" / "own_parts.cu"] * (len(cards) > 1):  # the slow tests take both
        run(nvcc, "-std=c++20", "-O1", "-arch=sm_90", "--expt-relaxed-constexpr", "-diag-suppress", "20012", "-Werror", "all-warnings", "-I", project / "include",
            *eigen, "-c", source, "-o", scratch / "own.o")
    output = run("cmake", "--preset", "install", "-B", scratch / "odd", f"-DCMAKE_CXX_COMPILER={compiler}", "-DHEDDLE_CUDA_ARCHITECTURES=hopper", cwd=project, fails=True)
    said("HEDDLE_CUDA_ARCHITECTURES is 'hopper', which names no compute capabilities. Fix: -DHEDDLE_CUDA_ARCHITECTURES=90 for", output)
    output = run("cmake", "--preset", "install", "-B", scratch / "old", f"-DCMAKE_CXX_COMPILER={compiler}", "-DHEDDLE_CUDA_ARCHITECTURES=90;75", cwd=project, fails=True)
    said("HEDDLE_CUDA_ARCHITECTURES has 75, but Heddle's kernels run on cards of compute capability 8.0 or newer. Fix: -DHEDDLE_CUDA_ARCHITECTURES=80 for", output)
    for of_cards, flags in ((), ()), (("-DHEDDLE_CUDA_ARCHITECTURES=90;80",), ("-DHEDDLE_CUDA_FLAGS=-fmad=false -lineinfo",)):
        run("cmake", "--preset", "install", "-B", scratch / "both", f"-DCMAKE_CXX_COMPILER={compiler}", "-DHEDDLE_BUILD_CUDA_KERNELS=ON", "-DHEDDLE_WITH_MPI=OFF", *of_cards, *flags,
            cwd=project)
        asked = "".join(path.read_text() for path in (scratch / "both").rglob("build.*"))
        for code, what in (("80,code=sm_80", "code for sm_80"), ("90,code=sm_90", "code for sm_90"), ("90,code=compute_90", "PTX of the newest architecture, for newer cards")):
            if f"--generate-code=arch=compute_{code}" not in asked:
                sys.exit(f"consume.py: nvcc is not asked for {what}")
        if (" -fmad=false -lineinfo " in asked) != bool(flags):
            sys.exit("consume.py: nvcc is not given the flags of HEDDLE_CUDA_FLAGS, and these alone")
    prefix = install(project, scratch, compiler, "-DHEDDLE_BUILD_CUDA_KERNELS=ON", f"-DHEDDLE_CUDA_ARCHITECTURES={';'.join(cards)}",
                     "-DHEDDLE_WITH_MPI=OFF")
    configure(HERE / "cuda_kernels", scratch / "user", compiler, prefix)
    run("cmake", "--build", scratch / "user", "--parallel", "1", "--target", "train")
    if "nvcc" in (scratch / "user" / "build.ninja").read_text():
        sys.exit("consume.py: nvcc is asked to compile a file of the user")
    for target, named in (("unlinked", "heddle_R42_the_target_heddle_cuda_kernels_is_not_linked"),
                          ("without_kernels", "heddle_R41_compile_this_file_with_nvcc_or_link_the_target_heddle_cuda_kernels")):
        output = run("cmake", "--build", scratch / "user", "--parallel", "1", "--target", target, fails=True)
        if output.count(named) != 1 or output.count("undefined reference") != 1:
            sys.exit(f"consume.py: the linker does not say {named} in one line")
    has_card = os.path.exists("/dev/nvidiactl")
    said("on a card it is " if has_card else "[heddle.R37] there is no driver of NVIDIA.", run(scratch / "user" / "train", fails=not has_card))
    return 0


def cu_file(project, scratch, compiler):
    """A .cu file with the CMakeLists.txt of docs/cuda.md: what nvcc is to be told comes with heddle::cuda, and nothing else is said to it."""
    nvcc = shutil.which("nvcc") or shutil.which("nvcc", path="/usr/local/cuda/bin")
    if nvcc is None:
        print("SKIPPED: nvcc was not found")
        return SKIPPED
    prefix = install(project, scratch, compiler, "-DHEDDLE_WITH_MPI=OFF")
    pages = re.findall("^```cmake\n(cmake_minimum_required.*?)^```$", (project / "docs" / "cuda.md").read_text(encoding="utf-8"), re.M | re.S)
    if len(pages) != 1:
        sys.exit(f"consume.py: docs/cuda.md has {len(pages)} whole CMakeLists.txt")
    (scratch / "page").mkdir()
    (scratch / "page" / "CMakeLists.txt").write_text(pages[0])
    shutil.copy(HERE / "cu_file" / "train.cu", scratch / "page")
    configure(scratch / "page", scratch / "user", compiler, prefix, f"-DCMAKE_CUDA_COMPILER={nvcc}")
    if "warning" in run("cmake", "--build", scratch / "user", "--parallel", "1"):
        sys.exit("consume.py: nvcc warns, as it does of an option that is given twice with two values")
    run(scratch / "user" / "train")
    return 0


def cu_processes(project, scratch, _):
    """The command of docs/cuda.md for processes, where the wrapper of MPI has an option that nvcc does not take."""
    nvcc, wrapper = shutil.which("nvcc") or shutil.which("nvcc", path="/usr/local/cuda/bin"), shutil.which("mpicxx")
    if nvcc is None or wrapper is None:
        print(f"SKIPPED: {'nvcc' if nvcc is None else 'mpicxx'} was not found")
        return SKIPPED
    folders = (pathlib.Path(nvcc).resolve().parents[1] / "include", pathlib.Path("/usr/include"))
    if not any((folder / "nccl.h").exists() for folder in folders):
        print("SKIPPED: nccl.h was not found")
        return SKIPPED
    commands = re.findall("^nvcc .*mpicxx.*$", (project / "docs" / "cuda.md").read_text(encoding="utf-8"), re.M)
    if len(commands) != 1:
        sys.exit(f"consume.py: docs/cuda.md has {len(commands)} commands for processes of MPI")
    place = scratch / "by_hand"
    (place / "bin").mkdir(parents=True)
    (place / "heddle").symlink_to(project, target_is_directory=True)
    (place / "bin" / "mpicxx").write_text(f'#!/bin/sh\ncase $1 in --showme*) echo -pthread "$({wrapper} "$@")" ;; *) exec {wrapper} -pthread "$@" ;; esac\n')
    (place / "bin" / "mpicxx").chmod(0o755)
    shutil.copy(HERE / "cu_file" / "processes.cu", place / "train.cu")
    run("bash", "-c", commands[0], cwd=place, env=dict(os.environ, PATH=f"{place / 'bin'}:{pathlib.Path(nvcc).parent}:{os.environ['PATH']}"))
    if not (place / "train").exists():
        sys.exit("consume.py: the command makes no program")
    return 0


def works(*command):
    """Whether a command can be started and ends well; what it says is shown."""
    try:
        done = subprocess.run([str(part) for part in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace")
    except OSError as problem:
        print("$", *command, f"\n{problem}", flush=True)
        return False
    print("$", *command, f"\n{done.stdout}", flush=True)
    return done.returncode == 0


def make_environment(folder):
    return works(sys.executable, "-m", "venv", "--clear", folder)


def environment_with(folder, wanted, *pip, make=make_environment):
    """What of an environment of Python fits, and starts if it is a program, after the package is installed there if nothing does; None if it could not be had.

    The environment is kept between runs, so that a second run needs no network. One that a killed run or another Python left broken is made anew, once:
    so each package has its own, and no test loses what another one uses."""
    def fitting():
        return next((found for found in folder.glob(wanted) if found.parent.name != "bin" or works(found, "--version")), None)

    folder.parent.mkdir(parents=True, exist_ok=True)
    with open(f"{folder}.lock", "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        found = fitting()
        for anew in (False, True) if folder.exists() else (True,):
            if found is None and (not anew or make(folder)):
                if works(folder / "bin" / "pip", "install", "--quiet", "--disable-pip-version-check", "--no-compile", *pip):
                    found = fitting()
        return found


def from_pypi(project, name, wanted, *pip):
    return environment_with(project / "build" / "from-pypi" / name, wanted, *pip)


def broken_environment(project, scratch, _):
    """An environment of Python that a killed run left, and a program of one that does not start, are made anew; what works is taken as it is."""
    if not works(sys.executable, "-c", "import ensurepip"):
        print("SKIPPED: this Python makes no environments (package python3-venv on Debian and Ubuntu)")
        return SKIPPED
    wheel, environment = scratch / "loom-1-py3-none-any.whl", scratch / "environment"
    with zipfile.ZipFile(wheel, "w") as file:
        file.writestr("loom.py", "def main():\n    print('loom 1')\n")
        for name, text in (("METADATA", "Metadata-Version: 2.1\nName: loom\nVersion: 1\n"), ("WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"),
                           ("entry_points.txt", "[console_scripts]\nloom = loom:main\n"), ("RECORD", "")):
            file.writestr(f"loom-1.dist-info/{name}", text)

    kept = scratch / "kept"

    def make(folder):
        """Python makes the first one, in the place of a broken one; its copy serves for those that follow, at the same place and so with the same paths."""
        if not kept.exists():
            if not make_environment(folder):
                return False
            shutil.copytree(folder, kept, symlinks=True)
        shutil.rmtree(folder)
        shutil.copytree(kept, folder, symlinks=True)
        return True

    def loom():
        return environment_with(environment, "bin/loom", "--no-index", wheel, make=make)

    def broken(name):
        (environment / "bin").mkdir(parents=True, exist_ok=True)
        (environment / "bin" / name).write_text(f"#!{scratch}/no/python\n")
        (environment / "bin" / name).chmod(0o755)

    for name in ("pip", "loom"):
        broken(name)
        if loom() is None:
            sys.exit(f"consume.py: an environment whose {name} does not start is not made anew")
    wheel.unlink()
    (environment / "kept").touch()
    if loom() is None or not (environment / "kept").exists():
        sys.exit("consume.py: a program that starts is not taken as it is")
    broken("loom")
    if loom() is not None:
        sys.exit("consume.py: a program that does not start, and cannot be had anew, is taken")
    return 0


def conan(project, scratch, _):
    environment = dict(os.environ, CONAN_HOME=str(scratch / "home"))
    program = from_pypi(project, "conan", "bin/conan", "conan>=2,<3")
    if program is None:
        print("SKIPPED: Conan 2 could not be had from PyPI")
        return SKIPPED
    # The recipe writes its test's build folder beside itself, so it works on a copy.
    copy = scratch / "project"
    shutil.copytree(project, copy, ignore=shutil.ignore_patterns(".git", "build", "shared"))
    # Nothing here is looked at that optimization changes, and -O3 takes twice the time.
    create = (program, "create", ".", "--no-remote", "-pr:a", "conan/profile",
              "-c:a", 'tools.cmake.cmaketoolchain:extra_variables={"CMAKE_CXX_FLAGS_RELEASE": "-O0"}')
    run(*create, cwd=copy, env=environment)
    run(*create, "-o", "heddle/*:compiled=True", cwd=copy, env=environment)
    return 0


def other_eigen(project, scratch, compiler):
    """Eigen 5: CMake takes it, its products keep what products promise, and plans on them end with equal bits."""
    folder = os.environ.get("HEDDLE_OTHER_EIGEN")
    if folder is None:
        core = from_pypi(project, "eigency", "lib/python*/site-packages/eigency/eigen/Eigen/Core", "--no-deps", "eigency")
        if core is None:
            print("SKIPPED: a newer Eigen could not be had from PyPI (package eigency); HEDDLE_OTHER_EIGEN names a folder that has one")
            return SKIPPED
        folder = core.parents[1]
    folder = pathlib.Path(folder)
    version = (folder / "Eigen" / "Version").read_text() if (folder / "Eigen" / "Version").exists() else ""
    if "EIGEN_MAJOR_VERSION 5" not in version:
        print(f"SKIPPED: {folder} has no Eigen 5")
        return SKIPPED
    # The package has headers alone: this is what Eigen 5 installs for CMake, as far as it matters here.
    (scratch / "Eigen3Config.cmake").write_text(
        f'add_library(Eigen3::Eigen INTERFACE IMPORTED)\ntarget_include_directories(Eigen3::Eigen INTERFACE "{folder}")\n')
    (scratch / "Eigen3ConfigVersion.cmake").write_text(
        'set(PACKAGE_VERSION "5.0.1")\nif(PACKAGE_FIND_VERSION_MAJOR EQUAL 5 OR PACKAGE_FIND_VERSION STREQUAL "")\n'
        "  set(PACKAGE_VERSION_COMPATIBLE TRUE)\nendif()\n")
    configure(HERE / "subdirectory", scratch / "user", compiler, f"-DPROGRAMS={project / 'test_package'}", f"-DHEDDLE={project}", f"-DCMAKE_PREFIX_PATH={scratch}",
              "-DCMAKE_IGNORE_PATH=/usr/share/eigen3/cmake;/usr/lib/cmake/eigen3")
    if str(folder) not in (scratch / "user" / "build.ninja").read_text():
        sys.exit("consume.py: CMake does not take Eigen 5")
    tests = project / "tests"
    run(compiler, "-std=c++20", "-Og", *quick_flags().split(), "-include", tests / "rooms.hpp", "-I", project / "include", "-I", tests, "-isystem", folder, tests / "compute/eigen/gemm_test.cpp",
        tests / "compute/eigen/public_products_test.cpp", tests / "equivalence/public_products_test.cpp", tests / "main.cpp", "-pthread",
        *noticing(project)[1].split(), "-o", scratch / "tests")
    run(scratch / "tests")
    return 0


def headers_hash(project, scratch, _):
    """One number of the headers, however their folder is named, another one for other headers, and none where there is no header."""
    def hash_of(folder, fails=False):
        output = scratch / "hash.hpp"
        output.unlink(missing_ok=True)
        words = run("cmake", f"-DINCLUDE_FOLDER={folder}", f"-DOUTPUT={output}", "-P", project / "cmake" / "headers_hash.cmake", fails=fails, cwd=scratch)
        return words if fails else re.search(r"HEDDLE_HEADERS_HASH 0x([0-9a-f]{15})$", output.read_text(), re.M).group(1)

    for folder in ("include", "[1] of 2/include"):
        (scratch / folder / "heddle").mkdir(parents=True)
        for name in ("heddle.hpp", "plan.hpp"):
            (scratch / folder / "heddle" / name).write_text(f"// {name}\n")
    hashes = [hash_of(folder) for folder in (scratch / "include", "include", "./include/", "[1] of 2/include", scratch / "[1] of 2" / "include")]
    if len(set(hashes)) != 1:
        sys.exit(f"consume.py: the same headers have the hashes {', '.join(hashes)}")
    (scratch / "include" / "heddle" / "plan.hpp").write_text("// another\n")
    if len({hash_of("include"), hash_of(scratch / "include"), hashes[0]}) != 2:
        sys.exit("consume.py: other headers are to have one hash, and another one")
    said("there is no header in", hash_of("nothing", fails=True))


def main(way, project, scratch, compiler, object_file):
    global lowered_again
    lowered_again = object_file
    if "Free Software Foundation" in run(compiler, "--version"):
        os.environ["CXXFLAGS"] = os.environ.get("CXXFLAGS", "") + " --param ggc-min-heapsize=1048576"
    ways = {way.__name__: way for way in (installed, components, asked_for, named_roots, compiled, cuda_kernels, cu_file, cu_processes, subdirectory, fetched, conan, other_eigen, broken_environment, headers_hash)}
    scratch = pathlib.Path(scratch)
    shutil.rmtree(scratch, ignore_errors=True)
    scratch.mkdir(parents=True)
    code = ways[way](pathlib.Path(project), scratch, compiler) or 0
    shutil.rmtree(scratch, ignore_errors=True)
    return code


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
