import weakref, gc
def leaf(*a): pass
class N:
    def __init__(self): self.me = self
    def __del__(self): leaf()
class R:
    def __del__(self): leaf(); 
def cb(ref): leaf()
def main():
    gc.collect(); gc.disable()
    a = R(); w = weakref.ref(a, cb); f = weakref.finalize(a, leaf, 1); del a
    l = [R() for _ in range(5)]; del l
    for _ in range(10): N()
    gc.callbacks.append(lambda p, i: leaf()); gc.collect(); gc.callbacks.pop()
    d = weakref.WeakValueDictionary(); k = R(); d[1] = k; del k
    s = weakref.WeakSet(); k = R(); s.add(k); del k
    gc.enable()

