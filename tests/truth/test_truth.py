"""Every program of tests/truth: the tree written in its heading, the oracle's, and the engines'.

Three witnesses that know nothing of each other: the heading was written by hand, the oracle walks
frame pointers while single-stepping, the engine keeps a shadow stack. test_oracle_* compares the
first two and needs no engine.
"""

import pytest

import cases
from conftest import run

CASES = cases.all_cases()


def having(condition):
    chosen = [case for case in CASES if condition(case)]
    return pytest.mark.parametrize("case", chosen, ids=lambda case: case.name)


def plain_run(case, program):
    return run([program, *case.arguments], cwd=program.parent)


def every(lines):
    assert not lines, "\n" + "\n".join(lines)


@having(lambda case: case.oracle == "tree")
def test_oracle_agrees_with_the_heading(case, oracle):
    result = oracle.of(case)
    assert sum(result.tree.values()) == result.total
    for expectation in case.expectations:
        globs = expectation.skipped_frames()
        if globs is not None:
            every(cases.difference(expectation, cases.skipped(result.tree, globs)))


@having(lambda case: case.oracle != "none")
def test_oracle_leaves_the_program_alone(case, oracle, build_program):
    plain = plain_run(case, build_program(case))
    stepped = oracle.of(case)
    status = plain.status if plain.status >= 0 else 128 - plain.status
    assert (stepped.stdout, stepped.status) == (plain.stdout, status)


@having(lambda case: True)
def test_output_and_status_pass_through(case, engine, detail, recorder, build_program):
    plain = plain_run(case, build_program(case))
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


@having(lambda case: case.oracle != "none")
def test_total_is_the_oracles(case, engine, detail, recorder, oracle):
    recording = recorder.record(case, engine, detail)
    assert recording.info()["total_instructions"] == oracle.of(case).total


@having(lambda case: case.oracle == "tree")
def test_tree_is_the_oracles(case, engine, detail, recorder, oracle):
    tree = recorder.record(case, engine, detail).tree()
    every(cases.tree_difference(oracle.of(case).tree, tree, "oracle", engine))


def expectations():
    for case in CASES:
        for number, expectation in enumerate(case.expectations):
            yield pytest.param(case, expectation, id=f"{case.name}-{number}-{expectation.kind}")


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
