# SPDX-License-Identifier: BSD-3-Clause
"""The slots of a cluster, for the programs that know where a key belongs before they ask."""
SLOTS = 16384


def slot_of(key):
    """The slot of a key, as bytes; by its tag if it has one."""
    begin = key.find(b"{")
    end = key.find(b"}", begin + 1)
    if 0 <= begin < end - 1:
        key = key[begin + 1:end]
    crc = 0
    for byte in key:
        crc ^= byte << 8
        for _ in range(8):
            crc = (crc << 1 ^ 0x1021 if crc & 0x8000 else crc << 1) & 0xffff
    return crc % SLOTS
