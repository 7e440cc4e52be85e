"""Bytes on known lines: in a loop, in a comprehension, and by a call."""


class Store:
    def __init__(self):
        self.kept = []

    def keep(self, count):
        # Not on this line.
        for _ in range(count):
            self.kept.append(bytearray(100000))  # line loop
        self.kept.append(self.more())  # line call

        return len(self.kept)

    def more(self):
        return bytearray(1 << 20)  # line more


store = Store()
store.keep(10)
store.keep(5)
