"""A server and its clients on the loopback interface: see test_programs.py."""
import asyncio


async def handle(reader, writer):
    writer.write((await reader.readline()).upper())
    await writer.drain()
    writer.close()


async def client(port, number):
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(b"hello %d\n" % number)
    await writer.drain()
    said = await reader.readline()
    writer.close()
    return said


async def main():
    server = await asyncio.start_server(handle, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    print(sorted(await asyncio.gather(*(client(port, i) for i in range(5)))))
    server.close()


asyncio.run(main())
