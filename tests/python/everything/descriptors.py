class Desc:
    def __set_name__(self, owner, name): self.name = name
    def __get__(self, obj, typ=None): return leaf(1) if obj else self
    def __set__(self, obj, value): leaf(value)
    def __delete__(self, obj): leaf(0)
def leaf(v): return v
class Meta(type):
    @classmethod
    def __prepare__(mcs, name, bases, **kw): return {}
    def __new__(mcs, name, bases, ns, **kw): return super().__new__(mcs, name, bases, ns)
    def __init__(cls, name, bases, ns, **kw): super().__init__(name, bases, ns)
    def __call__(cls, *a): return super().__call__(*a)
    def __instancecheck__(cls, o): return leaf(False)
    def __getattr__(cls, n): return leaf(n)
class A(metaclass=Meta, x=1):
    d = Desc()
    def __init_subclass__(cls, **kw): leaf(2)
    def __class_getitem__(cls, k): return leaf(k)
    def __init__(self): self.d = 3
    def __missing(self): pass
    def __eq__(self, o): return leaf(True)
    def __hash__(self): return leaf(5)
    def __bool__(self): return leaf(True)
    def __len__(self): return leaf(3)
    def __contains__(self, x): return leaf(True)
    def __iter__(self):
        yield from range(3)
    def __format__(self, s): return str(leaf('f'))
    def __index__(self): return leaf(2)
class B(A): pass
def main():
    a = B(); a.d; del a.d; a.d = 4
    A[int]; isinstance(3, A); A.nothing
    {a: 1}[a]; a in {a}; len(a); bool(a); 3 in a; list(a); f"{a:x}"; [1,2,3][a]; [0]*a
    getattr(a, 'zz', None); a == a; not a
    x, y, z = a
    print(*a)

