# SPDX-License-Identifier: BSD-3-Clause
"""A disk of a server's own, whose syncs take what they are told: disk.c, preloaded into it."""
import mmap
import os
import struct
import tempfile

import servers

SOURCE = os.path.join(servers.HERE, 'disk.c')
FIELDS = ('sync_usec', 'syncs', 'waits')  # struct disk
FORM = struct.Struct('=Q')


class Disk:
    """`prefix` stands before the server's command; the disk may be changed while it runs."""

    def __init__(self, sync_msec=1):
        library = servers.build_preloaded(SOURCE)
        with tempfile.NamedTemporaryFile(dir=servers.scratch_folder(), delete=False) as file:
            file.truncate(mmap.PAGESIZE)
            self.shared = mmap.mmap(file.fileno(), mmap.PAGESIZE)
            self.prefix = ['env', f'LD_PRELOAD={library}', f'EVENKEEL_DISK={file.name}']
        self.set_sync_msec(sync_msec)

    def _get(self, field):
        return FORM.unpack_from(self.shared, FORM.size * FIELDS.index(field))[0]

    def set_sync_msec(self, msec):
        """Of syncs that begin from now on."""
        FORM.pack_into(self.shared, FORM.size * FIELDS.index('sync_usec'), int(msec * 1000))

    def syncs(self):
        """How many were begun so far."""
        return self._get('syncs')

    def waits(self):
        """How many writes had to wait for one."""
        return self._get('waits')
