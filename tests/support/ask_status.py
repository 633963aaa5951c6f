"""What the service says of itself, asked at its own socket as `leat status` does: no process is started for it."""
import json
import socket

SILENT_S = 10


def ask_status(path):
    """The document; None: nobody listens. Who is asked and does not answer, or not to the end, is asked again."""
    while True:
        answer = b""
        try:
            with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as s:
                s.settimeout(SILENT_S)
                s.connect(path)
                while more := s.recv(1 << 16):
                    answer += more
            return json.loads(answer)
        except (TimeoutError, ValueError):
            continue
        except OSError:
            return None
