# SPDX-License-Identifier: BSD-3-Clause
"""Runs one case against one server and leaves its raw files in a folder.

The server is started for the run alone, pinned to one core, the load to another. What a load run
leaves is described in README.md; all phases of a run share one timeline, through the monotonic
clock that the load notes.
"""
import json
import os
import signal
import subprocess
import sys
import threading
import time

import disk
import made_requests
import servers
import witness
from servers import MeasureError, LOAD_CORE, SERVER_CORE, SPARE_CORES, Load

INFO_FIELDS = ['used_memory', 'used_memory_rss', 'used_memory_overhead', 'used_memory_dataset',
               'mem_clients_normal', 'mem_not_counted_for_evict', 'mem_counted_for_eviction',
               'lazyfree_pending_bytes', 'evicted_keys', 'expired_keys', 'expire_due_backlog',
               'evicted_clients', 'eviction_cpu_usec_total', 'eviction_budget_exhausted_count',
               'maxmemory_overshoot_bytes', 'eventloop_turn_cpu_usec_max', 'connected_clients',
               'total_commands_processed', 'keyspace_hits', 'keyspace_misses', 'keys', 'expires',
               'aof_buffer_length', 'rdb_bgsave_in_progress', 'aof_rewrite_in_progress',
               'mem_clients_slaves', 'mem_replication_backlog', 'walk_waiting_bytes',
               'active_defrag_running', 'active_defrag_hits', 'used_cpu_user_main_thread',
               'used_cpu_sys_main_thread', 'eventloop_turn_cpu_usec_histogram']
# What is kept of INFO persistence and stats at a phase's end.
SAVING_FIELDS = ('aof_delayed_fsync', 'rdb_last_cow_size', 'aof_last_cow_size', 'latest_fork_usec',
                 'walk_main_thread_usec', 'walk_copied_bytes', 'walk_keys_ahead',
                 'walk_values_rushed', 'walk_writers_held')
# Where a case says which core saves: the child's, and that of the threads of a save without one.
SAVING_CPULISTS = ('bgsave_cpulist', 'aof_rewrite_cpulist', 'bio_cpulist')
HOG = 'import time\nend = time.monotonic() + {}\nwhile time.monotonic() < end: pass\n'
TRIES = 3
# Keys with deadlines cost more than those without, and the machine may have other work.
FILL_SLACK, DUE_AHEAD_S = 2, 7
# A replica has its copy by then, on any machine.
JOIN_PATIENCE_S = 600


class Run:
    """One server, and the load runs against it one after the other."""

    def __init__(self, variant, case, folder, trace):
        self.trace = trace
        self.case, self.folder, self.variant = case, folder, variant
        os.makedirs(folder, exist_ok=True)
        options = []
        if variant.profile:
            options += ['--include', variant.profile]
        options += ['--maxclients', '15000', '--tcp-backlog', '4096']
        server_options = {**case['server'], **(variant.server or {})}
        for name, value in server_options.items():
            options += [f'--{name}', *str(value).split()]
        for name in SAVING_CPULISTS if 'saving-core' in case else ():
            core = SPARE_CORES[0] if case['saving-core'] == 'own' else SERVER_CORE
            options += [f'--{name}', str(core)]
        if case.get('cluster'):
            options += servers.CLUSTER
        self.disk = disk.Disk() if any('sync-ms' in phase for phase in case['phase']) else None
        prefix = self.disk.prefix if self.disk else []
        self.server = servers.Server(variant.name, variant.binary, options, prefix)
        if case.get('cluster'):
            self.server.own_all_slots()
        self.server.pin(SERVER_CORE)
        self.fills, self.due_msec, self.load_number = [], None, 0
        self.replicas = []

    def _special(self, load):
        """What a scenario cannot know beforehand: moments, and what the server holds."""
        load = dict(load)
        if load.get('trace') == 'default':
            load['trace'] = self.trace
        if 'due-in-s' in load:
            wait_s = load.pop('due-in-s')
            if wait_s == 'auto':
                wait_s = DUE_AHEAD_S + FILL_SLACK * self._fill_seconds(load)
            self.due_msec = int((time.time() + float(wait_s)) * 1000)
            load['due-at-ms'] = self.due_msec
        if load.get('keys') == 'held':
            held = self.keys()
            load['first-key'] = self.fills[-1]['key_high'] - held
            load['keys'] = max(held, 1)
        if load.get('first-key') == 'next':
            load['first-key'] = self.fills[-1]['key_high']
        if load.get('first-key') == 'newest':
            load['first-key'] = self.fills[-1]['key_high'] - load['keys']
        return load

    def _fill_seconds(self, load):
        """How long filling should take, by the pace of the fill before."""
        last = self.fills[-1]
        return last['seconds'] * float(load['requests']) / last['requests']

    def keys(self):
        text = self.server.wire.command('INFO', 'keyspace')
        return sum(int(line.split('keys=')[1].split(',')[0]) for line in text.splitlines()
                   if 'keys=' in line)

    def waited(self):
        """Nanoseconds for which the server's main thread stood runnable without its core."""
        with open(f'/proc/{self.server.pid}/task/{self.server.pid}/schedstat') as file:
            return int(file.read().split()[1])

    def _load(self, load, folder):
        os.makedirs(folder, exist_ok=True)
        process = Load(self.server, LOAD_CORE, 'record', out=folder,
                       info_fields=','.join(INFO_FIELDS), **load)
        with open(os.path.join(folder, 'command'), 'w') as file:
            file.write(' '.join(process.command) + '\n')
        return process

    def _finish(self, process, folder):
        result = process.result()
        with open(os.path.join(folder, 'result.json'), 'w') as file:
            json.dump(result, file)
        return result

    def fill(self, phase):
        if 'requests' in phase:
            made_requests.send(self.server.wire, phase['requests'])
            return
        folder = os.path.join(self.folder, f'fill-{len(self.fills)}')
        load = {'arrivals': 'closed', 'connections': 20, 'pipeline': 50, 'mix': 'set=1',
                'held-keys': 0, 'seconds': 300, **self._special(phase['load'])}
        result = self._finish(self._load(load, folder), folder)
        if phase.get('settle'):
            self.server.settle()
        result.update(folder=folder, load=load, keys_after=self.keys(),
                      used_memory_after=self.server.steady_memory())
        self.fills.append(result)

    def _events(self, event, began, notes):
        for i in range(event.get('times', 1)):
            moment = began + event['at-s'] + i * event.get('every-s', 0)
            time.sleep(max(0, moment - time.monotonic()))
            self._event(event, notes)

    def _event(self, event, notes):
        at = time.monotonic()
        if event['do'] == 'stop':
            self.server.pause()
            time.sleep(event['for-ms'] / 1000)
            self.server.resume()
        elif event['do'] == 'hog':
            hog = servers.start_process([sys.executable, '-c', HOG.format(event['for-ms'] / 1000)],
                                 core=SERVER_CORE)
            hog.wait()
            servers.end_process(hog)
        elif event['do'] == 'join':
            self._join(event.get('stopped', 0))
        else:
            wire = servers.Wire(self.server.port)
            try:
                wire.command(*event['words'])
            finally:
                wire.close()
        notes.append({'do': event['do'], 'words': event.get('words'), 'began': at,
                      'ended': time.monotonic()})

    def _start_replica(self):
        replica = servers.Server('replica', self.variant.binary,
                                 ['--replicaof', '127.0.0.1', self.server.port,
                                  '--repl-timeout', JOIN_PATIENCE_S, '--maxclients', 100])
        self.replicas.append(replica)
        replica.pin(SPARE_CORES[0])
        return replica

    def _join(self, stopped):
        """A replica of the same program is started, and has its copy when this returns. So many
        others ask for a copy before it, and are stopped before the copy begins: the case's
        repl-diskless-sync-delay is longer than they take to start."""
        end = time.monotonic() + JOIN_PATIENCE_S
        sleepers = [self._start_replica() for _ in range(stopped)]
        while int(self.server.wire.info('replication')['connected_slaves']) < stopped:
            if time.monotonic() > end:
                raise MeasureError('the replicas that are to be stopped do not come')
            time.sleep(0.02)
        for sleeper in sleepers:
            sleeper.pause()
        replica = self._start_replica()
        while replica.wire.info('replication')['master_link_status'] != 'up':
            if time.monotonic() > end or replica.process.poll() is not None:
                raise MeasureError(f'no copy for a replica: {replica.last_words()}')
            time.sleep(0.02)

    def _await_save(self, patience_s):
        """Until no child saves; what is left of its time counts to no figure but its own."""
        end = time.monotonic() + patience_s
        fields = ('rdb_bgsave_in_progress', 'aof_rewrite_in_progress')
        while any(self.server.wire.info('persistence')[field] != '0' for field in fields):
            if time.monotonic() > end:
                raise MeasureError(f'{self.variant.name} still saves after {patience_s} s')
            time.sleep(0.1)

    def _disk_counts(self):
        return (self.disk.syncs(), self.disk.waits()) if self.disk else (0, 0)

    def _saving(self):
        """What the server says of its log and of saving."""
        shown = {**self.server.wire.info('persistence'), **self.server.wire.info('stats')}
        return {name: int(shown[name]) for name in SAVING_FIELDS if name in shown}

    def phase(self, phase):
        """One load run with its events. Returns the load's result with what else is known."""
        folder = os.path.join(self.folder, f'{self.load_number}-{phase["name"]}')
        self.load_number += 1
        load = {'probe-ms': 1, 'info-ms': 100, **self._special(phase['load'])}
        if 'start-before-due-s' in phase:
            ahead = self.due_msec / 1000 - phase['start-before-due-s'] - time.time()
            if ahead < 0:
                raise MeasureError(f'{self.variant.name}: filling took {-ahead:.1f} s too long')
            time.sleep(ahead)
        before, waited, disk_before = self.server.cpu(), self.waited(), self._disk_counts()
        saving_before = self._saving()
        self.server.wire.command('CONFIG', 'RESETSTAT')
        self.server.wire.command('SLOWLOG', 'RESET')
        if 'sync-ms' in phase:
            self.disk.set_sync_msec(phase['sync-ms'])
        watching = witness.Witness(SERVER_CORE)
        process = self._load(load, folder)
        notes, began = [], time.monotonic()
        threads = [threading.Thread(target=self._events, args=(event, began, notes), daemon=True)
                   for event in phase['event']]
        for thread in threads:
            thread.start()
        result = self._finish(process, folder)
        result['stops'] = watching.stops()
        with open(os.path.join(folder, 'stops.json'), 'w') as file:
            json.dump(result['stops'], file)
        for thread in threads:
            thread.join()
        time.sleep(phase.get('rest-s', 0))
        if 'await-save-s' in phase:
            self._await_save(phase['await-save-s'])
        result.update(folder=folder, name=phase['name'], events=notes,
                      **{'warm-up-s': phase.get('warm-up-s', 0)},
                      load=load, server_cpu_s=(self.server.cpu()[0] - before[0]) / 1e9,
                      server_wait_s=(self.waited() - waited) / 1e9,
                      used_memory_after=self.server.wire.used_memory(), keys_after=self.keys(),
                      slowlog=self._slowlog('GET'), explained=self._explained(),
                      saving=self._saving(), saving_before=saving_before,
                      saved_monotonic=time.monotonic(),
                      disk=[now - then for now, then in zip(self._disk_counts(), disk_before)],
                      due_msec=self.due_msec)
        return result

    def _slowlog(self, order):
        try:
            return self.server.wire.command('SLOWLOG', order, 1000)
        except MeasureError:  # stock has no EXPLAIN
            return []

    def _explained(self):
        """SLOWLOG EXPLAIN's entries as dictionaries; none where the server has no such command."""
        return [dict(zip(entry[::2], entry[1::2])) for entry in self._slowlog('EXPLAIN')]

    def stop(self):
        for replica in self.replicas:
            replica.resume()
            replica.stop()
        self.server.stop()


def run_case(variant, case, folder, trace, say):
    """All phases; repeated while the load itself was late, at most three times. Returns the phases'
    results and the fill's; `late` is true where the last try was late too."""
    for attempt in range(1, TRIES + 1):
        run = Run(variant, case, folder, trace)
        try:
            for phase in case['fill']:
                run.fill(phase)
            maximum = int(run.server.wire.command('CONFIG', 'GET', 'maxmemory')[1])
            results = [run.phase(phase) for phase in case['phase']]
        finally:
            run.stop()
        late = any(result['late']['repeat'] for result in results)
        if not late or attempt == TRIES:
            break
        worst = max(result['late']['own_share'] for result in results)
        say(f'the load was late for {worst:.2%} of its requests; try {attempt + 1} of {TRIES}')
    return {'phases': results, 'fills': run.fills, 'maxmemory': maximum, 'late': late,
            'tries': attempt, 'variant': variant.name, 'folder': folder}


signal.signal(signal.SIGPIPE, signal.SIG_DFL)
