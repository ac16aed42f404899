"""Arithmetic in loops: sieve, matrix product, n bodies, Mandelbrot."""
import sys


def sieve(limit):
    marks = bytearray([1]) * (limit + 1)
    for i in range(2, int(limit ** 0.5) + 1):
        if marks[i]:
            for k in range(i * i, limit + 1, i):
                marks[k] = 0
    return sum(marks) - 2


def product(size):
    a = [[(i * k) % 7 + 0.5 for k in range(size)] for i in range(size)]
    b = [[(i + k) % 5 - 1.5 for k in range(size)] for i in range(size)]
    c = [[0.0] * size for _ in range(size)]
    for i in range(size):
        for k in range(size):
            total = 0.0
            for m in range(size):
                total += a[i][m] * b[m][k]
            c[i][k] = total
    return c[size // 2][size // 3]


def bodies(steps):
    state = [[float(i), i * 0.5, 1.0 - i, 0.01 * i, 0.0, -0.02, 1.0 + i] for i in range(5)]
    for _ in range(steps):
        for i, one in enumerate(state):
            for other in state[i + 1:]:
                dx, dy, dz = one[0] - other[0], one[1] - other[1], one[2] - other[2]
                force = 0.001 / (dx * dx + dy * dy + dz * dz) ** 1.5
                one[3] -= dx * other[6] * force
                one[4] -= dy * other[6] * force
                one[5] -= dz * other[6] * force
                other[3] += dx * one[6] * force
                other[4] += dy * one[6] * force
                other[5] += dz * one[6] * force
        for one in state:
            one[0] += 0.001 * one[3]
            one[1] += 0.001 * one[4]
            one[2] += 0.001 * one[5]
    return state[0][0]


def mandelbrot(size):
    inside = 0
    for y in range(size):
        for x in range(size):
            z, c = 0j, complex(2.0 * x / size - 1.5, 2.0 * y / size - 1.0)
            for _ in range(40):
                z = z * z + c
                if abs(z) > 2.0:
                    break
            else:
                inside += 1
    return inside


for turn in range(int(sys.argv[1])):
    print(sieve(100000), product(40), bodies(500), mandelbrot(60))
