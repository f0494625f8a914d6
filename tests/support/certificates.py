"""An authority for tests of TLS, and certificates that it signs, made with the program openssl."""
import os
import subprocess

KEY = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2")


class Authority:
    """Owns nothing but files in `folder`."""

    def __init__(self, folder):
        self.folder = folder
        self.path = os.path.join(folder, "ca.pem")
        self._make("ca", "-subj", "/CN=ca")

    def sign(self, name, *extensions, subject=None):
        """(certificate, key) of NAME, as paths; `extensions` as "extendedKeyUsage=serverAuth"."""
        added = [word for extension in ("basicConstraints=critical,CA:FALSE", *extensions) for word in ("-addext", extension)]
        self._make(name, "-subj", subject or f"/CN={name}", "-CA", self.path, "-CAkey", os.path.join(self.folder, "ca.key"), *added)
        return tuple(os.path.join(self.folder, name + end) for end in (".pem", ".key"))

    def _make(self, name, *words):
        end = os.path.join(self.folder, name)
        subprocess.run(["openssl", "req", "-x509", *KEY, "-keyout", end + ".key", "-out", end + ".pem", *words], check=True,
                       capture_output=True, timeout=60)
