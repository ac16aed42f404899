"""Generators in a pipeline, coroutines, and comprehensions."""
import asyncio
import itertools
import sys


def numbers(count):
    for i in range(count):
        yield i * 7919 % 10007


def chosen(source):
    for number in source:
        if number % 3:
            yield number


def pairs(source):
    before = None
    for number in source:
        if before is not None:
            yield before, number
        before = number


def running(source):
    total = 0
    for one, other in source:
        total += one - other if one > other else other - one
        yield total


async def worker(queue, results):
    while (item := await queue.get()) is not None:
        results.append(sum(k * k for k in range(item % 20)))


async def shared(count):
    queue, results = asyncio.Queue(50), []
    workers = [asyncio.create_task(worker(queue, results)) for _ in range(4)]
    for i in range(count):
        await queue.put(i)
    for _ in workers:
        await queue.put(None)
    await asyncio.gather(*workers)
    return sum(results)


result = 0
for turn in range(int(sys.argv[1])):
    result += max(running(pairs(chosen(numbers(20000)))))
    result += sum(1 for _ in itertools.takewhile(lambda x: x < 10000, numbers(10000)))
    result += asyncio.run(shared(1500))
print(result)
