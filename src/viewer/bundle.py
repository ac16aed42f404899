#!/usr/bin/env python3
"""Makes one page of the modules: bundle.py main.js page.html style.css OUTPUT.c HEAD TAIL

The modules keep to a small part of the language, checked here: imports are of the form
`import { a, b } from './x.js';`, exports stand before a declaration, and no two modules declare
the same name at the top level. So joining them, each after those it imports, without the words
import and export, gives one script that means the same.

The page is split where the recording goes. OUTPUT.c holds the two halves for the program; HEAD and
TAIL are the same as files, for the tests. The same input gives the same bytes.
"""
import base64
import hashlib
import pathlib
import re
import sys

IMPORT = re.compile(r"^import \{([^}]*)\}\s+from '\./([\w.]+)';\n", re.M)
DECLARATION = re.compile(r"^(?:export )?(?:async )?(?:function\*?|class|const|let) ([\w$]+)", re.M)
EXPORTED = re.compile(r"^export (?:async )?(?:function\*?|class|const|let) ([\w$]+)", re.M)


def read_modules(main):
    """Modules by name, each after those it imports."""
    ordered, texts, waiting = [], {}, [(main.name, False)]
    while waiting:
        name, is_done = waiting.pop()
        if is_done:
            ordered.append(name)
            continue
        if name in texts:
            continue
        texts[name] = (main.parent / name).read_text(encoding="utf-8")
        waiting.append((name, True))
        imported = [match.group(2) for match in IMPORT.finditer(texts[name])]
        waiting.extend((other, False) for other in reversed(imported))
    return [(name, texts[name]) for name in ordered]


def check(modules):
    owner, exports = {}, {}
    for name, text in modules:
        exports[name] = set(EXPORTED.findall(text))
        for declared in DECLARATION.findall(text):
            if declared in owner:
                sys.exit(f"bundle.py: {declared} is declared in {owner[declared]} and {name}")
            owner[declared] = name
    for name, text in modules:
        for match in IMPORT.finditer(text):
            for wanted in filter(None, (part.strip() for part in match.group(1).split(","))):
                if wanted not in exports[match.group(2)]:
                    sys.exit(f"bundle.py: {name} imports {wanted}, "
                             f"which {match.group(2)} does not export")
        rest = IMPORT.sub("", text)
        if re.search(r"^import\b|^export (default|\{|\*)|\bimport\(", rest, re.M):
            sys.exit(f"bundle.py: {name} has an import or export that is not understood")


def join(modules):
    parts = []
    for name, text in modules:
        body = IMPORT.sub("", text)
        parts.append(re.sub(r"^export ", "", body, flags=re.M))
    script = "\n".join(parts)
    if re.search(r"</script|<!--", script, re.I):
        sys.exit("bundle.py: the script would end early inside the page")
    return script


def content_hash(text):
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def c_array(name, data):
    rows = (", ".join(map(str, data[i:i + 24])) for i in range(0, len(data), 24))
    return (f"const unsigned char {name}[] = {{\n" + ",\n".join(rows) +
            f",\n}};\nconst size_t {name}_bytes = {len(data)};\n")


def main():
    main_module, page, style, output, head_file, tail_file = map(pathlib.Path, sys.argv[1:])
    modules = read_modules(main_module)
    check(modules)
    script = "\n" + join(modules)
    css = "\n" + style.read_text(encoding="utf-8")
    head, tail = page.read_text(encoding="utf-8").split("@RECORDING@")
    for mark, text in (("@SCRIPT_HASH@", content_hash(script)),
                       ("@STYLE_HASH@", content_hash(css)), ("@STYLE@", css)):
        head = head.replace(mark, text)
    tail = tail.replace("@SCRIPT@", script)
    head_file.write_bytes(head.encode())
    tail_file.write_bytes(tail.encode())
    output.write_text('/* Made by src/viewer/bundle.py. */\n#include "viewer/page.h"\n\n' +
                      c_array("viewer_page_head", head.encode()) + "\n" +
                      c_array("viewer_page_tail", tail.encode()), encoding="utf-8")


main()
