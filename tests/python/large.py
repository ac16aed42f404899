"""Threads, fork, thousands of short-lived code objects, deep recursion, imports: see test_large.py."""
import os
import sys
import threading


def leaf(n):
    return n


def work(n):
    for i in range(n):
        leaf(i)


def in_thread():
    work(5)


def in_child():
    work(3)
    os._exit(0)


def churn(n):
    for i in range(n):
        exec(f"def made{i % 7}(): return {i}\nmade{i % 7}()", {})


def deep(n):
    return deep(n - 1) if n else leaf(0)


def main():
    threads = [threading.Thread(target=in_thread) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    child = os.fork()
    if not child:
        in_child()
    os.waitpid(child, 0)
    churn(int(sys.argv[1]))
    deep(900)
    if sys.version_info >= (3, 11):
        sys.setrecursionlimit(60000)
        deep(50000)
    import colorsys
    print("done", colorsys.ONE_THIRD)


main()
