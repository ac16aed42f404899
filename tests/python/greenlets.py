"""Greenlets, which take turns on one C stack, with the tree that each case must give: see cases.py.

A greenlet runs on top of whoever switched to it first, and stays below it in the tree, wherever it
is switched to from later on.
"""
import gc
import threading

from greenlet import GreenletExit, getcurrent, greenlet


def leaf(value=0):
    return value


# ---- ping-pong ----

def ping(other):
    for _ in range(3):
        leaf()
        other.switch(getcurrent())


def pong(other):
    while True:
        leaf()
        leaf()
        other.switch()


def case_ping_pong():
    """
    ping 1
      leaf 3
      pong 1
        leaf 6
    leaf 1
    """
    greenlet(ping).switch(greenlet(pong))
    leaf()


# ---- at different depths ----

def down(n, then):
    return down(n - 1, then) if n else then()


def meet():
    leaf()
    getcurrent().parent.switch()
    leaf()


def shallow():
    down(0, meet)


def deeper():
    down(3, meet)


def case_different_depths():
    """
    shallow 1
      down 1
        meet 1
          leaf 2
    deeper 1
      down 1
        down 1
          down 1
            down 1
              meet 1
                leaf 2
    leaf 1
    """
    greenlets = [greenlet(shallow), greenlet(deeper)]
    for one in greenlets + greenlets[::-1]:
        one.switch()
    leaf()


def first_way(one):
    one.switch()


def second_way(one):
    one.switch()


def case_goes_on_from_elsewhere():
    """
    first_way 1
      shallow 1
        down 1
          meet 1
            leaf 2
    second_way 1
    """
    one = greenlet(shallow)
    first_way(one)
    second_way(one)


# ---- many that look alike ----

def alike(n):
    for i in range(n):
        by_number[n % 3](i)
        getcurrent().parent.switch()


def zero(i):
    leaf(i)


def one(i):
    leaf(i)


def two(i):
    leaf(i)


by_number = [zero, one, two]


def case_many_alike():
    """
    alike 60
      zero 570
        leaf 570
      one 590
        leaf 590
      two 610
        leaf 610
    """
    greenlets = list(map(greenlet, 60 * [alike]))
    for n, one in enumerate(greenlets):
        one.switch(n)
    while greenlets:
        for one in greenlets[:]:
            if one.dead:
                greenlets.remove(one)
            else:
                one.switch()


def alive(n):
    down(n, meet)


def case_thousands_at_once():
    """
    alive 3000
      down 3000
        meet 1000
          leaf 2000
        down 2000
          meet 1000
            leaf 2000
          down 1000
            meet 1000
              leaf 2000
    """
    greenlets = list(map(greenlet, 3000 * [alive]))
    for n, one in enumerate(greenlets):
        one.switch(n % 3)
    for one in greenlets[::2] + greenlets[1::2]:
        one.switch()


# ---- within C calls, within each other ----

def key(value):
    getcurrent().parent.switch()
    return leaf(-value)


def sorting():
    sorted([3, 1, 2], key=key)


def case_within_a_callback():
    """
    sorting 2
      key 6
        leaf 6
    leaf 4
    """
    greenlets = [greenlet(sorting), greenlet(sorting)]
    for _ in range(4):
        for one in greenlets:
            one.switch()
        leaf()


def nest(n):
    leaf()
    if n:
        greenlet(nest).switch(n - 1)
    getcurrent().parent.switch()
    leaf()


def case_started_by_each_other():
    """
    nest 1
      leaf 2
      nest 1
        leaf 1
        nest 1
          leaf 1
    """
    outermost = greenlet(nest)
    outermost.switch(2)
    outermost.switch()


def numbers():
    for i in range(3):
        getcurrent().parent.switch()
        yield leaf(i)


def take():
    for _ in numbers():
        pass


def case_within_a_generator():
    """
    take 1
      numbers 4
        leaf 3
    """
    one = greenlet(take)
    while not one.dead:
        one.switch()


# ---- exceptions ----

def waiting():
    try:
        down(2, getcurrent().parent.switch)
    except ValueError:
        caught()
        getcurrent().parent.switch()
    finally:
        cleaned()


def caught():
    pass


def cleaned():
    pass


def case_thrown_into():
    """
    waiting 1
      down 1
        down 1
          down 1
      caught 1
      cleaned 1
    leaf 1
    """
    one = greenlet(waiting)
    one.switch()
    one.throw(ValueError)
    leaf()
    one.switch()


def failing():
    down(1, getcurrent().parent.switch)
    raise KeyError


def case_raises_to_its_parent():
    """
    failing 1
      down 1
        down 1
    caught 1
    """
    one = greenlet(failing)
    one.switch()
    try:
        one.switch()
    except KeyError:
        caught()


def case_is_given_up():
    """
    waiting 1
      down 1
        down 1
          down 1
      cleaned 1
    """
    one = greenlet(waiting)
    one.switch()
    del one
    gc.collect()


def never(*_):
    leaf()


def case_thrown_into_before_it_runs():
    """
    leaf 1
    """
    greenlet(never).throw(GreenletExit)
    leaf()


# ---- threads ----

def in_thread():
    greenlets = [greenlet(shallow), greenlet(deeper)]
    for one in greenlets + greenlets:
        one.switch()
    thread_done.append(1)


thread_done = []


def threads():
    running = [threading.Thread(target=in_thread) for _ in range(3)]
    for thread in running:
        thread.start()
    in_thread()
    for thread in running:
        thread.join()
    assert len(thread_done) == 4


def main():
    for name, case in list(globals().items()):
        if name.startswith("case_"):
            case()
    threads()
    print("done")


if __name__ == "__main__":
    main()
