"""Objects that come and go: a tree of them, dictionaries, strings and lists that grow."""
from timed import timed


class Node:
    def __init__(self, depth):
        self.children = [Node(depth - 1) for _ in range(3)] if depth else []
        self.name = "node %d" % depth

    def count(self):
        return 1 + sum(child.count() for child in self.children)


def work():
    total = 0
    for _ in range(24):
        total += Node(9).count()
        table = {"key %d" % i: [i] * (i % 40) for i in range(40000)}
        total += sum(map(len, table.values()))
    return total


timed(work)
