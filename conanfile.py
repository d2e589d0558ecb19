# SPDX-License-Identifier: MIT
"""Conan 2 recipe: a header library that brings its own CMake package, and with the options compiled and cuda_kernels static libraries. The profile conan/profile says how to try it offline."""
import os
import re

from conan import ConanFile
from conan.errors import ConanException, ConanInvalidConfiguration
from conan.tools.build import check_min_cppstd
from conan.tools.cmake import CMake, CMakeDeps, CMakeToolchain, cmake_layout
from conan.tools.files import copy, load

VERSION_HEADER = os.path.join("include", "heddle", "core", "version.hpp")


class HeddleConan(ConanFile):
    name = "heddle"
    license = "MIT"
    description = "Parallel training of neural networks: the parallel plan is a type"
    topics = ("neural-networks", "parallel", "header-only", "cpp20")
    package_type = "header-library"
    settings = "os", "arch", "compiler", "build_type"
    options = {"with_eigen": [True, False], "with_gzip": [True, False], "with_mpi": [True, False], "with_cuda": [True, False],
               "with_nccl": [True, False], "with_cudnn": [True, False], "compiled": [True, False], "cuda_kernels": [True, False]}
    default_options = {"with_eigen": True, "with_gzip": True, "with_mpi": False, "with_cuda": False, "with_nccl": False,
                       "with_cudnn": False, "compiled": False, "cuda_kernels": False}
    exports = VERSION_HEADER
    exports_sources = "CMakeLists.txt", "LICENSE", "cmake/*", "include/*", "src/*"
    no_copy_source = True

    def set_version(self):
        text = load(self, os.path.join(self.recipe_folder, VERSION_HEADER))
        parts = [re.search(rf"#define HEDDLE_VERSION_{part} (\d+)", text) for part in ("MAJOR", "MINOR", "PATCH")]
        if not all(parts):
            raise ConanException(f"{VERSION_HEADER} does not tell the version")
        self.version = ".".join(part.group(1) for part in parts)

    def configure(self):
        if self.options.compiled or self.options.cuda_kernels:
            self.package_type = "static-library"

    def layout(self):
        cmake_layout(self)

    def requirements(self):
        if self.options.with_eigen:
            self.requires("eigen/[>=3.4 <6]", transitive_headers=True)
        if self.options.with_mpi:
            self.requires("openmpi/[>=4.1 <6]", transitive_headers=True, transitive_libs=True)
        if self.options.with_gzip:
            self.requires("zlib/[>=1.2.11 <2]", transitive_headers=True, transitive_libs=True)

    def validate(self):
        if self.options.with_mpi and not self.options.with_eigen:
            raise ConanInvalidConfiguration("with_mpi needs with_eigen: processes run the same kernels as threads")
        if self.options.with_cuda and not self.options.with_eigen:
            raise ConanInvalidConfiguration("with_cuda needs with_eigen: kernels of cards are held against those of the host")
        if self.options.with_nccl and not self.options.with_cuda:
            raise ConanInvalidConfiguration("with_nccl needs with_cuda: it moves between cards")
        if self.options.with_cudnn and not self.options.with_cuda:
            raise ConanInvalidConfiguration("with_cudnn needs with_cuda: it computes on cards")
        if self.options.compiled and not self.options.with_eigen:
            raise ConanInvalidConfiguration("compiled needs with_eigen: the library is the backend of threads and Eigen")
        if self.options.cuda_kernels and not self.options.with_cuda:
            raise ConanInvalidConfiguration("cuda_kernels needs with_cuda: the library has the kernels of cards")
        if self.settings.get_safe("compiler.cppstd"):
            check_min_cppstd(self, 20)

    def generate(self):
        CMakeDeps(self).generate()
        toolchain = CMakeToolchain(self)
        for part in ("TESTS", "EXAMPLES", "BENCH", "TOOLS"):
            toolchain.cache_variables[f"HEDDLE_BUILD_{part}"] = False
        toolchain.cache_variables["HEDDLE_WITH_EIGEN"] = bool(self.options.with_eigen)
        toolchain.cache_variables["HEDDLE_WITH_MPI"] = "ON" if self.options.with_mpi else "OFF"
        toolchain.cache_variables["HEDDLE_WITH_CUDA"] = "ON" if self.options.with_cuda else "OFF"  # the toolkit of the machine
        toolchain.cache_variables["HEDDLE_WITH_NCCL"] = "ON" if self.options.with_nccl else "OFF"  # that of the machine as well
        toolchain.cache_variables["HEDDLE_WITH_CUDNN"] = "ON" if self.options.with_cudnn else "OFF"  # and this
        toolchain.cache_variables["HEDDLE_WITH_GZIP"] = bool(self.options.with_gzip)
        toolchain.cache_variables["HEDDLE_BUILD_COMPILED"] = bool(self.options.compiled)
        toolchain.cache_variables["HEDDLE_BUILD_CUDA_KERNELS"] = bool(self.options.cuda_kernels)
        toolchain.generate()

    def build(self):
        cmake = CMake(self)
        cmake.configure()
        if self.options.compiled or self.options.cuda_kernels:
            cmake.build()

    def package(self):
        CMake(self).install()
        copy(self, "LICENSE", self.source_folder, os.path.join(self.package_folder, "licenses"))

    def package_id(self):
        # Headers serve every compiler; the options decide which components a package holds.
        if not self.info.options.compiled and not self.info.options.cuda_kernels:
            self.info.settings.clear()
            self.info.requires.clear()

    def package_info(self):
        # find_package(heddle) takes the package's own configuration, with its messages, instead of a generated one.
        self.cpp_info.set_property("cmake_find_mode", "none")
        types = self.cpp_info.components["heddle"]
        types.builddirs = [os.path.join("share", "cmake", "heddle")]
        # The components say the same to other build systems.
        types.bindirs, types.libdirs = [], []
        if self.options.with_eigen:
            pairing = self.cpp_info.components["eigen"]
            pairing.requires = ["heddle", "eigen::eigen"]
            pairing.bindirs, pairing.libdirs = [], []
            if self.settings.os in ("Linux", "FreeBSD"):
                pairing.system_libs = ["pthread"]
        if self.options.compiled:
            compiled = self.cpp_info.components["compiled"]
            compiled.requires = ["eigen"]
            compiled.defines = ["HEDDLE_COMPILED"]
            compiled.libs = ["heddle_compiled"]
            compiled.bindirs = []
        if self.options.with_mpi:
            processes = self.cpp_info.components["mpi"]
            processes.requires = ["eigen", "openmpi::openmpi"]
            processes.bindirs, processes.libdirs = [], []
        if self.options.with_cuda:
            cards = self.cpp_info.components["cuda"]
            cards.requires = ["eigen"]
            cards.bindirs, cards.libdirs = [], []
            cards.system_libs = ["cudart", "cublasLt"]
        if self.options.cuda_kernels:
            kernels = self.cpp_info.components["cuda_kernels"]
            kernels.requires = ["cuda"]
            kernels.defines = ["HEDDLE_CUDA_KERNELS"]
            kernels.libs = ["heddle_cuda_kernels"]
            kernels.bindirs = []
        if self.options.with_nccl:
            several = self.cpp_info.components["nccl"]
            several.requires = ["cuda"]
            several.bindirs, several.libdirs = [], []
            several.system_libs = ["nccl"]
        if self.options.with_cudnn:
            layers = self.cpp_info.components["cudnn"]
            layers.requires = ["cuda"]
            layers.bindirs, layers.libdirs = [], []
            layers.system_libs = ["cudnn"]
        if self.options.with_gzip:
            gzip = self.cpp_info.components["gzip"]
            gzip.requires = ["heddle", "zlib::zlib"]
            gzip.bindirs, gzip.libdirs = [], []
