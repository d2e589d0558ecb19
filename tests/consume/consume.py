#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Uses Heddle as other projects do, each way in a folder of its own: consume.py <way> <project> <scratch folder> <compiler>."""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import venv

SKIPPED = 77
HERE = pathlib.Path(__file__).resolve().parent


def run(*command, fails=False, **options):
    """Runs a command, shows what it says and gives it back; ends the test if it fails, or with fails=True if it does not."""
    done = subprocess.run([str(part) for part in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace", **options)
    print("$", *command, f"\n{done.stdout}", flush=True)
    if (done.returncode != 0) != fails:
        sys.exit(f"consume.py: this was to {'fail' if fails else 'work'}, and ended with {done.returncode}")
    return done.stdout


def configure(source, scratch, compiler, *options, fails=False):
    return run("cmake", "-S", source, "-B", scratch, "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Debug", f"-DCMAKE_CXX_COMPILER={compiler}", *options, fails=fails)


def install(project, scratch, compiler, *options):
    """As README says it, from another folder than the project's; what only its own programs need is not there."""
    absent = [f"-DCMAKE_DISABLE_FIND_PACKAGE_{package}=ON" for package in ("CLI11", "fmt", "doctest", "Python3")]
    run("cmake", "--preset", "install", "-B", scratch / "heddle", f"-DCMAKE_CXX_COMPILER={compiler}", *absent, *options, cwd=project)
    run("cmake", "--build", scratch / "heddle", "--parallel", "1")
    run("cmake", "--install", scratch / "heddle", "--prefix", scratch / "prefix")
    return f"-DCMAKE_PREFIX_PATH={scratch / 'prefix'}"


def build_and_run(way, project, scratch, compiler, *options):
    configure(HERE / way, scratch / "user", compiler, f"-DPROGRAMS={project / 'test_package'}", f"-DHEDDLE={project}", *options)
    run("cmake", "--build", scratch / "user", "--parallel", "1")
    run(scratch / "user" / "types")
    run(scratch / "user" / "pairing", cwd=scratch)
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
    said("has no component 'egien'; it has: eigen, gzip, mpi, compiled.", ask("egien"))
    said("was made without the component 'compiled'. Fix: install Heddle again where HEDDLE_BUILD_COMPILED=ON", ask("compiled"))
    said("was made without the component 'gzip'. Fix: install Heddle again where zlib", ask("gzip"))
    # Without the preset the whole project is configured: what it lacks is said with the two ways on.
    for package in ("CLI11", "doctest"):
        output = configure(project, scratch / package, compiler, f"-DCMAKE_DISABLE_FIND_PACKAGE_{package}=ON", fails=True)
        said("Fix: ./heddle test installs them on Debian and Ubuntu; cmake --preset install needs none of them.", output)


def subdirectory(project, scratch, compiler):
    build_and_run("subdirectory", project, scratch, compiler)


def fetched(project, scratch, compiler):
    build_and_run("fetched", project, scratch, compiler)


def compiled(project, scratch, compiler):
    """heddle::compiled, installed: the bits of heddle::eigen; beside it in one program; other flags, and headers of another commit, are refused in one sentence."""
    prefix = install(project, scratch, compiler, "-DHEDDLE_BUILD_COMPILED=ON", "-DHEDDLE_WITH_MPI=OFF")
    # The same version of Heddle with one line more, as another commit has it; headers are installed without anything being built.
    newer, headers = scratch / "newer", scratch / "newer_prefix"
    shutil.copytree(project, newer, ignore=shutil.ignore_patterns(".git", "build", "shared", "tests", "docs", "examples"))
    with open(newer / "include" / "heddle" / "run" / "results.hpp", "a", encoding="utf-8") as file:
        file.write("// One line more.\n")
    said("heddle::compiled is built without optimization, because CMAKE_BUILD_TYPE is empty. Fix: -DCMAKE_BUILD_TYPE=Release", run(
        "cmake", "--preset", "install", "-B", scratch / "newer_build", f"-DCMAKE_CXX_COMPILER={compiler}", "-DCMAKE_BUILD_TYPE=", "-DHEDDLE_BUILD_COMPILED=ON", cwd=newer))
    run("cmake", "--preset", "install", "-B", scratch / "newer_build", "-DHEDDLE_BUILD_COMPILED=OFF", cwd=newer)
    run("cmake", "--install", scratch / "newer_build", "--prefix", headers)
    configure(HERE / "compiled", scratch / "user", compiler, prefix, "-DCMAKE_BUILD_TYPE=Release", f"-DOTHER_HEADERS={headers / 'include'}")
    run("cmake", "--build", scratch / "user", "--parallel", "1")
    from_headers, from_library = (run(scratch / "user" / name, cwd=scratch) for name in ("from_headers", "from_library"))
    if from_headers != from_library or from_headers.count("parameters") != 3:
        sys.exit("consume.py: the library does not give what the headers give")
    if run(scratch / "user" / "side_by_side", cwd=scratch) != from_headers + from_library:
        sys.exit("consume.py: side by side headers and library do not give what each gives")
    refused = "[heddle.R33] this program and heddle::compiled were not compiled alike: "
    said(refused + "EIGEN_MAX_ALIGN_BYTES is 128 in the program and 16 in the library. Fix:", run(scratch / "user" / "other_alignment", fails=True))
    other = scratch / "user" / "other_instructions"
    if other.exists():
        said("SSE4.1 is on in the program and off in the library", run(other, fails=True))
    if run(scratch / "user" / "with_asserts", cwd=scratch) != from_headers:
        sys.exit("consume.py: asserts make a difference")
    other = run(scratch / "user" / "other_headers", fails=True)
    if not re.search(re.escape(refused) + "the hash of the headers is ([0-9a-f]{15}) in the program and (?!\\1)[0-9a-f]{15} in the library. Fix: ", other):
        sys.exit("consume.py: the headers of another commit are not refused")


def conan(project, scratch, _):
    environment = dict(os.environ, CONAN_HOME=str(scratch / "home"), PIP_DISABLE_PIP_VERSION_CHECK="1")
    tools = project / "build" / "conan-tools"  # kept between runs: a second run needs no network
    program = tools / "bin" / "conan"
    if not program.exists():
        venv.create(tools, with_pip=True, clear=True)
        got = subprocess.run([tools / "bin" / "pip", "install", "--quiet", "conan>=2,<3"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        if got.returncode != 0:
            print(got.stdout)
            print("SKIPPED: Conan 2 could not be had from PyPI")
            return SKIPPED
    # The recipe writes its test's build folder beside itself, so it works on a copy.
    copy = scratch / "project"
    shutil.copytree(project, copy, ignore=shutil.ignore_patterns(".git", "build", "shared"))
    run(program, "create", ".", "--no-remote", "-pr:a", "conan/profile", cwd=copy, env=environment)
    run(program, "create", ".", "--no-remote", "-pr:a", "conan/profile", "-o", "heddle/*:compiled=True", cwd=copy, env=environment)
    return 0


def other_eigen(project, scratch, compiler):
    """Eigen 5: CMake takes it, its products keep what products promise, and plans on them end with equal bits."""
    folder = os.environ.get("HEDDLE_OTHER_EIGEN")
    if folder is None:
        tools = project / "build" / "other-eigen"  # kept between runs: a second run needs no network
        if not list(tools.glob("lib/python*/site-packages/eigency/eigen/Eigen/Core")):
            venv.create(tools, with_pip=True, clear=True)
            got = subprocess.run([tools / "bin" / "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps", "eigency"],
                                 stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
            if got.returncode != 0:
                print(got.stdout)
                print("SKIPPED: a newer Eigen could not be had from PyPI (package eigency); HEDDLE_OTHER_EIGEN names a folder that has one")
                return SKIPPED
        folder = next(tools.glob("lib/python*/site-packages/eigency/eigen"))
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
    run(compiler, "-std=c++20", "-O1", "-include", tests / "rooms.hpp", "-I", project / "include", "-I", tests, "-isystem", folder, tests / "compute/eigen/gemm_test.cpp",
        tests / "compute/eigen/public_products_test.cpp", tests / "equivalence/public_products_test.cpp", tests / "main.cpp", "-pthread",
        "-o", scratch / "tests")
    run(scratch / "tests")
    return 0


def main(way, project, scratch, compiler):
    ways = {way.__name__: way for way in (installed, components, compiled, subdirectory, fetched, conan, other_eigen)}
    scratch = pathlib.Path(scratch)
    shutil.rmtree(scratch, ignore_errors=True)
    scratch.mkdir(parents=True)
    code = ways[way](pathlib.Path(project), scratch, compiler) or 0
    shutil.rmtree(scratch, ignore_errors=True)
    return code


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
