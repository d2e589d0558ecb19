# SPDX-License-Identifier: MIT
"""Programs that README.md and docs/*.md show with a command and an output do what is shown there.
A line <!-- program: NAME --> is followed by the source (a ```cpp block), the command that builds and runs NAME.cpp (a ```sh block)
and all that it prints (a block without a language). The command runs in a folder that has the source, include/ and examples/."""
import pathlib
import re
import shutil
import subprocess
import tempfile

MARK = re.compile(r"^<!-- program: (\w+) -->$", re.M)
FENCED = re.compile(r"^```(\w*)\n(.*?)^```$", re.M | re.S)


def missing():
    return None if shutil.which("g++") else "g++ is not installed"


def programs(text):
    """(name, source, command, output) of each marked program; what is missing is None."""
    marks = list(MARK.finditer(text))
    for mark, following in zip(marks, [*marks[1:], None]):
        part = text[mark.end():following.start() if following else len(text)]
        found = [(fence.group(1), fence.group(2)) for fence in FENCED.finditer(part)][:3]
        in_order = [words if kind == wanted else None for (kind, words), wanted in zip(found, ("cpp", "sh", ""))]
        yield (mark.group(1), *in_order, *[None] * (3 - len(in_order)))


def run(root, name, source, command):
    with tempfile.TemporaryDirectory() as folder:
        place = pathlib.Path(folder)
        for shared in ("include", "examples"):
            if (root / shared).is_dir():
                (place / shared).symlink_to(root / shared)
        (place / f"{name}.cpp").write_text(source)
        return subprocess.run(["bash", "-ec", command], cwd=place, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, errors="replace")


def check(root):
    count = 0
    for page in [root / "README.md", *sorted((root / "docs").glob("*.md"))]:
        for name, source, command, output in programs(page.read_text()) if page.exists() else []:
            count += 1
            where = f"{page.relative_to(root)}: program {name}"
            if None in (source, command, output):
                yield f"{where} is not followed by its source, its command and its output"
                continue
            done = run(root, name, source, command)
            if done.returncode != 0:
                yield f"{where}: the command ends with {done.returncode}\n{done.stdout}{done.stderr}"
            elif done.stdout != output:
                yield f"{where} prints something else than is shown:\n{done.stdout}"
    print(f"{count} programs ran")


def page_of(source="int main() { return std::puts(\"two\") < 0; }", command="g++ sum.cpp -o sum && ./sum", output="two"):
    return {"README.md": "text\n<!-- program: sum -->\n```cpp\n#include <cstdio>\n" + source + "\n```\nBuild it:\n```sh\n" + command +
                         "\n```\n\n```\n" + output + "\n```\n"}


ACCEPTED = page_of()
REFUSED = {
    "prints something else": page_of(output="three"),
    "the command ends with 1": page_of(source="int main() { return wrong; }"),
    "is not followed by": {"README.md": "<!-- program: sum -->\n```cpp\nint main() {}\n```\nand no more\n"},
}
