# SPDX-License-Identifier: MIT
"""What `using namespace heddle` makes visible is what docs/reference.md lists: layers, losses and optimizers, as many as there are, and no more than
86 names beside them. So is what each public namespace within heddle has, such as heddle::datasets. A name stands in one of them, so that a program may open all. Each name has one line there with the header
that it comes from, and stands in a block of C++ of its section, which snippets.py compiles. The rooms see each other's names as they include each other (arrows.py)."""
import re

import arrows
import house

MOST_NAMES = 86  # of heddle, beside those of the sections that follow
OF_MODELS = {"Layers and models", "Losses and optimizers"}
OPENED = re.compile(r"^namespace heddle((?:::\w+)*) \{\n(.*?)^\}  // namespace heddle\1$", re.M | re.S)
ROOM = re.compile(r"::\w+_room")
NAMED = re.compile(r"\b\w+_room::(\w+)")
ALIAS = re.compile(r"^(?:using|namespace) (\w+) =", re.M)
DECLARED = re.compile(r"^(?:template <.*> )?(?:struct|class|enum class) (\w+);", re.M)
ENTRY = re.compile(r"^\| `(\w+)` \|([^|]*)\|(?: `([\w/.]+)` \|)?$", re.M)
INCLUDED = re.compile(r'^#include "(heddle/[^"]+)"', re.M)
FORGOTTEN = "not_included.hpp"  # declares names of headers that were not included, for the sentence that says so
SECTION = re.compile(r"^## (.+?)\n(.*?)(?=^## |\Z)", re.M | re.S)
BLOCK = re.compile(r"^```cpp\n(.*?)^```$", re.M | re.S)
INNER = re.compile(r"^namespace (\w+)_room \{(.*?)\}$", re.M | re.S)
REMEDY = re.compile(r"Fix: [^\n|]*")
TYPE = re.compile(r"(?<![\w:~`'-])[A-Z]\w*[a-z]\w*")
MADE = re.compile(r"^(?:template <.*> )?(?:struct|class|enum class|concept) (\w+)\b", re.M)
USED = re.compile(r"using namespace (\w+)_room;")


def names_in(body):
    """What one namespace that is opened names for users."""
    for statement in re.findall(r"^(?:using|namespace) .*?;", body, re.M | re.S):
        alias = ALIAS.match(statement)
        yield from [alias.group(1)] if alias else NAMED.findall(statement)
    yield from DECLARED.findall(body)


def visible(root):
    """Namespace -> the names that headers name in it for users: "" is heddle itself."""
    found = {}
    for path in house.headers(root):
        for namespace, body in OPENED.findall(path.read_text()):
            if ROOM.search(namespace):
                continue
            names = found.setdefault(namespace.removeprefix("::"), {})
            for name in names_in(body):
                names.setdefault(name, path)
    return found


def listed(page):
    """Namespace -> the names that the page lists; a section says `heddle::name` in its heading where its names lie deeper."""
    found, faults = {}, []
    for heading, body in SECTION.findall(page):
        inner = re.search(r"`heddle::(\w+)`", heading)
        names = found.setdefault(inner.group(1) if inner else "", {})
        shown = "\n".join(BLOCK.findall(body))
        for name, line, header in ENTRY.findall(body):
            if name in names:
                faults.append(f"docs/reference.md: {name} stands twice")
            names[name] = header
            if not re.search(rf"\b{name}\b", shown):
                faults.append(f"docs/reference.md: no block of section '{heading}' shows {name}")
            if len(line.split()) < 3:
                faults.append(f"docs/reference.md: {name} has no line that says what it is")
    return found, faults


def of_models(page):
    """The names of layers, losses and optimizers, and of what is said of them."""
    return {name for heading, body in SECTION.findall(page) if heading in OF_MODELS for name, _, _ in ENTRY.findall(body)}


def headers_of_names(root):
    """(namespace, name) -> all headers that name it for users."""
    found = {}
    for path in house.headers(root):
        if path.name == FORGOTTEN:
            continue
        for namespace, body in OPENED.findall(path.read_text()):
            if not ROOM.search(namespace):
                for name in names_in(body):
                    found.setdefault((namespace.removeprefix("::"), name), set()).add(str(path.relative_to(root / "include")))
    return found


def included(root):
    """header -> all headers that come with it."""
    direct = {str(path.relative_to(root / "include")): INCLUDED.findall(path.read_text()) for path in house.headers(root)}
    found = {}
    for header in direct:
        todo, found[header] = [header], set()
        while todo:
            other = todo.pop()
            if other not in found[header]:
                found[header].add(other)
                todo.extend(direct.get(other, ()))
    return found


def check_headers(root, said):
    """The header that the page says for a name is there and names it."""
    named, comes_with = headers_of_names(root), included(root)
    for namespace, names in said.items():
        for name, header in names.items():
            full = f"heddle/{header}"
            if full not in comes_with:
                yield f"docs/reference.md: {name} is said to come from {header or 'no header'}, which is no header"
            elif (namespace, name) in named and not comes_with[full] & named[namespace, name]:
                yield f"docs/reference.md: {name} does not come from {header}"


def rooms_seen(text):
    """room -> rooms whose names it sees, through all directives of core/rooms.hpp."""
    direct = {}
    for room, body in INNER.findall(text):
        direct.setdefault(room, set()).update(USED.findall(body))
    seen = {}
    for room in direct:
        todo = list(direct[room])
        seen[room] = set()
        while todo:
            other = todo.pop()
            if other not in seen[room]:
                seen[room].add(other)
                todo.extend(direct.get(other, ()))
    return seen


def check_rooms(root):
    path = root / "include" / "heddle" / "core" / "rooms.hpp"
    if not path.exists():
        return
    seen = rooms_seen(path.read_text())
    for room in sorted(arrows.BELOW):
        allowed = set(arrows.BELOW[room])
        if any(target.startswith("io/") for target in arrows.SINGLE.get(room, ())) or "run" in allowed:
            allowed |= {"io", "run"} | arrows.BELOW["io"]  # the files of tensors lie below room run, the data sets above
        wrong = (seen.get(room, set()) ^ allowed) - {room}
        if wrong - ({"cost", "io"} if room in ("run", "io") else set()):
            yield f"core/rooms.hpp: room {room} sees other names than its arrows allow: {', '.join(sorted(wrong))}"


def full(namespace):
    return f"heddle::{namespace}".removesuffix("::")


def check_places(root, there):
    """A name stands in one public namespace: in two it would be ambiguous for a program that opens both, or a second way to write the same."""
    places = {}
    for namespace, names in sorted(there.items()):
        for name in names:
            places.setdefault(name, []).append(namespace)
    for name, found in sorted(places.items()):
        if len(found) > 1:
            yield f"{there[found[-1]][name].relative_to(root)}: {name} stands in {' and '.join(map(full, found))}; a name stands in one namespace alone"


def check_remedies(root, public):
    """What a refusal tells its reader to write is there to be written."""
    made = {name for path in house.headers(root) for name in MADE.findall(path.read_text())}
    for page in sorted((root / "docs").glob("*.md")):
        for remedy in REMEDY.findall(page.read_text()):
            for name in sorted(set(TYPE.findall(remedy)) & made - public):
                yield f"{page.relative_to(root)}: a remedy names {name}, which no public namespace has"


def check(root):
    for path in house.headers(root):
        if re.search(r"namespace heddle::inline|inline namespace \w+_room", path.read_text()):
            yield f"{path.relative_to(root)}: an inline room would make all its names visible in heddle"
    yield from check_rooms(root)
    page = root / "docs" / "reference.md"
    there = visible(root)
    said, faults = listed(page.read_text() if page.exists() else "")
    yield from faults
    yield from check_headers(root, said)
    yield from check_places(root, there)
    yield from check_remedies(root, {name for names in there.values() for name in names})
    for namespace in sorted(set(there) | set(said)):
        for name in sorted(set(there.get(namespace, {})) - set(said.get(namespace, {}))):
            yield f"{there[namespace][name].relative_to(root)}: {full(namespace)} has {name}, which docs/reference.md does not list"
        for name in sorted(set(said.get(namespace, {})) - set(there.get(namespace, {}))):
            yield f"docs/reference.md: lists {name}, which {full(namespace)} does not have"
    if (beside := len(set(there.get("", {})) - of_models(page.read_text() if page.exists() else ""))) > MOST_NAMES:
        yield f"heddle has {beside} names beside layers, losses and optimizers; more than {MOST_NAMES} are no vocabulary"


EXPORT = "namespace heddle {\nusing plan_room::Plan, plan_room::Batch;\nnamespace axis = mesh_room::axis;\n}  // namespace heddle\n"
PAGE = "# Names\n## Plans\n| name | what it is | header |\n|---|---|---|\n| `Plan` | all parts of one training | `plan/plan.hpp` |\n" \
       "| `Batch` | rows of a step, together | `plan/plan.hpp` |\n| `axis` | the names of axes | `plan/plan.hpp` |\n\n```cpp\nusing Mine = Plan<Batch<64>>; axis::data;\n```\n"
INNER_EXPORT = "namespace heddle::datasets {\nusing plan_room::Plan;\n}  // namespace heddle::datasets\n"
INNER_PAGE = "## Data: `heddle::datasets`\n| `Plan` | all parts of one training | `plan/plan.hpp` |\n\n```cpp\nPlan<int>;\n```\n"
HEADER = "include/heddle/plan/plan.hpp"
ACCEPTED = {HEADER: "namespace heddle::plan_room {\nstruct Node;\n}  // namespace heddle::plan_room\n" + EXPORT, "docs/reference.md": PAGE}
REFUSED = {
    "heddle has Batch, which docs/reference.md does not list": {HEADER: EXPORT, "docs/reference.md": PAGE.replace("| `Batch` | rows of a step, together | `plan/plan.hpp` |\n", "")},
    "lists Plan, which heddle does not have": {HEADER: EXPORT.replace("plan_room::Plan, ", ""), "docs/reference.md": PAGE},
    "no block of section 'Plans' shows Plan": {HEADER: EXPORT, "docs/reference.md": PAGE.replace("Plan<Batch<64>>", "Batch<64>")},
    "a remedy names Node, which": {**ACCEPTED, "docs/errors.md": "[heddle.X01] It is not so. Fix: write Node<2>.\n"},
    "Plan stands twice": {HEADER: EXPORT, "docs/reference.md": PAGE.replace("| `Batch`", "| `Plan` | and once more here | `plan/plan.hpp` |\n| `Batch`")},
    "Batch has no line": {HEADER: EXPORT, "docs/reference.md": PAGE.replace("rows of a step, together", "rows")},
    "Batch is said to come from plan/batch.hpp, which is no header": {HEADER: EXPORT, "docs/reference.md": PAGE.replace("together | `plan/plan.hpp`", "together | `plan/batch.hpp`")},
    "Batch is said to come from no header": {HEADER: EXPORT, "docs/reference.md": PAGE.replace("together | `plan/plan.hpp` |", "together |")},
    "axis does not come from core/a.hpp": {HEADER: EXPORT, "include/heddle/core/a.hpp": "", "docs/reference.md": PAGE.replace("axes | `plan/plan.hpp`", "axes | `core/a.hpp`")},
    "Plan stands in heddle and heddle::datasets": {HEADER: EXPORT + INNER_EXPORT, "docs/reference.md": PAGE + INNER_PAGE},
    "heddle::datasets has Plan, which docs/reference.md does not list": {HEADER: EXPORT + INNER_EXPORT, "docs/reference.md": PAGE},
    "an inline room": {HEADER: "namespace heddle::inline plan_room {\n}\n" + EXPORT, "docs/reference.md": PAGE},
    f"heddle has {MOST_NAMES + 3} names beside layers": {HEADER: EXPORT.replace("plan_room::Batch", ", ".join(f"plan_room::A{i}" for i in range(MOST_NAMES + 1))), "docs/reference.md": PAGE},
    f"heddle has {MOST_NAMES + 1} names beside layers": {HEADER: EXPORT.replace("plan_room::Batch", ", ".join(f"plan_room::A{i}" for i in range(MOST_NAMES + 1))), "docs/reference.md": PAGE.replace("## Plans", "## Layers and models")},
    "room mesh sees other names": {"include/heddle/core/rooms.hpp": "namespace mesh_room {\nusing namespace plan_room;\n}\n"},
}
