"""A slow link between two ends of a test: a TCP relay on loopback with a delay and a limit in bytes per second."""
import collections
import selectors
import socket
import threading
import time


class SlowRelay:
    """Listens on `port`; forwards bytes to `target` and back after `delay` seconds, at most `rate` bytes per second each way."""

    PIECE = 16_384
    HELD = 4 << 20  # bytes in flight each way at which the sender waits

    def __init__(self, target, delay, rate):
        self.target, self.delay, self.rate = target, delay, rate
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.stopping = threading.Event()
        self.threads = []
        self.accepter = threading.Thread(target=self._accept, daemon=True)
        self.accepter.start()

    def close(self):
        """Ends the relay and its connections."""
        self.stopping.set()
        self.accepter.join()
        for thread in self.threads:
            thread.join()
        self.listener.close()

    def _accept(self):
        with selectors.DefaultSelector() as selector:
            selector.register(self.listener, selectors.EVENT_READ)
            while not self.stopping.is_set():
                if not selector.select(0.1):
                    continue
                near, _ = self.listener.accept()
                far = socket.create_connection(self.target)
                for one, other in ((near, far), (far, near)):
                    one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                    self.threads.append(threading.Thread(target=self._carry, args=(one, other), daemon=True))
                    self.threads[-1].start()

    def _carry(self, source, sink):
        """Forwards one direction until its end."""
        waiting = collections.deque()  # (when it is due, bytes)
        held, free_at, is_open = 0, 0.0, True
        with selectors.DefaultSelector() as selector:
            selector.register(source, selectors.EVENT_READ)
            while (is_open or waiting) and not self.stopping.is_set():
                now = time.monotonic()
                pause = min(0.1, max(0.0, waiting[0][0] - now)) if waiting else 0.1
                may_read = is_open and held < self.HELD
                if may_read and selector.select(pause):
                    piece = self._read(source)
                    is_open = bool(piece)
                    if piece:
                        # The link is busy until all earlier bytes are through it.
                        free_at = max(free_at, time.monotonic()) + len(piece) / self.rate
                        waiting.append((free_at + self.delay, piece))
                        held += len(piece)
                elif not may_read:
                    self.stopping.wait(pause)
                while waiting and waiting[0][0] <= time.monotonic():
                    piece = waiting.popleft()[1]
                    held -= len(piece)
                    try:
                        sink.sendall(piece)
                    except OSError:
                        is_open = False
                        waiting.clear()
        for end in (source, sink):
            try:
                end.shutdown(socket.SHUT_RD if end is source else socket.SHUT_WR)
            except OSError:
                pass

    def _read(self, source):
        try:
            return source.recv(self.PIECE)
        except OSError:
            return b""
