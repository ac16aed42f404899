"""Adds up the JUnit files of a test run: lists what was skipped and why, what failed, and prints
`N passed, N failed` last. A runner that left no file, or broke before its tests, is a failure."""
import os
import sys
import xml.etree.ElementTree as ElementTree


def cases(path):
    for case in ElementTree.parse(path).iter("testcase"):
        name = f"{case.get('classname', '')}.{case.get('name', '')}"
        skipped = case.find("skipped")
        if case.find("failure") is not None or case.find("error") is not None:
            yield name, "failed", ""
        elif skipped is not None:
            yield name, "skipped", skipped.get("message") or (skipped.text or "").strip()
        else:
            yield name, "passed", ""


def main(folder, pytest_status):
    counts = {"passed": 0, "failed": 0, "skipped": 0}
    reasons = {}
    files = sorted(file for file in os.listdir(folder) if file.endswith(".xml"))
    if "meson.xml" not in files:
        print("no results: meson.xml")
        counts["failed"] += 1
    for file in files:
        for name, result, reason in cases(os.path.join(folder, file)):
            counts[result] += 1
            if result == "failed":
                print(f"FAILED {name}")
            if result == "skipped":
                reasons.setdefault(reason or "no reason given", []).append(name)
    if pytest_status not in (0, 1, 5) and counts["failed"] == 0:
        print(f"pytest ended with status {pytest_status}")
        counts["failed"] += 1
    for reason, names in sorted(reasons.items()):
        print(f"skipped {len(names)}: {reason}")
    print(f"{counts['passed']} passed, {counts['failed']} failed")
    return 1 if counts["failed"] else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], int(sys.argv[2])))
