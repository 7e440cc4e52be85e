"""Eight threads that take turns to sleep and to allocate; docs/threads.md shows what tidemark says of them.

    tidemark run -o threads.tide python3 examples/threads.py      (PYTHONPATH=bindings/python, or installed)
    tidemark threads threads.tide --within-path examples
    tidemark peaks threads.tide --within-path examples --peak 500K

Worker n has three turns. In each it fills n buffers of 100,000 bytes, which go away at the end of the turn, and
keeps a result of n x 10,000 bytes. So it allocates 330,000 x n bytes in all; in its last turn it holds 130,000 x n,
afterwards 30,000 x n. The turns are in order, so the figures are the same in every run. (A bytearray has one byte
more than it shows.) Without tidemark's module the program does the same, and has no marks.
"""
import threading
import time

try:
    from tidemark import mark
except ImportError:
    def mark(label):
        pass

THREADS, TURNS = 8, 3
turn = [threading.Lock() for _ in range(THREADS)]


class Worker(threading.Thread):
    def __init__(self, number):
        super().__init__(name="worker-%d" % number)
        self.number = number
        self.results = []

    def run(self):
        for _ in range(TURNS):
            turn[self.number - 1].acquire()
            self.do_stuff()
            mark(self.name + " empty")
            turn[self.number % THREADS].release()

    def do_stuff(self):
        buffers = []
        for _ in range(self.number):
            buffers.append(fill())
        self.results.append(bytearray(10000 * self.number - 1))
        time.sleep(0.002)
        mark(self.name + " full")
        del buffers


def fill():
    return bytearray(100000 - 1)


def main():
    for lock in turn[1:]:
        lock.acquire()
    workers = [Worker(number) for number in range(1, THREADS + 1)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    mark("all done")


if __name__ == "__main__":
    main()
