"""The game of life on a torus, then the longest run of equal rows: loops, a class, recursion."""
import json


class Board:
    def __init__(self, size, alive):
        self.size = size
        self.alive = set(alive)

    def neighbours(self, cell):
        row, column = cell
        for down in (-1, 0, 1):
            for right in (-1, 0, 1):
                if down or right:
                    yield (row + down) % self.size, (column + right) % self.size

    def step(self):
        counts = {}
        for cell in self.alive:
            for near in self.neighbours(cell):
                counts[near] = counts.get(near, 0) + 1
        self.alive = {cell for cell, count in counts.items()
                      if count == 3 or count == 2 and cell in self.alive}

    def rows(self):
        return ["".join("#" if (row, column) in self.alive else "." for column in range(self.size))
                for row in range(self.size)]


def longest_run(rows, at=0, best=0):
    """How many equal rows follow one another, at most."""
    if at == len(rows):
        return best
    end = at
    while end < len(rows) and rows[end] == rows[at]:
        end += 1
    return longest_run(rows, end, max(best, end - at))


def main():
    board = Board(24, [(10, 11), (10, 12), (11, 10), (11, 11), (12, 11)])
    history = []
    for _ in range(40):
        board.step()
        history.append(board.rows())
    text = json.dumps(history)
    print(len(board.alive), "cells alive,", len(text), "bytes of history,",
          longest_run(history[-1]), "equal rows")


if __name__ == "__main__":
    main()
