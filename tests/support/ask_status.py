"""What the service says of itself, asked at its own socket as `leat status` does: no process is started for it."""
import json
import socket

SILENT_S = 10


def ask_status(path):
    """The document; None: nobody answers."""
    answer = b""
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as s:
            s.settimeout(SILENT_S)
            s.connect(path)
            while more := s.recv(1 << 16):
                answer += more
        document = json.loads(answer)
    except (OSError, ValueError):
        return None
    return None if "refused" in document else document
