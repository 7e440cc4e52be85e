"""python_scenarios.py HOW: six programs whose answer is known. HOW is

  pipeline  a table is read, and one step of many makes four copies of it at once
  cache     small dicts that are kept for ever, beside a decoy
  extension a C function (of the library in argv[2]) loses a block with each call
  lru       lru_cache without a bound keeps every result
  asyncio   a server keeps something of each connection
  workers   four forked workers, as gunicorn's, keep something of each request

The line that is to blame ends with a comment "blame HOW". What it holds is printed: bytes, and that of each worker.
"""
import asyncio
import ctypes
import functools
import os
import sys


def decoy():
    return bytearray(2000000)


def pipeline():
    import numpy
    table = numpy.ones((1000, 1000))
    table = table - table.mean(axis=0)
    wide = numpy.concatenate([table, table, table, table])  # blame pipeline
    print(wide.nbytes)
    result = wide.sum(axis=0)
    return table, result


def cache():
    rows = []
    for i in range(200000):
        rows.append({"id": i, "value": i * 1.5})  # blame cache
    print(200000 * 232)
    return rows


def extension():
    library = ctypes.CDLL(sys.argv[2])
    for i in range(300):
        library.convert(10000)  # blame extension
    print(300 * 10000)


@functools.lru_cache(maxsize=None)
def thumbnail(i):
    return bytes(100000 + i)  # blame lru


def lru():
    for i in range(300):
        thumbnail(i)
    print(sum(100000 + i + 33 for i in range(300)))


def asyncio_server():
    sessions = {}

    async def serve(reader, writer):
        name = await reader.readline()
        sessions[name] = bytearray(100000)  # blame asyncio
        writer.write(b"done\n")
        await writer.drain()
        writer.close()

    async def main():
        server = await asyncio.start_server(serve, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        for i in range(300):
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(b"client %d\n" % i)
            await reader.readline()
            writer.close()
        server.close()

    asyncio.run(main())
    print(300 * 100001)
    return sessions


def worker():
    log = []
    for i in range(200):
        log.append("x" * 100000 + str(i))  # blame workers
    return log


def workers():
    children = []
    for _ in range(4):
        pid = os.fork()
        if not pid:
            kept = worker()
            os._exit(len(kept) != 200)
        children.append(pid)
    for pid in children:
        os.waitpid(pid, 0)
    print(200 * 100000)


held = decoy(), {"pipeline": pipeline, "cache": cache, "extension": extension, "lru": lru, "asyncio": asyncio_server,
                 "workers": workers}[sys.argv[1]]()
