# SPDX-License-Identifier: BSD-3-Clause
"""What keeps a server's data while it is written to, and which data may be there afterwards."""

NOTHING = "0" * 40


def info(client, section, field):
    for line in client("INFO", section).decode().split("\r\n"):
        if line.startswith(field + ":"):
            return line.split(":", 1)[1]
    raise KeyError(field)


class Snapshots:
    """SAVE and BGSAVE, of which each has a moment: the digest of the data that it saves."""

    options = ("--stop-writes-on-bgsave-error", "no")

    def __init__(self, draw):
        self.draw = draw
        self.begun = []  # digests of saves that may have come through, later than `kept`
        self.kept = NOTHING
        self.child = None  # the digest that a child saves at the moment
        self.saved = self.failed = 0

    def _ask(self, client, quiet, command):
        """The digest, and the reply of a save at the same moment. The digest must be known before
        the save begins, which may come through without a reply."""
        with quiet():
            digest = client("DEBUG", "DIGEST")
            self.begun.append(digest)
            return digest, client(command)

    def _has_come_through(self, digest):
        del self.begun[:self.begun.index(digest) + 1]
        self.kept = digest
        self.saved += 1

    def step(self, client, quiet):
        """One thing more; raises OSError where the server is gone. Nobody writes within
        `quiet()`."""
        if self.child:
            self.look(client)
        elif self.draw.random() < 0.3:
            digest, reply = self._ask(client, quiet, "SAVE")
            if reply == "OK":
                self._has_come_through(digest)
            else:
                self.failed += 1
        else:
            digest, reply = self._ask(client, quiet, "BGSAVE")
            if reply == "Background saving started":
                self.child = digest
            else:
                self.failed += 1

    def look(self, client):
        """Takes notice of a child's end."""
        if info(client, "persistence", "rdb_bgsave_in_progress") != "0":
            return
        if info(client, "persistence", "rdb_last_bgsave_status") == "ok":
            self._has_come_through(self.child)
        else:
            self.failed += 1
        self.child = None

    def finish(self, client, quiet):
        """The system works again: so must a save, of whatever kind comes first."""
        while self.child:
            self.look(client)
        digest, reply = self._ask(client, quiet, "SAVE")
        if reply != "OK":
            raise AssertionError(f"SAVE after the faults: {reply}")
        self._has_come_through(digest)

    def allowed(self):
        return {self.kept, *self.begun}
