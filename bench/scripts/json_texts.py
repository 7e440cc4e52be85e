"""JSON: a large document written and read again and again."""
import json

from timed import timed


def work():
    document = [{"id": i, "name": "item %d" % i, "tags": ["a", "b", str(i)], "size": i * 0.5, "more": {"deep": [i, None, True]}}
                for i in range(4000)]
    return sum(len(json.loads(json.dumps(document))) for _ in range(120))


timed(work)
