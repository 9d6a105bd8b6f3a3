"""Stands between a client and a server, so that a request for tokens takes as long as llama-server's tests have it.

    keep_busy.py HOST PORT SECONDS COMMAND...

llama-server's router answers slowly where LLAMA_SERVER_DEBUG_FAKE_TIMING is set, and its tests of the queue count on that. Here a text that is
written meanwhile keeps the model in use: COMMAND is started with a port of its own, bytes go to it and back as they are, and beside each
POST /tokenize a text of the same model is asked for. Its client leaves after SECONDS, and the tokens are handed on then.
"""

import ctypes
import http.client
import json
import re
import select
import signal
import socket
import subprocess
import sys
import threading
import time

PR_SET_PDEATHSIG = 1
READ = 1 << 16


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as probe:
        return probe.getsockname()[1]


def answers(port):
    try:
        socket.create_connection(("127.0.0.1", port)).close()
    except OSError:
        return False
    return True


def read_request(client):
    """The bytes of the first request: its head, and as much of a body as it announces."""
    data = b""
    while b"\r\n\r\n" not in data:
        more = client.recv(READ)
        if not more:
            return data
        data += more
    head, _, body = data.partition(b"\r\n\r\n")
    length = re.search(rb"(?i)\r\ncontent-length: *(\d+)", head)
    while length and len(body) < int(length[1]):
        more = client.recv(READ)
        if not more:
            break
        body += more
        data += more
    return data


def busy_with(port, request, client):
    """A connection on which a text of the model is written, where the request is one for tokens; None where its client leaves before."""
    model = json.loads(request.partition(b"\r\n\r\n")[2]).get("model", "")
    text = http.client.HTTPConnection("127.0.0.1", port)
    # More than lies in buffers, and nobody reads it: the text is held until its client leaves.
    body = {"model": model, "prompt": "a", "n_predict": 1000, "n_probs": 100, "stream": True}
    text.request("POST", "/completion", json.dumps(body), {"Content-Type": "application/json"})
    ready, _, _ = select.select([text.sock, client], [], [])
    if client in ready:
        text.close()
        return None
    return text


def carry(source, sink):
    try:
        while data := source.recv(READ):
            sink.sendall(data)
        sink.shutdown(socket.SHUT_WR)
    except OSError:
        pass


def serve(client, port, seconds):
    with client, socket.create_connection(("127.0.0.1", port)) as server:
        request = read_request(client)
        busy = None
        if request.startswith(b"POST /tokenize"):
            busy = busy_with(port, request, client)
            if not busy:
                return
            time.sleep(seconds)
        server.sendall(request)
        threading.Thread(target=carry, args=(client, server), daemon=True).start()
        carry(server, client)
        if busy:
            busy.close()


def main():
    host, port, seconds, command = sys.argv[1], int(sys.argv[2]), float(sys.argv[3]), sys.argv[4:]
    inner = free_port()
    die_with_parent = lambda: ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
    server = subprocess.Popen([*command, "--host", "127.0.0.1", "--port", str(inner)], preexec_fn=die_with_parent)
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: (server.terminate(), server.wait(), sys.exit(0)))
    while server.poll() is None and not answers(inner):
        time.sleep(0.05)
    listener = socket.create_server((host, port))
    while server.poll() is None:
        listener.settimeout(1)
        try:
            client, _ = listener.accept()
        except TimeoutError:
            continue
        client.settimeout(None)
        threading.Thread(target=serve, args=(client, inner, seconds), daemon=True).start()
    sys.exit(server.returncode)


main()
