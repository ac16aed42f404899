import contextlib, functools
def leaf(): pass
@contextlib.contextmanager
def cm(x):
    leaf()
    try: yield x
    except ValueError: leaf()
    finally: leaf()
class CM:
    def __enter__(self): leaf(); return self
    def __exit__(self, *a): leaf(); return True
@functools.singledispatch
def sd(x): leaf()
@sd.register(int)
def _(x): leaf()
@sd.register(str)
def _s(x): leaf()
@functools.lru_cache(None)
def cached(n): return cached(n-1) + 1 if n else 0
class T:
    @functools.cached_property
    def p(self): return leaf()
    @functools.partialmethod
    def q(self): pass
    @functools.singledispatchmethod
    def r(self, x): leaf()
def main():
    with cm(1) as x: leaf()
    with cm(2): raise ValueError
    with CM(), CM() as c: raise KeyError
    with contextlib.ExitStack() as st:
        st.enter_context(cm(3)); st.callback(leaf); st.push(CM())
    with contextlib.suppress(TypeError): leaf(1)
    sd(1); sd('a'); sd(2.0); cached(20); cached(10)
    t = T(); t.p; t.p; t.r(1)
    functools.reduce(lambda a, b: a + b, range(10))
    sorted(range(10), key=functools.cmp_to_key(lambda a, b: b - a))

