#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Checks that the program has the USDT probes that it should have.

usage: probes.py PROGRAM

Reads the ELF notes of PROGRAM (section .note.stapsdt: 64 bit, either byte order) and compares the
probes in them with PROBE_LIST of src/base/probes.h and with the table of docs/probes.md: each
must be in all three. Each probe has a semaphore, and the number of arguments that the table names,
none of them in memory: bpftrace 0.17 cannot read the place of a static variable
(8@80+save.lto_priv.1(%rip)), and then finds no probe of the program at all.
A build without <sys/sdt.h> has no probes at all; that is said, and is no fault.
"""
import os
import re
import struct
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PROVIDER = 'redis'
SECTION = '.note.stapsdt'
NOTE_TYPE = 3  # NT_STAPSDT


def sections(data):
    """Yields (name, bytes) of a 64-bit ELF file."""
    if data[:5] != b'\x7fELF\x02':
        sys.exit('probes.py: not a 64-bit ELF file')
    order = '<' if data[5] == 1 else '>'
    table, = struct.unpack_from(order + 'Q', data, 40)
    size, count, names_at = struct.unpack_from(order + 'HHH', data, 58)
    rows = [struct.unpack_from(order + 'IIQQQQ', data, table + i * size) for i in range(count)]
    names = rows[names_at][4]
    for row in rows:
        start = names + row[0]
        name = data[start:data.index(b'\0', start)].decode()
        yield name, order, data[row[4]:row[4] + row[5]]


def probes_of(data):
    """-> {name: (number of arguments, has a semaphore, those in memory)} of our provider."""
    found = {}
    for name, order, notes in sections(data):
        if name != SECTION:
            continue
        at = 0
        while at + 12 <= len(notes):
            name_size, size, kind = struct.unpack_from(order + 'III', notes, at)
            body = at + 12 + (name_size + 3) // 4 * 4
            at = body + (size + 3) // 4 * 4
            if kind != NOTE_TYPE:
                continue
            semaphore, = struct.unpack_from(order + 'Q', notes, body + 16)
            provider, probe, arguments = notes[body + 24:body + size].split(b'\0')[:3]
            if provider.decode() == PROVIDER:
                places = arguments.decode().split()
                _, _, in_memory = found.get(probe.decode(), (0, True, []))
                in_memory += [place for place in places if '(' in place or '[' in place]
                found[probe.decode()] = (len(places), semaphore != 0, in_memory)
    return found


def listed():
    with open(os.path.join(ROOT, 'src/base/probes.h')) as file:
        text = file.read()
    block = re.search(r'#define PROBE_LIST\(X\)((?:.*\\\n)*.*\n)', text).group(1)
    return re.findall(r'X\((\w+)\)', block)


def documented():
    """-> {name: number of arguments} by the table's rows: | `name` | `a`, `b` | meaning |"""
    with open(os.path.join(ROOT, 'docs/probes.md')) as file:
        rows = re.findall(r'^\| `(\w+)` \| ([^|]*) \|', file.read(), re.M)
    return {name: len(re.findall(r'`\w+`', arguments)) for name, arguments in rows}


def main():
    with open(sys.argv[1], 'rb') as file:
        data = file.read()
    built, names, table = probes_of(data), listed(), documented()
    faults = [f'docs/probes.md has no row for {n}' for n in names if n not in table]
    faults += [f'docs/probes.md has a row for {n}, which is no probe' for n in table
               if n not in names]
    if built:
        faults += [f'{n} is in PROBE_LIST and not in the program' for n in names if n not in built]
        faults += [f'{n} has no semaphore' for n, (_, has, _) in built.items() if not has]
        faults += [f'{n} has an argument in memory: {place}'
                   for n, (_, _, places) in built.items() for place in places]
        faults += [f'{n} has {count} arguments, docs/probes.md names {table[n]}'
                   for n, (count, _, _) in built.items() if n in table and table[n] != count]
        faults += [f'{n} is in the program and not in PROBE_LIST' for n in built if n not in names]
    elif os.path.exists('/usr/include/sys/sdt.h') or \
            os.path.exists(f'/usr/include/{os.uname().machine}-linux-gnu/sys/sdt.h'):
        faults.append('sys/sdt.h is there, and the program has no probes')
    else:
        print('the program is built without probes: systemtap-sdt-dev is missing')
    print('\n'.join(faults), end='\n' if faults else '')
    sys.exit(1 if faults else 0)


if __name__ == '__main__':
    main()
