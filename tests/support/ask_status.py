"""What the service of a spool says of itself, read as `leat status` does: no process is started for it."""
import fcntl
import json
import os
import struct

F_OFD_GETLK = 36


def lives(spool):
    """Whether somebody has the lock of the status."""
    with open(os.path.join(spool, "status", "lock"), "rb") as lock:
        answer = fcntl.fcntl(lock, F_OFD_GETLK, struct.pack("hh4xqqi4x", fcntl.F_WRLCK, os.SEEK_SET, 0, 0, 0))
    return struct.unpack_from("h", answer)[0] != fcntl.F_UNLCK


def ask_status(spool):
    """The document; None: no service lives, or it has said nothing yet. Half of one, on a full disk, is read again."""
    while True:
        try:
            if not lives(spool):
                return None
            with open(os.path.join(spool, "status", "status.json"), "rb") as f:
                return json.loads(f.read())
        except ValueError:
            continue
        except OSError:
            return None
