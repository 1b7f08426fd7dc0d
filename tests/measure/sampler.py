# SPDX-License-Identifier: BSD-3-Clause
"""How a thread's CPU time divides between user and system mode, by sampling.

The kernel's own user and system times cannot say it for a few seconds: they are counted in ticks
(250 a second) and scaled so that their sum since the thread began is right, which shifts time
between the two whenever the thread's habits change, as they do after filling. So a timer on the
thread's CPU clock (perf's cpu-clock event, no hardware counters needed) fires two thousand times a
second, and each record says in which mode it found the thread. Needs root or a
perf_event_paranoid that allows it; where it is refused the caller falls back on ticks.
"""
import ctypes
import mmap
import os
import platform
import struct

SYSCALL_NUMBERS = {'x86_64': 298, 'aarch64': 241}
PERIOD_NSEC = 503_000  # no divisor of any timer's period, so that it does not run in step
TYPE_SOFTWARE, CPU_CLOCK, SAMPLE_IP = 1, 0, 1
RECORD_SAMPLE = 9
MODE_MASK, MODE_KERNEL, MODE_USER = 7, 1, 2
ATTRIBUTE_BYTES = 128
RING_BYTES = 1 << 21  # 131,000 samples: a minute
DATA_HEAD_OFFSET = 1024

_libc = ctypes.CDLL(None, use_errno=True)


class ModeSampler:
    """Samples one thread from its making to counts(). `working` is False where it is refused."""

    def __init__(self, thread):
        self.ring = None
        number = SYSCALL_NUMBERS.get(platform.machine())
        attribute = bytearray(ATTRIBUTE_BYTES)
        struct.pack_into('=IIQQQ', attribute, 0, TYPE_SOFTWARE, ATTRIBUTE_BYTES, CPU_CLOCK,
                         PERIOD_NSEC, SAMPLE_IP)
        self.fd = -1
        if number:
            buffer = (ctypes.c_char * ATTRIBUTE_BYTES).from_buffer(attribute)
            self.fd = _libc.syscall(number, buffer, thread, -1, -1, 0)
        if self.fd >= 0:
            try:
                self.ring = mmap.mmap(self.fd, mmap.PAGESIZE + RING_BYTES)
            except OSError:
                os.close(self.fd)
        self.working = self.ring is not None

    def counts(self):
        """Ends the sampling; returns the samples found in (user, system) mode."""
        head = struct.unpack_from('=Q', self.ring, DATA_HEAD_OFFSET)[0]
        data = self.ring[mmap.PAGESIZE:mmap.PAGESIZE + min(head, RING_BYTES)]
        self.ring.close()
        os.close(self.fd)
        user = system = at = 0
        while at + 8 <= len(data):
            kind, mode, size = struct.unpack_from('=IHH', data, at)
            if size < 8:
                break
            if kind == RECORD_SAMPLE:
                user += mode & MODE_MASK == MODE_USER
                system += mode & MODE_MASK == MODE_KERNEL
            at += size
        return user, system
