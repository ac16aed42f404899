"""json and recursion."""
import json
import sys


def tree(depth, width):
    return {"depth": depth, "text": "x" * depth,
            "below": [tree(depth - 1, width) for _ in range(width)] if depth else []}


def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)


def total(node):
    return node["depth"] + sum(total(child) for child in node["below"])


result = 0
for turn in range(int(sys.argv[1])):
    text = json.dumps(tree(6, 3), sort_keys=True, indent=1)
    result += total(json.loads(text)) + len(text) + fib(17)
print(result)
