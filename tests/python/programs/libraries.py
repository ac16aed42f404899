"""Libraries of every day: see test_programs.py."""
import decimal
import json
import re
import sqlite3


def do_json():
    text = json.dumps({"a": [1, 2, {"b": None}] * 50}, indent=1)
    return len(json.dumps(json.loads(text)))


def do_re():
    return len(re.findall(r"(\w+)@(\w+)", "joe@x mary@y " * 100))


def do_decimal():
    decimal.getcontext().prec = 50
    return decimal.Decimal(2).sqrt()


def by_length(a, b):
    return (len(a) > len(b)) - (len(a) < len(b))


def do_sqlite():
    base = sqlite3.connect(":memory:")
    base.create_collation("bylength", by_length)
    base.execute("create table t (x)")
    base.executemany("insert into t values (?)", [("x" * (i % 7),) for i in range(50)])
    return base.execute("select x from t order by x collate bylength").fetchall()[-1]


print(do_json(), do_re(), do_decimal(), do_sqlite())
