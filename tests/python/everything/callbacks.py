import ctypes, re, sqlite3, bisect, itertools, operator, functools, json, pickle, copy, decimal, fractions, heapq, string
def leaf(x=0): return x
def repl(m): return leaf(m.group(0).upper())
def cmp(a, b):
    leaf(); return a[0] - b[0]
class P:
    def __init__(self, v): self.v = v
    def __reduce__(self): return (make, (self.v,))
    def __lt__(self, o): return leaf(self.v < o.v)
    def __copy__(self): return P(self.v)
    def __deepcopy__(self, memo): return P(self.v)
    def __getstate__(self): return leaf(self.v)
def make(v): return P(v)
class Q:
    def __getstate__(self): return {'a': leaf(1)}
    def __setstate__(self, s): leaf(s)
    def __getnewargs__(self): return ()
class Enc(json.JSONEncoder):
    def default(self, o): return leaf(3)
class Agg:
    def __init__(self): self.t = 0
    def step(self, v): self.t += leaf(v)
    def finalize(self): return leaf(self.t)
def main():
    CB = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(ctypes.c_int), ctypes.POINTER(ctypes.c_int))
    arr = (ctypes.c_int * 8)(5, 3, 1, 4, 8, 7, 6, 2)
    ctypes.CDLL(None).qsort(arr, 8, 4, CB(cmp)); print(list(arr))
    re.sub('[a-c]', repl, 'abcabc')
    db = sqlite3.connect(':memory:'); db.create_function('f', 1, leaf); db.create_aggregate('agg', 1, Agg)
    db.create_collation('c', lambda a, b: leaf((a > b) - (a < b)))
    db.execute('create table t(a)'); db.executemany('insert into t values(?)', ((str(i),) for i in range(9)))
    db.execute('select f(a), a from t order by a collate c').fetchall(); db.execute('select agg(a) from (select 3 a)').fetchall()
    db.set_trace_callback(leaf); db.execute('select 1').fetchall(); db.row_factory = lambda c, r: leaf(r); db.execute('select 2').fetchall()
    l = [P(i * 7 % 5) for i in range(6)]; l.sort(); heapq.heapify(l); bisect.insort(l, P(3)); min(l); sorted(l, reverse=True)
    pickle.loads(pickle.dumps([P(1), Q()])); copy.copy(P(1)); copy.deepcopy([P(2)])
    json.dumps({'a': object()}, cls=Enc); json.loads('{"a": 1.5, "b": [1]}', object_hook=leaf, parse_float=leaf)
    list(map(leaf, range(5))); list(filter(leaf, range(5))); list(itertools.groupby('aabb', key=leaf)); list(itertools.accumulate(range(5), lambda a, b: leaf(a + b)))
    list(itertools.takewhile(leaf, [1, 1, 0])); max(range(5), key=leaf); iter(leaf, 0).__next__
    decimal.Decimal('1.1') + decimal.Decimal(2); fractions.Fraction(1, 3) + 1
    string.Template('$a').substitute(a=leaf(1)); '{0.v}'.format(P(1))
    for x in iter(lambda: leaf(0), 0): pass

