"""A way in front of a server of a test, on a loopback port."""
import socket
import threading


class Door:
    """Whoever comes is served on a thread of its own: serve(), which a subclass has, gets the connection. `server`: (host, port)."""

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
        """Until the end of `source`, which is told to `target`."""
        try:
            while data := source.recv(65536):
                target.sendall(data)
            target.shutdown(socket.SHUT_WR)
        except OSError:
            pass
