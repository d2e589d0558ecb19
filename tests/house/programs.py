# SPDX-License-Identifier: MIT
"""Programs that README.md and docs/*.md show with a command and an output do what is shown there.
A line <!-- program: NAME --> is followed by the source (a ```cpp block), the command that builds and runs NAME.cpp (a ```sh block)
and all that it prints (a block without a language). The command runs in a folder that has the source, include/ and examples/.
Where HEDDLE_LOWERED_AGAIN names the object of tests/lowered_again.cpp, g++ is given it, so that the program lowers its plans once more while it runs.
A line <!-- refused: NAME --> is followed by a source that g++ refuses with one error, and by pieces of what it says, a line each."""
import os
import pathlib
import re
import shutil
import subprocess
import tempfile

MARK = re.compile(r"^<!-- (program|refused): (\w+) -->$", re.M)
KINDS = {"program": ("cpp", "sh", ""), "refused": ("cpp", "")}
FENCED = re.compile(r"^```(\w*)\n(.*?)^```$", re.M | re.S)


def missing():
    return None if shutil.which("g++") else "g++ is not installed"


def marked(text):
    """(mark, name, blocks) of each; the blocks are None if others follow the mark than it asks for."""
    marks = list(MARK.finditer(text))
    for mark, following in zip(marks, [*marks[1:], None]):
        part = text[mark.end():following.start() if following else len(text)]
        kinds = KINDS[mark.group(1)]
        found = list(FENCED.finditer(part))[:len(kinds)]
        fits = [fence.group(1) for fence in found] == list(kinds)
        yield (*mark.groups(), [fence.group(2) for fence in found] if fits else None)


def noticing(root, command):
    """The command, with g++ told that the plans of the program are to be noted and lowered once more."""
    again = os.environ.get("HEDDLE_LOWERED_AGAIN")
    if again is None:
        return command
    flags = f"-include {root / 'tests' / 'plan' / 'noticed.hpp'} -Wl,--wrap=main {again}"
    return re.sub(r"\bg\+\+ ", lambda _: f"g++ {flags} ", command)


def run(root, name, source, command):
    with tempfile.TemporaryDirectory() as folder:
        place = pathlib.Path(folder)
        for shared in ("include", "examples"):
            if (root / shared).is_dir():
                (place / shared).symlink_to(root / shared)
        (place / f"{name}.cpp").write_text(source)
        return subprocess.run(["bash", "-ec", command], cwd=place, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, errors="replace")


def faults_of_program(root, name, source, command, output):
    done = run(root, name, source, noticing(root, command))
    if done.returncode != 0:
        yield f"the command ends with {done.returncode}\n{done.stdout}{done.stderr}"
    elif done.stdout != output:
        yield f"it prints something else than is shown:\n{done.stdout}"


def faults_of_refused(root, name, source, pieces):
    done = run(root, name, source, f"LC_ALL=C.UTF-8 g++ -std=c++20 -fsyntax-only -I include {name}.cpp")
    errors = len(re.findall(r"\berror:", done.stderr))
    if errors != 1:
        yield f"g++ says {errors} errors, not one\n{done.stderr}"
    yield from (f"g++ does not say: {piece}\n{done.stderr}" for piece in pieces.splitlines() if piece not in done.stderr)


def check(root):
    again = os.environ.get("HEDDLE_LOWERED_AGAIN")
    if again is not None and not os.path.isfile(again):
        yield f"HEDDLE_LOWERED_AGAIN names no file: '{again}'"
        return
    count = 0
    for page in [root / "README.md", *sorted((root / "docs").glob("*.md"))]:
        for mark, name, blocks in marked(page.read_text()) if page.exists() else []:
            count += 1
            faults = {"program": faults_of_program, "refused": faults_of_refused}[mark](root, name, *blocks) if blocks else ["other blocks follow its mark"]
            yield from (f"{page.relative_to(root)}: {name}: {fault}" for fault in faults)
    print(f"{count} programs tried")


def page_of(source="int main() { return std::puts(\"two\") < 0; }", command="g++ sum.cpp -o sum && ./sum", output="two"):
    return {"README.md": "text\n<!-- program: sum -->\n```cpp\n#include <cstdio>\n" + source + "\n```\nBuild it:\n```sh\n" + command +
                         "\n```\n\n```\n" + output + "\n```\n"}


def refused_page(source, words):
    return {"README.md": f"<!-- refused: wrong -->\n```cpp\n{source}\n```\ng++ says:\n```\n{words}\n```\n"}


ACCEPTED = page_of()
REFUSED = {
    "prints something else": page_of(output="three"),
    "the command ends with 1": page_of(source="int main() { return wrong; }"),
    "other blocks follow": {"README.md": "<!-- program: sum -->\n```cpp\nint main() {}\n```\nand no more\n"},
    "g++ says 0 errors": refused_page("int i;", "no"),
    "g++ says 2 errors": refused_page("int i = a;\nint j = b;", "not declared"),
    "g++ does not say: too wide": refused_page("int i = a;", "not declared\ntoo wide"),
}
