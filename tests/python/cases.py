"""Programs with the tree that each must give, in its docstring: a Python function a line, with how
often it was called, below its caller. `<3.12` after a line: only before that version.

Frames of other files (asyncio, threading, functools) are left out, and what they call belongs to
the nearest frame of this file. Run as `python cases.py`, all cases one after the other.
"""
import asyncio
import functools
import re


def leaf(value=0):
    return value


# ---- recursion ----

def down(n):
    if n:
        down(n - 1)


def case_recursion():
    """
    down 1
      down 1
        down 1
          down 1
    """
    down(3)


def even(n):
    return n == 0 or odd(n - 1)


def odd(n):
    return n != 0 and even(n - 1)


def case_mutual_recursion():
    """
    even 2
      odd 2
        even 2
          odd 1
            even 1
    """
    even(2)
    even(4)


# ---- generators ----

def counting(n):
    for i in range(n):
        yield leaf(i)


def case_generator():
    """
    counting 4
      leaf 3
    """
    for _ in counting(3):
        pass


def delegating(n):
    yield from counting(n)
    return leaf()


def case_yield_from():
    """
    delegating 3
      counting 3
        leaf 2
      leaf 1
    """
    list(delegating(2))


def catching():
    while True:
        try:
            yield
        except KeyError:
            leaf()
        except GeneratorExit:
            leaf()
            return


def case_throw_and_close():
    """
    catching 4
      leaf 3
    """
    generator = catching()
    next(generator)
    generator.throw(KeyError())
    generator.throw(KeyError())
    generator.close()


def outer_of_throw():
    yield from catching()


def after_throw():
    leaf()


# close() of the outer one closes the inner one itself, before the outer one runs again.
def case_throw_through_yield_from():
    """
    outer_of_throw 2
      catching 2
        leaf 1
    after_throw 1
      leaf 1
    catching 1
      leaf 1
    """
    generator = outer_of_throw()
    next(generator)
    generator.throw(KeyError())
    after_throw()
    generator.close()


def case_generator_expression():
    """
    <genexpr> 4
      leaf 3
    """
    sum(leaf(i) for i in range(3))


def recursive_generator(n):
    yield n
    if n:
        yield from recursive_generator(n - 1)


def case_recursive_generator():
    """
    recursive_generator 4
      recursive_generator 3
        recursive_generator 2
    """
    list(recursive_generator(2))


# ---- coroutines ----

async def step(n):
    leaf()
    await asyncio.sleep(0)
    leaf()


async def both():
    await asyncio.gather(step(1), step(2))


def case_async_gather():
    """
    both 2
    step 4
      leaf 4
    """
    asyncio.run(both())


async def numbers():
    for i in range(2):
        yield leaf(i)


async def consume():
    async for _ in numbers():
        leaf()


def case_async_generator():
    """
    consume 1
      numbers 3
        leaf 2
      leaf 2
    """
    asyncio.run(consume())


# ---- what calls without looking like it ----

class Thing:
    def __init__(self, value):
        self.value = value

    @property
    def size(self):
        return leaf(self.value)

    def __call__(self):
        return leaf()

    def __getattr__(self, name):
        return leaf(name)

    def __lt__(self, other):
        return self.value < leaf(other.value)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        leaf()

    def __getitem__(self, index):
        if index > 1:
            raise IndexError
        return index

    def __del__(self):
        leaf()


class Descriptor:
    def __get__(self, instance, owner):
        return leaf()

    def __set__(self, instance, value):
        leaf()


class Holder:
    field = Descriptor()


def case_property():
    """
    __init__ 1
    size 1
      leaf 1
    __del__ 1
      leaf 1
    """
    Thing(1).size


def case_call_and_getattr():
    """
    __init__ 1
    __call__ 2
      leaf 2
    __getattr__ 1
      leaf 1
    __del__ 1
      leaf 1
    """
    thing = Thing(1)
    thing()
    thing()
    thing.missing
    del thing


def case_descriptor():
    """
    __get__ 1
      leaf 1
    __set__ 1
      leaf 1
    """
    holder = Holder()
    holder.field
    holder.field = 1


def case_less_than_from_sort():
    """
    __init__ 2
    __lt__ 1
      leaf 1
    __del__ 2
      leaf 2
    """
    things = [Thing(2), Thing(1)]
    things.sort()
    del things


def case_context_manager_and_getitem():
    """
    __init__ 1
    __enter__ 1
    __getitem__ 3
    __exit__ 1
      leaf 1
    __del__ 1
      leaf 1
    """
    with Thing(1) as thing:
        for _ in thing:
            pass
    del thing


# ---- C that calls back ----

def key(value):
    return -leaf(value)


def case_sort_key():
    """
    key 3
      leaf 3
    """
    sorted([1, 2, 3], key=key)


def inner_sort(values):
    return sorted(values, key=key)


def case_sort_in_a_sort():
    """
    inner_sort 2
      key 4
        leaf 4
    """
    sorted([[1, 2], [3, 4]], key=inner_sort)


def replacement(match):
    return leaf("x")


def case_callback_from_re():
    """
    replacement 2
      leaf 2
    """
    re.compile("a").sub(replacement, "aba")


def case_map_and_reduce():
    """
    leaf 2
    <lambda> 1
    """
    functools.reduce(lambda a, b: a + b, map(leaf, [1, 2]))


# ---- code that is not a def ----

def case_class_body():
    """
    Made 1
      leaf 1
    """
    class Made:
        field = leaf()


def case_comprehensions():
    """
    leaf 2 >=3.12
    <listcomp> 1 <3.12
      leaf 1 <3.12
    <dictcomp> 1 <3.12
      leaf 1 <3.12
    """
    [leaf(i) for i in (1,)]
    {i: leaf(i) for i in (1,)}


def logged(function):
    @functools.wraps(function)
    def wrapper(*arguments, **named):
        leaf()
        return function(*arguments, **named)
    return wrapper


def case_decorator():
    """
    logged 1
    wrapper 2
      leaf 2
      decorated 2
    """
    @logged
    def decorated(value):
        return value
    decorated(1)
    decorated(value=2)


def case_lambda_and_closure():
    """
    <lambda> 3
    """
    total = 0
    add = lambda n: total + n  # noqa: E731
    for i in range(3):
        add(i)


def case_arguments_of_all_kinds():
    """
    many 3
      leaf 3
    """
    def many(a, *rest, b=2, **named):
        leaf()
    many(1)
    many(*(1, 2, 3), **{"b": 4, "c": 5})
    many(1, b=3)


# ---- exceptions ----

def fail(n):
    if n:
        fail(n - 1)
    leaf()
    raise ValueError


def case_exception_unwinds_many():
    """
    fail 1
      fail 1
        fail 1
          leaf 1
    leaf 1
    """
    try:
        fail(2)
    except ValueError:
        leaf()


def failing_key(value):
    leaf()
    fail(0)


def case_exception_across_c():
    """
    failing_key 1
      leaf 1
      fail 1
        leaf 1
    leaf 1
    """
    try:
        sorted([1, 2], key=failing_key)
    except ValueError:
        leaf()


def case_wrong_arguments():
    """
    leaf 1
    """
    try:
        down()
    except TypeError:
        leaf()


def with_finally():
    try:
        fail(0)
    finally:
        leaf()


def case_finally():
    """
    with_finally 1
      fail 1
        leaf 1
      leaf 1
    """
    try:
        with_finally()
    except ValueError:
        pass


# ---- names ----

def case_names_beyond_ascii():
    """
    größe 1
    数 1
    """
    def größe():
        pass

    def 数():
        pass
    größe()
    数()


def case_code_from_a_string():
    """
    leaf 1
    """
    exec("leaf()", {"leaf": leaf})


def main():
    for name, case in list(globals().items()):
        if name.startswith("case_"):
            case()


if __name__ == "__main__":
    main()
