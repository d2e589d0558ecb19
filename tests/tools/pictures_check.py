# SPDX-License-Identifier: MIT
"""The pictures of docs/pictures are those that examples/by_subject/pictures.cpp draws now.

usage: pictures_check.py drawn|rendered FOLDER PROGRAM
  drawn     each file is the same, letter by letter, and a reader of XML or JSON takes it; with --write the files of FOLDER are written anew instead
  rendered  rsvg-convert makes an image of each; exit code 77 where it is not installed
"""
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as tree

SKIPPED = 77
how, folder, program = sys.argv[1], pathlib.Path(sys.argv[2]), sys.argv[3]
faults = []
with tempfile.TemporaryDirectory() as made:
    made = pathlib.Path(made)
    subprocess.run([program, str(made)], check=True, stdout=subprocess.DEVNULL, timeout=60)
    drawn = {path.name: path.read_text(encoding="utf-8") for path in made.iterdir()}
    if "--write" in sys.argv:
        folder.mkdir(exist_ok=True)
        for name, text in drawn.items():
            (folder / name).write_text(text, encoding="utf-8")
        sys.exit(0)
    if how == "rendered":
        if shutil.which("rsvg-convert") is None:
            print("SKIPPED: rsvg-convert is not installed (Debian: librsvg2-bin)")
            sys.exit(SKIPPED)
        for name in sorted(drawn):
            if not name.endswith(".svg"):
                continue
            image = made / (name + ".png")
            ended = subprocess.run(["rsvg-convert", str(made / name), "-o", str(image)], capture_output=True, text=True, timeout=60)
            if ended.returncode != 0 or ended.stderr or image.read_bytes()[:8] != b"\x89PNG\r\n\x1a\n":
                faults.append(f"{name} is not rendered: {ended.stderr}")
    else:
        kept = {path.name: path.read_text(encoding="utf-8") for path in folder.iterdir()}
        for name in sorted(set(drawn) | set(kept)):
            if kept.get(name) != drawn.get(name):
                faults.append(f"docs/pictures/{name} is not what the example draws now. Fix: write them anew with --write, and look at them")
        for name, text in drawn.items():
            (tree.fromstring if name.endswith(".svg") else json.loads)(text)
for fault in faults:
    print("FAULT", fault)
print(f"{len(drawn)} pictures, {len(faults)} faults")
sys.exit(1 if faults or not drawn else 0)
