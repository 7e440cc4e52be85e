"""A job of ten events that marks the end of each. Each keeps 100,000 bytes.

    tidemark run -o marks.tide python3 examples/marks.py
    tidemark marks marks.tide
    tidemark report marks.tide --since event#5 --at event#6
"""
import tidemark

results = []


def process(number):
    results.append(bytearray(100000))
    tidemark.mark("event", number=number, kept=len(results))


@tidemark.scope("summary")
def summarise():
    return sum(map(len, results))


for number in range(1, 11):
    process(number)
with tidemark.paused():
    table = bytearray(1000000)  # not in the recording
print(summarise())
