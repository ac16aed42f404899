"""The library at work: json, re, decimal and sqlite3, called from a little Python."""
import decimal
import json
import re
import sqlite3
import sys

WORD = re.compile(r"(\w+)-(\d+)(?:\.(\d+))?")


def orders(count):
    return [{"id": i, "name": f"part-{i * 7919 % 1009}.{i % 13}", "price": f"{i * 31 % 997}.{i % 100:02}",
             "tags": [f"tag-{k}" for k in range(i % 5)]} for i in range(count)]


def priced(rows):
    total = decimal.Decimal(0)
    for row in rows:
        total += decimal.Decimal(row["price"]) * (1 + len(row["tags"]))
    return total.quantize(decimal.Decimal("0.01"))


def named(text):
    return sum(int(match[2]) + len(match[1]) for match in WORD.finditer(text))


def stored(rows):
    base = sqlite3.connect(":memory:")
    base.execute("create table orders (id integer primary key, name text, price real)")
    base.executemany("insert into orders values (?, ?, ?)",
                     ((row["id"], row["name"], float(row["price"])) for row in rows))
    found = base.execute("select name, sum(price) from orders group by name order by 2 desc")
    return sum(len(name) + price for name, price in found)


result = 0
for turn in range(int(sys.argv[1])):
    text = json.dumps(orders(2000 + turn))
    rows = json.loads(text)
    result += named(text) + int(priced(rows)) + int(stored(rows))
print(result)
