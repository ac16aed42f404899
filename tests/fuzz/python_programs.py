#!/usr/bin/python3
"""Random Python programs, the same ones for a seed: functions, generators, coroutines, classes with
special methods, and what C code calls them for, mixed as no person would.

    python_programs.py SEED         writes the program to stdout

A program is a set of units that call each other at random. Every unit is given a depth and calls others
with a smaller one, so that all of it ends; what it may cost is known before it is written. A statement
is text with CALL in place of a call that runs once, CALL3 of one that runs three times; names that
end in _N get a number of their own. It prints numbers only, so that two runs can be compared. What
would happen at a time of its own, as collecting garbage, is off or happens in the main thread.
"""
import itertools
import random
import re
import sys

MOST_CALLS = 6000

PRELUDE = '''\
import asyncio, contextlib, contextvars, copy, ctypes, functools, gc, heapq, itertools, json, operator
import os, pickle, re, signal, sys, textwrap, threading, weakref


class Oops(Exception):
    pass


def drive(coroutine):
    """Runs it with no event loop."""
    try:
        for _ in range(100):
            coroutine.send(None)
    except StopIteration as end:
        return end.value
    except RuntimeError:
        return 3
    return 4


def in_loop(make, n):
    if asyncio._get_running_loop():
        return drive(make(n))
    loop = asyncio.new_event_loop()
    try:
        return loop.run_until_complete(make(n))
    finally:
        loop.run_until_complete(loop.shutdown_asyncgens())
        loop.close()


def on_thread(function, results):
    try:
        results.append(function())
    except Oops:
        results.append(5)


def in_threads(*functions):
    results = [[] for _ in functions]
    threads = [threading.Thread(target=on_thread, args=pair) for pair in zip(functions, results)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return sum(map(sum, results))


def in_main_thread():
    return threading.current_thread() is threading.main_thread()


def collect():
    if in_main_thread():
        gc.collect()


def in_child(function):
    if not in_main_thread():
        return function()
    child = os.fork()
    if not child:
        status = 7
        try:
            status = function() % 97
        finally:
            os._exit(status)
    return os.waitpid(child, 0)[1] >> 8


def on_signal(function):
    if not in_main_thread():
        return function()
    old = signal.signal(signal.SIGUSR1, lambda *_: function())
    try:
        signal.raise_signal(signal.SIGUSR1)
        return 1
    finally:
        signal.signal(signal.SIGUSR1, old)


def qsorted(compare):
    def compared():
        try:
            return compare()
        except Exception:
            return 1  # what C gets for an exception is anything
    numbers = (ctypes.c_int * 3)(3, 1, 2)
    kind = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(ctypes.c_int), ctypes.POINTER(ctypes.c_int))
    ctypes.CDLL(None).qsort(numbers, 3, 4, kind(lambda a, b: compared() * 0 + a[0] - b[0]))
    return list(numbers)[0]


def logged(function):
    @functools.wraps(function)
    def wrapper(*arguments, **named):
        return function(*arguments, **named)
    return wrapper


class Held:
    def __init__(self, swallows):
        self.swallows = swallows

    def __enter__(self):
        return self

    def __exit__(self, *what):
        return self.swallows

    async def __aenter__(self):
        return self

    async def __aexit__(self, *what):
        await asyncio.sleep(0)
        return self.swallows


'''

# What any body may have. Blocks are divided by blank lines.
STATEMENTS = r'''r += CALL

r += CALL + CALL

r += CALL if r % 2 else CALL

r += sum(map(lambda x: x + CALL2, range(2)))

r += len(list(filter(lambda x: CALL3 > 5, range(3))))

r += functools.reduce(lambda a, b: a + CALL2, range(3))

r += sorted(range(3), key=lambda x: CALL3 * -x)[0]

r += sorted([3, 1, 2], key=functools.cmp_to_key(lambda a, b: a - b + 0 * CALL3))[0]

r += max((1, 2), key=lambda x: CALL2)

r += sum(CALL3 for x in range(3))

r += any(CALL > -1 for x in range(5))

r += sum(x + CALL2 for x in (CALL for _ in range(2)))

r += len([CALL2 for x in range(2)])

r += len({x: CALL2 for x in range(2)}) + len({CALL2 for x in range(2)})

r += sum([x + CALL4 for x in range(2) for y in [x + CALL2, 1]])

try:
    r += CALL
except Oops:
    r += CALL
finally:
    r += CALL

try:
    try:
        r += CALL
        raise Oops(r)
    finally:
        r += CALL
except Oops as oops:
    r += oops.args[0] % 7

try:
    r += CALL
    raise Oops
except Oops:
    try:
        raise KeyError from None
    except KeyError:
        r += CALL

def returns_N():
    try:
        return CALL
    finally:
        return 2
r += returns_N()

for x in range(2):
    try:
        r += CALL2
        continue
    finally:
        r += 1

for x in range(3):
    try:
        if x:
            break
        r += CALL
    finally:
        r += CALL2

if r % 3 == CALL % 3:
    raise Oops(r)

def goes_down_N(k):
    return k and goes_down_N(k - 1) + 1
r += goes_down_N(n * 30) + CALL

def even_N(k):
    return k == 0 or odd_N(k - 1)
def odd_N(k):
    return k != 0 and even_N(k - 1)
r += even_N(7)

def fails_N(k):
    if k:
        return fails_N(k - 1)
    raise Oops(CALL)
try:
    fails_N(5)
except Oops:
    r += 1

r += functools.partial(lambda a, *b, c=1: a + c + CALL, 1, 2)(3, c=4)

@functools.lru_cache(None)
def cached_N(k):
    return k and cached_N(k - 1) + CALL4 % 2
r += cached_N(3) + cached_N(2)

@functools.singledispatch
def single_N(x):
    return CALL
@single_N.register(int)
def for_int_N(x):
    return CALL
r += single_N(1) + single_N('a')

r += len(re.sub('[ab]', lambda match: str(CALL2), 'abc'))

r += re.compile('a').subn(lambda match: (lambda: str(CALL2))(), 'aca')[1]

r += json.loads('{"a": [{"b": 1}, 2]}', object_hook=lambda x: CALL2)

r += len(json.dumps([1, Held(1)], default=lambda x: CALL))

r += len(json.dumps({'a': {'b': Held(1)}}, default=lambda x: CALL, indent=1))

def gone_N(reference):
    return CALL2
held = Held(1)
references = weakref.ref(held, gone_N), weakref.ref(held, gone_N)
del held

held = Held(1)
weakref.finalize(held, lambda: CALL)
held = None

r += qsorted(lambda: CALL3)

r += list(itertools.accumulate(range(3), lambda a, b: CALL2 + a))[0]

r += len(list(itertools.groupby('aab', key=lambda x: CALL3)))

r += sum(itertools.starmap(lambda a, b: CALL2 + a, [(1, 2), (3, 4)]))

r += len(list(itertools.takewhile(lambda x: x < 1 or not CALL2, range(4))))

heap_N, pushed_N = [], (1, 2)
for x in pushed_N:
    heapq.heappush(heap_N, (x, CALL2))
r += len(heap_N)

names = {'n': n, 'r': 0, **globals()}
text = """
    r += CALL
    def inside(k):
        return k + CALL
    r += inside(1)
"""
exec(compile(textwrap.dedent(text), '<made>', 'exec'), names)
r += names['r']

r += eval("""1 + CALL""", {'n': n, **globals()})

for x in range(3):
    names = {'n': n, **globals()}
    text = """
        def made(a):
            b = a
            return b + CALL3
    """
    exec(compile("\n" * x + textwrap.dedent(text), '<made>', 'exec'), names)
    r += names['made'](x)

for x in range(3):
    text = '\n' * x + f'lambda a: a + {x} + len([_ for _ in range(2)])'
    function = eval(compile(text, '<made>', 'eval'))
    r += function(x) + function(x)

def calls_N(function):
    return sum(function(x) for x in range(2)) + function(CALL3)
for x in range(6):
    names = {}
    text = f'def made_{x % 3}(a):' + '\n' * (x % 4 + 1) + '    return a + 1'
    exec(compile(text, '<made>', 'exec'), names)
    r += calls_N(names.pop(f'made_{x % 3}'))

class Made_N:
    field = CALL
    def method(self):
        return CALL
    @property
    def property(self):
        return CALL
r += Made_N().method() + Made_N().property

class Meta_N(type):
    @classmethod
    def __prepare__(meta, name, bases, **named):
        return {'prepared': CALL}
    def __new__(meta, name, bases, names, **named):
        return super().__new__(meta, name, bases, names)
    def __init__(self, name, bases, names, **named):
        super().__init__(name, bases, names)
    def __call__(self, *arguments):
        return super().__call__(*arguments), CALL
    def __instancecheck__(self, what):
        return CALL > 3
class Base_N(metaclass=Meta_N, x=1):
    def __init_subclass__(self, **named):
        self.extra = CALL
class Derived_N(Base_N):
    pass
r += isinstance(1, Derived_N) + Derived_N()[1]

class Descriptor_N:
    def __set_name__(self, owner, name):
        self.value = CALL
    def __get__(self, instance, owner):
        return CALL
    def __set__(self, instance, value):
        self.value = value + CALL
    def __delete__(self, instance):
        self.value = CALL
class Owner_N:
    field = Descriptor_N()
owner = Owner_N()
owner.field = 3
r += owner.field
del owner.field

class Missing_N(dict):
    def __missing__(self, key):
        return CALL
r += Missing_N()[1] + '{0[a]}'.format(Missing_N()).count('1')

class Ending_N:
    def __del__(self):
        CALL2
ending = Ending_N()
ending = [Ending_N()]
del ending

class Cycle_N:
    def __init__(self):
        self.me = self
    def __del__(self):
        kept.append(self) if CALL % 2 else None
kept = []
Cycle_N()
collect()
r += len(kept)

class Missed_N:
    def __getattribute__(self, name):
        if name == 'here':
            return object.__getattribute__(self, 'value')
        if name == 'value':
            return CALL2
        raise AttributeError(name)
    def __getattr__(self, name):
        return CALL2
    value = 3
r += Missed_N().here + Missed_N().value + Missed_N().other + getattr(Missed_N(), 'any', 1)

class Stored_N:
    def __setattr__(self, name, value):
        super().__setattr__(name, CALL2)
    def __delattr__(self, name):
        super().__delattr__(name)
stored = Stored_N()
stored.a = stored.b = 1
del stored.a

class Times_N:
    def __iter__(self):
        self.left = 3
        return self
    def __next__(self):
        self.left -= 1
        if not self.left:
            raise StopIteration
        return CALL3
r += sum(Times_N())
first, *others = Times_N()
r += len([*Times_N(), *zip(Times_N(), range(9))])

class Indexed_N:
    def __getitem__(self, index):
        if index > 1:
            raise IndexError
        return CALL3
r += sum(Indexed_N()) + len(list(reversed([*Indexed_N()])))

r += sum(1 for _ in iter(lambda: CALL2 * 0, 1) if r > 9 or _ is None) if r < 0 else 1

with Held(True):
    r += CALL
    raise Oops

with Held(False) as held, Held(True):
    r += CALL
    raise KeyError

with contextlib.suppress(Oops):
    r += CALL

with contextlib.ExitStack() as stack:
    stack.callback(lambda: CALL)
    stack.enter_context(Held(True))
    r += CALL
    stack.push(lambda *what: CALL > 3)

@contextlib.contextmanager
def managed_N(x):
    try:
        yield CALL
    except KeyError:
        r = CALL
    finally:
        x += CALL
with managed_N(1) as held:
    r += held
with managed_N(2):
    raise KeyError

@contextlib.contextmanager
def decorating_N():
    yield CALL
@decorating_N()
def decorated_N():
    return CALL
r += decorated_N()

variable_N = contextvars.ContextVar('variable_N', default=1)
def in_context_N():
    variable_N.set(CALL)
    return variable_N.get()
r += contextvars.copy_context().run(in_context_N) + variable_N.get()

@logged
@logged
def twice_N(a, b=2, *c, d=4, **e):
    return a + b + CALL
r += twice_N(1) + (lambda k: k and twice_N(1, *range(2), **{'d': 1, 'z': 2}))(0)

def many_N(a, b=2, /, c=3, *rest, d, e=5, **named):
    return a + len(rest) + len(named) + CALL2
r += many_N(1, d=2) + many_N(1, 2, 3, 4, 5, d=1, f=3, **{'g': 1})

try:
    (lambda a: a)()
except TypeError:
    r += CALL

def counting_N(k):
    try:
        while k:
            k -= 1
            got = yield k
            if got:
                r = CALL3
    except KeyError:
        yield CALL
    finally:
        k = CALL
counting = counting_N(3)
next(counting)
r += counting.send(1)
r += counting.throw(KeyError())
counting.close()

def endless_N():
    try:
        while True:
            yield CALL3
    except GeneratorExit:
        r = CALL
        raise
endless = endless_N()
r += next(endless) + next(endless)
del endless

def outer_N():
    try:
        return (yield from inner_N()) + CALL
    except KeyError:
        yield CALL
    finally:
        r = CALL
def inner_N():
    try:
        yield 1
        yield CALL
    except Oops:
        yield CALL
    finally:
        r = [_ for _ in (1, 2)]
    return 2
outer = outer_N()
next(outer)
try:
    outer.throw(Oops())
    r += next(outer)
except (Oops, StopIteration):
    r += 1
outer = outer_N()
next(outer)
outer.throw(KeyError())
outer.close()
outer = outer_N()
r += sum(outer)

def tree_N(k):
    if k:
        yield from tree_N(k - 1)
        yield k
        for x in tree_N(k - 1):
            yield x
r += sum(tree_N(3)) + len(list(itertools.islice(tree_N(4), 3)))

def zipped_N(k):
    for x in range(k):
        yield x
    return CALL4
r += len(list(zip(zipped_N(1), zipped_N(2)))) + len(tuple(zipped_N(1))) + len([*zipped_N(0)])

def given_N():
    yield 1
    r = CALL
unstarted = given_N()
unstarted.close()
unstarted = given_N()
del unstarted
try:
    given_N().throw(KeyError)
except KeyError:
    r += 1

async def waits_N():
    await asyncio.sleep(0)
    return CALL
r += drive(waits_N())

async def gives_up_N():
    try:
        await asyncio.sleep(0)
    finally:
        r = CALL
coroutine = gives_up_N()
coroutine.send(None)
coroutine.close()

async def each_N():
    for x in range(2):
        yield x + CALL2
        await asyncio.sleep(0)
async def collects_N():
    got = [x async for x in each_N()]
    async for x in each_N():
        break
    return len(got)
r += drive(collects_N())

class Awaited_N:
    def __await__(self):
        got = yield
        return CALL
async def awaits_N():
    async with Held(True):
        raise Oops(await Awaited_N())
    return 3
r += drive(awaits_N())

class Copied_N:
    def __copy__(self):
        return CALL
    def __deepcopy__(self, memory):
        return CALL
r += copy.copy(Copied_N()) + copy.deepcopy([Copied_N()])[0]

class Reduced_N:
    def __reduce__(self):
        return int, (CALL2 % 100,)
r += copy.copy(Reduced_N()) + pickle.loads(pickle.dumps(Reduced_N()))

class Partial_N:
    @functools.cached_property
    def value(self):
        return CALL
    @functools.singledispatchmethod
    def method(self, x):
        return CALL
    bound = functools.partialmethod(method, 3)
partial = Partial_N()
r += partial.value + partial.value + partial.method(3)

class Slots_N:
    __slots__ = 'a',
    def __new__(self, *arguments):
        made = super().__new__(self)
        made.a = CALL
        return made
    def __init__(self, *arguments):
        self.a += CALL
    @classmethod
    def make(self):
        return self(1)
    @staticmethod
    def other(k):
        return k + CALL
r += Slots_N.make().a + Slots_N(1).other(2)

class Ordered_N:
    def __init__(self, k):
        self.k = k
    def __lt__(self, other):
        return self.k < other.k + 0 * CALL4
    def __eq__(self, other):
        return self.k == other.k
    def __hash__(self):
        return self.k + 0 * CALL4
r += min(Ordered_N(1), Ordered_N(2)).k + len({Ordered_N(1): 1, Ordered_N(1): 2})
r += sorted([Ordered_N(2), Ordered_N(1)])[0].k

big_N = 1 << 70
r += sum(big_N >> 69 for _ in range(2)) + CALL

r += in_threads(lambda: CALL, lambda: CALL)

r += in_child(lambda: CALL)

r += on_signal(lambda: CALL)

for x in range(2):
    r += in_threads(lambda: CALL2)

r += sum(map(operator.methodcaller('__add__', 1), (CALL2 for _ in range(2))))

r += len(f"{r!r:>{3}}") + len("%s" % CALL)

r += min([min([CALL4, 1], key=lambda x: CALL4) for _ in range(2)], key=lambda x: (lambda: CALL2)())

def restarted_N(k):
    try:
        yield from restarted_N(k - 1) if k else iter([CALL])
    except Oops:
        yield 3
        raise
restarted = restarted_N(3)
r += next(restarted)
r += restarted.throw(Oops())
try:
    next(restarted)
except Oops:
    r += 1

def nested_N(k):
    def inner(j):
        nonlocal r
        r += j
        return nested_N(k - 1) if k else CALL
    return inner(k)
r += nested_N(3)
'''

FROM_3_10 = '''\
class Point_N:
    __match_args__ = 'x', 'y'
    def __init__(self):
        self.x = 1
    @property
    def y(self):
        return CALL
match Point_N():
    case Point_N(1, -1):
        r += 1
    case Point_N(x, y) if CALL > -1:
        r += x + y

match [CALL, {'a': 1}]:
    case [x, {'a': 2}]:
        r += x
    case [x, {'a': a, **rest}]:
        r += a

async def iterates_N():
    async def numbers():
        for x in range(2):
            yield CALL2
    iterator = aiter(numbers())
    return await anext(iterator) + await anext(iterator, 3)
r += drive(iterates_N())
'''

FROM_3_11 = '''\
try:
    raise ExceptionGroup('g', [Oops(1), KeyError(CALL)])
except* Oops as group:
    r += CALL
except* KeyError:
    r += CALL
'''

FROM_3_12 = '''\
def generic_N[T: int](x: T) -> T:
    return x + CALL
type Alias_N = generic_N(1)
r += generic_N(2) + Alias_N.__value__

class Generic_N[T]:
    def method(self):
        return [(lambda: x + CALL2)() for x in range(2)][0]
r += Generic_N().method()
'''

# What a generator does besides.
YIELDS = '''\
yield r

got = yield CALL
r += got or 0

for x in range(2):
    yield x + CALL2

try:
    yield r
except Oops:
    r += CALL
finally:
    r += CALL

r += len([(yield_ := x) for x in range(2)])
yield yield_

yield from range(2)

r += (yield from GENERATOR) or 0

for x in GENERATOR:
    yield x
    if x > 5:
        break
'''

# What a coroutine does besides. Without an event loop what waits for one is driven on with an error.
AWAITS = '''\
await asyncio.sleep(0)

r += await COROUTINE

r += await COROUTINE if r % 2 else CALL

r += sum(await asyncio.gather(COROUTINE, COROUTINE))

task = asyncio.ensure_future(COROUTINE)
await asyncio.sleep(0)
task.cancel()
try:
    r += await task
except asyncio.CancelledError:
    r += CALL

async with Held(True):
    r += await COROUTINE
    raise Oops

r += await asyncio.wait_for(COROUTINE, 1000)

try:
    await asyncio.wait_for(asyncio.sleep(1000), 0.001)
except asyncio.TimeoutError:
    r += CALL

async def each_N():
    try:
        for x in range(3):
            await asyncio.sleep(0)
            yield x + await COROUTINE3
    finally:
        r = CALL2
async for x in each_N():
    r += x
    if x > 5:
        break

async def asked_N():
    try:
        got = yield CALL
        yield got
    except Oops:
        yield CALL
asked = asked_N()
await asked.asend(None)
r += await asked.athrow(Oops())
await asked.aclose()

r += len([await COROUTINE2 for _ in range(2)])

r += sum([x async for x in (y for y in [])] if r < 0 else [await COROUTINE])

queue = asyncio.Queue(1)
async def puts_N():
    for x in range(2):
        await queue.put(x)
async def gets_N():
    return await queue.get() + await queue.get() + CALL
r += (await asyncio.gather(puts_N(), gets_N()))[1]

event = asyncio.Event()
asyncio.get_running_loop().call_soon(lambda: (CALL, event.set()))
await event.wait()

@contextlib.asynccontextmanager
async def managed_N():
    try:
        yield await COROUTINE
    finally:
        await asyncio.sleep(0)
async with managed_N() as x:
    r += x

results = await asyncio.gather(COROUTINE, COROUTINE, return_exceptions=True)
r += sum(x if isinstance(x, int) else 1 for x in results)
'''

# What classes have: what is given besides self, what is returned for r, how it is asked for.
METHODS = {
    "__call__": ("*rest", "r", ["OBJECT(1)", "OBJECT(*(1, 2))"]),
    "__len__": ("", "r % 50", ["len(OBJECT)"]),
    "__bool__": ("", "r % 2 == 0", ["(not OBJECT)", "(1 if OBJECT else 2)", "(OBJECT and 1 or 2)"]),
    "__index__": ("", "r % 3", ["[1, 2, 3][OBJECT]", "len([0] * OBJECT)", "len(hex(OBJECT))"]),
    "__int__": ("", "r", ["int(OBJECT)"]),
    "__str__": ("", "str(r)", ["len(str(OBJECT))", "len('%s' % OBJECT)", "len(f'{OBJECT}')"]),
    "__repr__": ("", "str(r)", ["len(repr(OBJECT))", "len(f'{OBJECT!r}')", "len(str([OBJECT]))"]),
    "__format__": ("spec", "str(r)", ["len(f'{OBJECT:x}')", "len('{:z}'.format(OBJECT))"]),
    "__contains__": ("what", "r % 2", ["(1 in OBJECT)"]),
    "__add__": ("other", "r", ["(OBJECT + 1)", "sum([1], OBJECT)"]),
    "__radd__": ("other", "r", ["(1 + OBJECT)", "sum([OBJECT])"]),
    "__iadd__": ("other", "r", ["operator.iadd(OBJECT, 3)"]),
    "__sub__": ("other", "r", ["(OBJECT - 1)"]),
    "__mul__": ("other", "r", ["(OBJECT * 2)"]),
    "__matmul__": ("other", "r", ["(OBJECT @ 1)"]),
    "__pow__": ("other, modulus=1", "r", ["pow(OBJECT, 2)", "(OBJECT ** 2)"]),
    "__neg__": ("", "r", ["(-OBJECT)"]),
    "__abs__": ("", "r", ["abs(OBJECT)"]),
    "__round__": ("digits=0", "r", ["round(OBJECT)", "round(OBJECT, 1)"]),
    "__divmod__": ("other", "r", ["divmod(OBJECT, 3)"]),
    "__lt__": ("other", "r % 2 == 0", ["(OBJECT < 1)", "(1 > OBJECT)", "(min([1, OBJECT]) == 1)"]),
    "__eq__": ("other", "r % 2 == 0", ["(OBJECT == 1)", "[2, 3].count(OBJECT)", "(OBJECT != 1)"]),
    "__getitem__": ("index", "r", ["OBJECT[0]", "OBJECT[1:2]", "operator.itemgetter(1)(OBJECT)"]),
    "__getattr__": ("name", "r", ["OBJECT.missing", "getattr(OBJECT, 'missing', 1)"]),
    "__enter__": ("", "r", ["contextlib.ExitStack().enter_context(OBJECT)"]),
    "__iter__": ("", "iter(range(r % 5))", ["len(list(OBJECT))", "sum(OBJECT)", "max(1, *OBJECT)"]),
    "__reversed__": ("", "iter(range(r % 5))", ["len(list(reversed(OBJECT)))"]),
    "__sizeof__": ("", "r % 100", ["(sys.getsizeof(OBJECT) > 0)"]),
    "__dir__": ("", "['a']", ["len(dir(OBJECT))"]),
    "__fspath__": ("", "str(r)", ["len(os.fspath(OBJECT))"]),
    "__complex__": ("", "complex(r)", ["int(complex(OBJECT).real)"]),
    "__getstate__": ("", "{'n': 0}", ["copy.copy(OBJECT).n"]),
    "plain": ("a=1, *b", "r", ["OBJECT.plain()", "OBJECT.plain(1, 2)", "OBJECT.plain(*[1, 2, 3])",
                               "(lambda f: f())(OBJECT.plain)"]),
    "other": ("*, key=3", "r", ["OBJECT.other()", "OBJECT.other(**{'key': 5})"]),
    "property": ("", "r", ["OBJECT.property"]),
}
NOT_IN_SPECIAL_LOOKUPS = """\
if name.startswith('__'):
    raise AttributeError(name)
"""

FORMS = {
    "function": """\
NAME(^) | NAME(*[^]) | NAME(n=^) | NAME(**{'n': ^}) | functools.partial(NAME, ^)() |
(lambda: NAME(^))() | list(map(NAME, [^]))[0] | (NAME)(*(), n=^)""",
    "closure": "NAME(^)(1) | NAME(^)(k=2)",
    "generator": """\
sum(NAME(^)) | len(list(NAME(^))) | next(NAME(^), 1) | len(tuple(NAME(^))) | len([*NAME(^)]) |
max(NAME(^), default=1) | len(list(zip(NAME(^), range(2)))) | sum(x for x in NAME(^)) |
len({x for x in NAME(^)}) | any(x > 2 for x in NAME(^)) | len(sorted(NAME(^))) | (-1 in NAME(^)) |
len(list(itertools.islice(NAME(^), 2))) | len(dict.fromkeys(NAME(^))) |
len(''.join(map(str, NAME(^))))""",
    "coroutine": "drive(NAME(^)) | in_loop(NAME, ^)",
}
KINDS = {"GENERATOR": ["generator"], "COROUTINE": ["coroutine"], "CALL": None}
# What a statement costs besides the calls in it.
DEAR = {"in_threads": 100, "in_child": 300, "in_loop": 100, "collect": 50, "wait_for": 50}
MOST_DEPTH = 9
TOP_STATEMENTS = 16


def blocks(text):
    return [block.rstrip("\n").split("\n") for block in text.split("\n\n")]


def indented(lines, depth=1):
    return ["    " * depth + line for line in lines]


class Unit:
    """Something that is called with a depth. `uses`: what its body calls, as (unit, drop, times)."""

    def __init__(self, name, kind, forms):
        self.name, self.kind, self.forms = name, kind, forms
        self.uses, self.own = [], 5

    def cost(self, depth, known):
        if depth < 1:
            return 5
        key = self.name, depth
        if key not in known:
            known[key] = self.own + sum(times * unit.cost(depth - drop, known)
                                        for unit, drop, times in self.uses)
        return known[key]


class Program:
    """What runs with Python 3.`minor`. Without threads, if those may take turns as they like."""

    def __init__(self, seed, minor, threads=True):
        self.random = random.Random(seed)
        self.numbers = itertools.count()
        self.plain = blocks(STATEMENTS)
        for text, since in ((FROM_3_10, 10), (FROM_3_11, 11), (FROM_3_12, 12)):
            if minor >= since:
                self.plain += blocks(text)
        if not threads:
            self.plain = [block for block in self.plain if "in_threads" not in "\n".join(block)]
        self.special = {"generator": blocks(YIELDS), "coroutine": blocks(AWAITS)}
        self.units = self.make_units()

    # ---- units ----

    def make_units(self):
        units = [Unit(f"{kind}_{i}", kind, [form.strip() for form in FORMS[kind].split("|")])
                 for kind, most in (("function", 10), ("generator", 8), ("coroutine", 8),
                                    ("closure", 5))
                 for i in range(self.random.randrange(1, most))]
        for i in range(self.random.randrange(1, 5)):
            for name in self.random.sample(sorted(METHODS), self.random.randrange(3, 10)):
                forms = [form.replace("OBJECT", f"Class_{i}(^)") for form in METHODS[name][2]]
                units.append(Unit(f"Class_{i}.{name}", "method", forms))
        for unit in units:
            unit.forms = [form.replace("NAME", unit.name) for form in unit.forms]
        return units

    # ---- bodies ----

    def call(self, unit, word, times):
        """A call of another unit; what it may cost is noted."""
        kinds = KINDS[word]
        used = self.random.choice([one for one in self.units if not kinds or one.kind in kinds])
        drop = self.random.randrange(1, 3) + (times > 2)
        form = f"{used.name}(^)" if kinds else self.random.choice(used.forms)
        unit.uses.append((used, drop, times))
        unit.own += sum(cost for word, cost in DEAR.items() if word in form)
        return form.replace("^", f"n - {drop}")

    def statement(self, unit, block):
        number = str(next(self.numbers))
        text = "\n".join(block)
        unit.own += 10 + sum(cost for word, cost in DEAR.items() if word in text)
        text = re.sub(r"(?<=_)N\b", number, text)
        text = re.sub(r"\b(CALL|GENERATOR|COROUTINE)(\d?)\b",
                      lambda match: self.call(unit, match[1], int(match[2] or 1)), text)
        return text.split("\n")

    def body(self, unit, most=3):
        lines = []
        special = self.special.get(unit.kind, [])
        for _ in range(self.random.randrange(1, most + 1)):
            if special and self.random.random() < 0.6:
                lines += self.statement(unit, self.random.choice(special))
            lines += self.statement(unit, self.random.choice(self.plain))
        return lines

    def function(self, unit):
        head = self.random.choice(["n", "n, a=1", "n, *, a=1", "n, **rest", "n=1, *rest, a=2"])
        return [f"def {unit.name}({head}):", "    r = 1", "    if n < 1:", "        return 1",
                *indented(self.body(unit)), "    return r % 97"]

    def closure(self, unit):
        return [f"def {unit.name}(n):", "    def inside(k):", "        nonlocal n",
                "        n, r = n - 1, k", "        if n < 1:", "            return 1",
                *indented(self.body(unit), 2), "        return r % 97", "    return inside"]

    def generator(self, unit):
        return [f"def {unit.name}(n):", "    r = 1", "    if n < 1:", "        return 1",
                *indented(self.body(unit)), "    yield r % 97", "    return 3"]

    def coroutine(self, unit):
        return [f"async def {unit.name}(n):", "    r = 1", "    if n < 1:", "        return 1",
                *indented(self.body(unit)), "    return r % 97"]

    def method(self, unit):
        name = unit.name.split(".")[1]
        given, result, _ = METHODS[name]
        lines = ["@property"] if name == "property" else []
        lines += [f"def {name}(self{given and ', ' + given}):"]
        if name == "__getattr__":
            lines += indented(blocks(NOT_IN_SPECIAL_LOOKUPS)[0])
        lines += ["    n, r = self.n, 1", "    if n < 1:", f"        return {result}",
                  *indented(self.body(unit)), f"    return {result}"]
        return indented(lines)

    def definition(self, unit, first):
        lines = getattr(self, unit.kind)(unit)
        if unit.kind == "method" and first:
            name = unit.name.split(".")[0]
            lines = [f"class {name}:", "    def __init__(self, n):", "        self.n = n", "",
                     "    def __exit__(self, *what):", "        self.n -= 1", "", *lines]
        return ["", *lines] if unit.kind == "method" and not first else ["", "", *lines]

    def main(self):
        """The deepest calls that cost what a program may."""
        known, lines = {}, ["gc.disable()", "gc.collect()", "total = 0"]
        for _ in range(TOP_STATEMENTS):
            top = Unit("main", "function", [])
            statement = self.statement(top, self.random.choice(self.plain))
            depth = max((depth for depth in range(1, MOST_DEPTH)
                         if top.cost(depth, {**known}) < MOST_CALLS), default=1)
            lines += [f"n, r = {depth}, 1", "try:", *indented(statement),
                      "    total += r", "except Exception as error:",
                      "    print(type(error).__name__, str(error)[:40].partition(' at 0x')[0])",
                      "print(r, total)"]
        return ["", "", "def main():", *indented(lines), "    return total", "", "",
                'if __name__ == "__main__":', "    sys.exit(main() % 7)"]

    def text(self):
        lines, classes = [], set()
        for unit in self.units:
            owner = unit.name.partition(".")[0]
            lines += self.definition(unit, owner not in classes)
            classes.add(owner)
        return PRELUDE.rstrip("\n") + "\n" + "\n".join(lines + self.main()) + "\n"


def main():
    print(Program(int(sys.argv[1]), sys.version_info.minor).text(), end="")


if __name__ == "__main__":
    main()
