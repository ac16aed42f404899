def leaf(): pass
def g(n):
    try:
        while True:
            try: x = yield leaf()
            except ValueError: leaf(); yield 'caught'
    finally: leaf()
def outer(n):
    try: r = yield from g(n)
    except KeyError: leaf(); yield 'k'
    finally: inner_cleanup()
def inner_cleanup():
    with_gen = [y for y in small()]
    return with_gen
def small():
    yield 1
    yield 2
def infinite():
    try:
        while True: yield
    finally:
        for x in small(): leaf()
def recursive(n):
    if n:
        yield n
        yield from recursive(n - 1)
def raising():
    yield 1
    raise RuntimeError
def tree(n):
    if n:
        for x in tree(n-1): yield x
        yield n
        for x in tree(n-1): yield x
class It:
    def __init__(self): self.i = 0
    def __iter__(self): return self
    def __next__(self):
        self.i += 1
        if self.i > 4: raise StopIteration
        return self.i
def main():
    x = g(1); next(x); x.send(3); x.throw(ValueError); x.close()
    o = outer(1); next(o)
    try: o.throw(KeyError); 
    except StopIteration: pass
    o.close()
    i = infinite(); next(i); del i
    list(recursive(10)); list(tree(4)); list(It()); max(It()); list(zip(It(), small()))
    try:
        for y in raising(): leaf()
    except RuntimeError: leaf()
    any(x > 1 for x in range(5))  # given up
    sum(x for x in It()); dict((k, leaf()) for k in range(3))
    {k: v for k, v in zip(range(3), It())}; {x for x in It()}
    a, *b = small(); print(a, b, *small())

