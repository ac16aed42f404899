"""gevent: a queue, exceptions, sleeping, a server and a client on loopback, a pool, a thread."""
import socket
import threading
import time

import gevent
import gevent.monkey
import gevent.pool
import gevent.queue

gevent.monkey.patch_all()


def leaf(n):
    return n


def producer(queue):
    for i in range(20):
        queue.put(leaf(i))
    queue.put(StopIteration)


def consumer(queue):
    for i in queue:
        leaf(i)


def rec(n):
    if n:
        rec(n - 1)
    time.sleep(0.001)
    raise KeyError(n)


def failing():
    try:
        rec(2)
    except KeyError:
        handled()


def handled():
    gevent.sleep(0)


def serve(listener):
    connection, _ = listener.accept()
    while True:
        data = connection.recv(100)
        if not data:
            return
        connection.sendall(data.upper())


def client(port):
    with socket.create_connection(("127.0.0.1", port)) as connection:
        for _ in range(5):
            connection.sendall(b"hello")
            assert connection.recv(100) == b"HELLO"


def main():
    queue = gevent.queue.Queue(2)
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        gevent.joinall([
            gevent.spawn(producer, queue), gevent.spawn(consumer, queue), gevent.spawn(failing),
            gevent.spawn(serve, listener), gevent.spawn(client, listener.getsockname()[1]),
        ], raise_error=True)
    print(sum(gevent.pool.Pool(5).map(leaf, range(30))))
    thread = threading.Thread(target=leaf, args=(1,))
    thread.start()
    thread.join()


main()
