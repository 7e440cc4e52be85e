"""A server with a thread for each connection, and eight clients in the same process."""
import json
import socket
import socketserver
import threading

from timed import timed

REQUESTS = 3000


class Handler(socketserver.StreamRequestHandler):
    def handle(self):
        for line in self.rfile:
            request = json.loads(line)
            answer = {"sum": sum(request["numbers"]), "words": [w.upper() for w in request["words"]]}
            self.wfile.write(json.dumps(answer).encode() + b"\n")


def client(address):
    with socket.create_connection(address) as connection, connection.makefile("rwb") as stream:
        for i in range(REQUESTS):
            request = {"numbers": list(range(i % 50)), "words": ["word %d" % k for k in range(20)]}
            stream.write(json.dumps(request).encode() + b"\n")
            stream.flush()
            assert json.loads(stream.readline())["sum"] == sum(range(i % 50))


def work():
    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Handler) as server:
        # Else it takes up to half a second to notice that it shall end.
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        clients = [threading.Thread(target=client, args=(server.server_address,)) for _ in range(8)]
        for thread in clients:
            thread.start()
        for thread in clients:
            thread.join()
        server.shutdown()


timed(work)
