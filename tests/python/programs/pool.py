"""A pool of processes: see test_programs.py."""
import multiprocessing
import sys


def square(x):
    return sum(x for _ in range(x))


if __name__ == "__main__":
    multiprocessing.set_start_method(sys.argv[1])
    with multiprocessing.Pool(2) as pool:
        print(pool.map(square, range(20)))
        pool.close()
        pool.join()
