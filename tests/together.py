#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes one file that compiles several tests: what they include first, then each of them in a namespace of its own.

usage: together.py OUTPUT TEST...
"""
import pathlib
import re
import sys

INCLUDE = re.compile(r"^#include .*$", re.M)
BY_ITSELF = re.compile(r"^(namespace (heddle|std)\b|template <>|(template <.*> )?struct heddle::|#define|#undef|extern|int main|(\[\[.*\]\] )?void\*? operator (new|delete)).*$", re.M)


def together(tests):
    """The text of the file. Tests are (path, text); one that cannot stand in a namespace is refused."""
    for path, text in tests:
        found = BY_ITSELF.search(text)
        if found:
            raise ValueError(f"{path} is compiled together with others in namespaces, where `{found[0]}` cannot stand. "
                             "Fix: add the test to tests_by_themselves in tests/CMakeLists.txt.")
    includes = dict.fromkeys(line for _, text in tests for line in INCLUDE.findall(text))
    bodies = [f'namespace of_{path.parent.name}_{path.name.removesuffix(".cpp")} {{\n#include "{path}"\n}}' for path, _ in tests]
    return "\n".join([*includes, *bodies, ""])


def self_check():
    first, second = (pathlib.Path(f"/tests/run/{name}_test.cpp") for name in ("a", "b"))
    text = together([(first, "#include <vector>\nint i;\n"), (second, "#include <array>\n#include <vector>\nint i;\n")])
    assert text == ('#include <vector>\n#include <array>\nnamespace of_run_a_test {\n#include "/tests/run/a_test.cpp"\n}\n'
                    'namespace of_run_b_test {\n#include "/tests/run/b_test.cpp"\n}\n'), text
    for words in ("namespace heddle {}", "template <> struct A<int>;", "template <class C> struct heddle::A<int, C> {}", "#define A", "int main() {}",
                  "[[gnu::noinline]] void* operator new(std::size_t) {}"):
        try:
            together([(first, words + "\n")])
        except ValueError as refused:
            assert "a_test.cpp" in str(refused) and words in str(refused), refused
        else:
            raise AssertionError(f"not refused: {words}")
    assert together([(first, "using namespace heddle;\n")])


def main(output, *paths):
    try:
        text = together([(pathlib.Path(path), pathlib.Path(path).read_text(encoding="utf-8")) for path in paths])
    except ValueError as refused:
        print(refused, file=sys.stderr)
        return 1
    pathlib.Path(output).write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    if sys.argv[1:] == ["--self-check"]:
        self_check()
    else:
        sys.exit(main(*sys.argv[1:]))
