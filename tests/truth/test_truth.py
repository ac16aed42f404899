"""Every program of tests/truth: the tree written in its heading, the oracle's, and the engines'.

Three witnesses that know nothing of each other: the heading was written by hand, the oracle walks
frame pointers or unwind tables while single-stepping, the engine keeps a shadow stack. test_oracle_* compares the
first two and needs no engine.
"""

import pytest

import cases
from conftest import DETAILS, REFERENCE

CASES = cases.all_cases()


def marks(case):
    return [pytest.mark.slow] if case.is_slow else []


def having(condition):
    chosen = [pytest.param(c, id=c.name, marks=marks(c)) for c in CASES if condition(c)]
    return pytest.mark.parametrize("case", chosen)


def every(lines):
    assert not lines, "\n" + "\n".join(lines)


@having(lambda case: case.has_oracle_tree)
def test_oracle_agrees_with_the_heading(case, oracle):
    result = oracle.of(case)
    assert sum(result.tree.values()) == result.total
    for expectation in case.expectations:
        globs = expectation.skipped_frames()
        if globs is not None:
            every(cases.difference(expectation, cases.skipped(result.tree, globs)))


@having(lambda case: case.oracle != "none")
def test_oracle_leaves_the_program_alone(case, oracle, plain_run):
    plain = plain_run(case)
    stepped = oracle.of(case)
    status = plain.status if plain.status >= 0 else 128 - plain.status
    assert (stepped.stdout, stepped.status) == (plain.stdout, status)


@having(lambda case: True)
def test_output_and_status_pass_through(case, engine, detail, recorder, plain_run):
    plain = plain_run(case)
    recorded = recorder.record(case, engine, detail).run
    status = plain.status if plain.status >= 0 else 128 - plain.status
    assert (recorded.stdout, recorded.status) == (plain.stdout, status), recorded.stderr.decode()


@having(lambda case: "total" in case.values and case.oracle != "none")
def test_oracle_agrees_with_the_total(case, oracle):
    assert oracle.of(case).total == int(case.values["total"])


@having(lambda case: "total" in case.values or "contexts" in case.values)
def test_totals_are_the_headings(case, engine, detail, recorder):
    info = recorder.record(case, engine, detail).info()
    if "total" in case.values:
        assert info["total_instructions"] == int(case.values["total"])
    assert info["contexts"] >= int(case.values.get("contexts", 0))


@having(lambda case: case.is_writable)
def test_sum_is_total(case, engine, detail, recorder):
    recording = recorder.record(case, engine, detail)
    assert sum(recording.tree().values()) == recording.info()["total_instructions"]


@having(lambda case: True)
def test_no_return_is_unmatched(case, engine, detail, recorder):
    assert recorder.record(case, engine, detail).info()["repairs"]["unmatched-return"] == 0


@having(lambda case: case.is_writable and case.is_repeatable)
def test_both_details_give_one_tree(case, engine, recorder):
    trees = [recorder.record(case, engine, detail).tree() for detail in DETAILS]
    every(cases.tree_difference(*trees, *DETAILS))


@having(lambda case: case.build != "dynamic" and case.is_writable and case.is_repeatable)
def test_engines_write_the_same_bytes(case, engine, detail, recorder):
    """Nothing in these depends on the processor, or glibc is told to do without what does."""
    written = [recorder.record(case, name, detail).folded_bytes() for name in (REFERENCE, engine)]
    assert written[0] == written[1]


@having(lambda case: case.oracle != "none")
def test_total_is_the_oracles(case, engine, detail, recorder, oracle):
    recording = recorder.record(case, engine, detail)
    assert recording.info()["total_instructions"] == oracle.of(case).total


@having(lambda case: case.has_oracle_tree)
def test_tree_is_the_oracles(case, engine, detail, recorder, oracle):
    tree = recorder.record(case, engine, detail).tree()
    every(cases.tree_difference(oracle.of(case).tree, tree, "oracle", engine))


def expectations():
    for case in CASES:
        for number, expectation in enumerate(case.expectations):
            name = f"{case.name}-{number}-{expectation.kind}"
            yield pytest.param(case, expectation, id=name, marks=marks(case))


@pytest.mark.parametrize("case,expectation", expectations())
def test_tree_is_the_headings(case, expectation, engine, detail, recorder):
    recording = recorder.record(case, engine, detail, *expectation.record_options)
    every(cases.difference(expectation, recording.tree(*expectation.export_options)))


def skipping():
    return having(skip_options)


def skip_options(case):
    return sorted({tuple(o for o in e.record_options if o.startswith("--skip"))
                   for e in case.expectations} - {()})


@skipping()
def test_skipping_while_recording_is_skipping_afterwards(case, engine, detail, recorder):
    whole = recorder.record(case, engine, detail)
    for options in skip_options(case):
        recorded = recorder.record(case, engine, detail, *options)
        assert recorded.folded_bytes() == whole.folded_bytes(*options), options


@skipping()
def test_skipping_conserves(case, engine, detail, recorder):
    whole = recorder.record(case, engine, detail).info()["total_instructions"]
    for options in skip_options(case):
        recorded = recorder.record(case, engine, detail, *options)
        assert recorded.info()["total_instructions"] == whole, options
        assert sum(recorded.tree().values()) == whole, options


def function_to_skip(tree):
    """One in the middle: with callers above it and calls of its own, if there is such a one."""
    inner = {frame for path in tree for frame in path[1:-1] if frame not in ("main", "[anon]")}
    leaves = {path[-1] for path in tree if len(path) > 1} - {"main", "[anon]"}
    functions = [f for f in sorted(inner) or sorted(leaves) if not f.startswith("(")]
    return functions[0] if functions else "main"


@having(lambda case: case.oracle == "tree" and not case.is_stripped)
def test_skipping_any_function_gives_to_its_callers(case, engine, recorder, oracle):
    tree = oracle.of(case).tree
    function = function_to_skip(tree)
    option = f"--skip-function={function}"
    expected = cases.skipped(tree, [function])
    whole = recorder.record(case, engine, "line")
    recorded = recorder.record(case, engine, "line", option)
    every(cases.tree_difference(expected, recorded.tree(), "oracle", "while recording"))
    every(cases.tree_difference(expected, whole.tree(option), "oracle", "afterwards"))
    assert recorded.folded_bytes() == whole.folded_bytes(option)


BUDGETED = ("calls/direct", "calls/atomic", "calls/recursion", "jumps/tail_self", "scale/repeated",
            "signals/normal_stack", "stacks/by_hand", "unwind/longjmp_one")


@having(lambda case: case.name in BUDGETED)
def test_budget_is_exact(case, engine, detail, recorder, oracle):
    whole = oracle.of(case)
    for budget in (1, 7, whole.total // 2, whole.total - 1, whole.total, whole.total + 1):
        recording = recorder.record(case, engine, detail, f"--budget={budget}")
        tree = recording.tree()
        assert recording.info()["total_instructions"] == min(budget, whole.total)
        assert sum(tree.values()) == min(budget, whole.total)
        assert all(count <= whole.tree.get(path, 0) for path, count in tree.items()), budget
