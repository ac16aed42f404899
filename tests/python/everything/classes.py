import dataclasses, enum, typing, abc, collections
@dataclasses.dataclass(order=True)
class D:
    a: int
    b: list = dataclasses.field(default_factory=list)
    def __post_init__(self): self.c = 1
@dataclasses.dataclass(frozen=True)
class F:
    a: int
class E(enum.Enum):
    A = 1
    B = 2
    @classmethod
    def _missing_(cls, v): return cls.A
class Fl(enum.Flag):
    X = enum.auto(); Y = enum.auto()
class Abs(abc.ABC):
    @abc.abstractmethod
    def f(self): ...
    @property
    def p(self): return 1
class Con(Abs):
    def f(self): return super().p
NT = collections.namedtuple('NT', 'a b')
class DD(collections.defaultdict):
    def __missing__(self, k): return super().__missing__(k)
class UD(collections.UserDict):
    def __getitem__(self, k): return super().__getitem__(k)
def main():
    a, b = D(1), D(1); a == b; a < D(2); repr(a); F(1) == F(1); hash(F(2)); dataclasses.replace(a, a=3); dataclasses.asdict(a)
    E(1); E(99); E['B']; list(E); Fl.X | Fl.Y; Fl.X in (Fl.X | Fl.Y); repr(Fl.X)
    Con().f(); isinstance(Con(), Abs); issubclass(int, Abs); NT(1, 2)._replace(a=4); DD(list)[1]; u = UD(); u[1] = 2; u[1]; u.get(3)
    try: F(1).a = 3
    except dataclasses.FrozenInstanceError: pass
    typing.List[int]; typing.get_type_hints(D)

