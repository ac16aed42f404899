import asyncio
def leaf(): pass
async def agen(n):
    try:
        for i in range(n):
            leaf(); await asyncio.sleep(0)
            yield i
    finally:
        leaf(); await asyncio.sleep(0)
class AIt:
    def __init__(self): self.n = 3
    def __aiter__(self): return self
    async def __anext__(self):
        self.n -= 1
        if self.n < 0: raise StopAsyncIteration
        await asyncio.sleep(0); return self.n
class ACM:
    async def __aenter__(self): await asyncio.sleep(0); leaf(); return self
    async def __aexit__(self, *a): await asyncio.sleep(0); leaf(); return True
class Aw:
    def __await__(self):
        leaf(); yield from asyncio.sleep(0).__await__(); return 3
async def consumer():
    async for x in agen(3): leaf()
    async for x in agen(5):
        if x == 2: break
    async for x in AIt(): leaf()
    async with ACM(): raise ValueError
    return [x async for x in agen(2) if x], await Aw()
async def cancelled():
    try: await asyncio.sleep(100)
    except asyncio.CancelledError: leaf(); raise
    finally: leaf()
async def amain():
    g = agen(4); await g.__anext__(); await g.asend(None); await g.aclose()
    try: await (agen(4)).athrow(KeyError)
    except KeyError: leaf()
    t = asyncio.ensure_future(cancelled()); await asyncio.sleep(0); t.cancel()
    r = await asyncio.gather(consumer(), consumer(), t, return_exceptions=True)
    q = asyncio.Queue(1)
    async def put():
        for i in range(3): await q.put(i)
    async def get():
        for i in range(3): await q.get(); leaf()
    await asyncio.gather(put(), get())
    await asyncio.wait_for(consumer(), 30)
def main():
    loop = asyncio.new_event_loop()
    loop.run_until_complete(amain()); loop.run_until_complete(loop.shutdown_asyncgens()); loop.close()

