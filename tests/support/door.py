"""A proxy on a loopback port in front of a test's server."""
import socket
import threading


class Door:
    """Serves each connection on its own thread with serve(), which a subclass defines. `server`: (host, port)."""

    SCHEME = "http"

    def __init__(self, server):
        self.server = server
        self.door = socket.create_server(("127.0.0.1", 0))
        self.endpoint = "%s://127.0.0.1:%d" % (self.SCHEME, self.door.getsockname()[1])
        threading.Thread(target=self.accept, daemon=True).start()

    def close(self):
        self.door.shutdown(socket.SHUT_RDWR)
        self.door.close()

    def accept(self):
        while True:
            try:
                outer, _ = self.door.accept()
            except OSError:
                return
            threading.Thread(target=self.serve, args=(outer,), daemon=True).start()

    @staticmethod
    def copy(source, target):
        """Copies until the end of `source`, then shuts down `target` for writing."""
        try:
            while data := source.recv(65536):
                target.sendall(data)
            target.shutdown(socket.SHUT_WR)
        except OSError:
            pass
