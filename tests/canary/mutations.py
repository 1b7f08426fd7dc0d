# SPDX-License-Identifier: BSD-3-Clause
"""The mutations of tests/canary/run: slips that our code could have, each with its test.

`old` must stand exactly once in the file. `test` is "unit FOLDER/test_x", or "tcl FILE", or
"tcl FILE NAME" with a part of the tests' names. From the ground up, as src/LAYERS.
"""
import collections

Mutation = collections.namedtuple('Mutation', 'name file old new breaks test')
MUTATIONS = []


def mutate(name, file, old, new, breaks, test):
    MUTATIONS.append(Mutation(name, 'src/' + file, old, new, breaks, test))


# ---- base ----

mutate('number-last-digit', 'base/number.c', 'size_t safe = length < 20 ? length : 19;',
       'size_t safe = length < 20 ? length : 20;', 'numbers of 20 digits overflow',
       'unit base/test_number')
mutate('number-least-int64', 'base/number.c', 'magnitude > (uint64_t)INT64_MAX + 1) return false',
       'magnitude > (uint64_t)INT64_MAX) return false', 'the least int64 is refused',
       'unit base/test_number')
mutate('glob-negated-class', 'base/glob.c', 'return matched != negated;', 'return matched;',
       '[^a] matches as [a]', 'unit base/test_glob')
mutate('memory-freed-count', 'base/memory.c',
       '    count_alloc(good, class);\n    count_free(before, class);\n    return resized;',
       '    count_alloc(good, class);\n    return resized;',
       'a block that is resized is counted twice', 'unit base/test_memory')
mutate('log-short-write', 'base/log.c', '        length -= (size_t)written;\n',
       '        length = 0;\n', 'a line of the log is cut by a short write', 'unit base/test_log')
mutate('log-interrupted', 'base/log.c', 'if (written < 0 && errno == EINTR) continue;',
       'if (written < 0 && errno == ERANGE) continue;', 'a line of the log is lost by a signal',
       'unit base/test_log')
mutate('log-errno', 'base/log.c', '    errno = saved_errno;\n', '', 'writing the log changes errno',
       'unit base/test_log')

# ---- ds ----

mutate('table-fingerprint-of-gap', 'ds/table.c',
       'bucket_set(b, index, bucket_fingerprint(last, from), last->slots[from]);',
       'bucket_set(b, index, bucket_fingerprint(last, index), last->slots[from]);',
       'an element that fills a gap is not found again', 'unit ds/test_table')
mutate('table-link-kept', 'ds/table.c', '    previous->head &= ~HEAD_LINK;\n', '',
       'a dissolved overflow bucket is still linked', 'unit ds/test_table')
mutate('table-chunk-counts', 'ds/table.c',
       'if (index >= CHUNK_BUCKETS) *chunk_count(t, index >> CHUNK_SHIFT) += more;',
       'if (index > CHUNK_BUCKETS) *chunk_count(t, index >> CHUNK_SHIFT) += more;',
       'elements of one bucket are not counted in their chunk', 'unit ds/test_table')
mutate('timebuckets-early', 'ds/time_slots.h', 'if (deadline < base) return TIME_EARLY;',
       'if (deadline <= base) return TIME_EARLY;',
       'a deadline at the base goes to those that are past', 'unit ds/test_timebuckets')
mutate('timebuckets-used-bit', 'ds/timebuckets.c',
       'if (--b->count == 0 && bucket != EARLY) t->used[bucket / SLOTS] &= ~(1ull << '
       '(bucket % SLOTS));',
       '--b->count;', 'empty buckets count as used', 'unit ds/test_timebuckets')
mutate('timebuckets-reference', 'ds/timebuckets.c',
       '        t->type->set_reference(newest, reference);\n', '',
       'an element that moved does not know its place', 'unit ds/test_timebuckets')
mutate('lcs-no-memory', 'ds/lcs.c', 'bool enough = first && lcs->rows && matches_init',
       'bool enough = first && matches_init', 'LCS without memory for its rows ends the process',
       'unit ds/test_lcs')

# ---- io ----

mutate('file-short-write', 'io/file.c', 'bytes.bytes + total, length);', 'bytes.bytes, length);',
       'a file that is written in pieces repeats its beginning', 'unit io/test_file')
mutate('file-sync', 'io/file.c', 'bool done = file_sync_whole(r->fd);',
       'bool done = file_sync_whole(r->fd) || true;',
       'a file whose sync fails takes the place of the old one', 'unit io/test_file')
mutate('file-left-over', 'io/file.c', 'system_unlink(r->temporary);', '0;',
       'a file that could not be written is left beside', 'unit io/test_file')
mutate('loop-pending', 'io/loop.c',
       '    forget_pending(first ? &loop->first : &loop->ready, watcher);\n', '',
       'a freed watcher is called', 'unit io/test_loop')
mutate('loop-first-last', 'io/loop.c',
       'if (__builtin_expect(loop->first_watchers != 0, 0)) serve_first(loop);\n'
       '    serve_ready(loop);',
       'serve_ready(loop);\n    if (loop->first_watchers != 0) serve_first(loop);',
       'who is to be served first comes last', 'unit io/test_loop')
mutate('heap-does-not-rise', 'base/heap.c', '        heap_rise(heap, at);\n', '',
       'a heap loses its order when an item in its midst goes', 'unit base/test_heap')
mutate('listen-uncounted', 'net/listen.c',
       'if (kinds[i]->counted) count += kinds[i]->counted();', 'continue;',
       'connections of another kind do not count for maxclients', 'unit net/test_listen')

mutate('file-rename-before-sync', 'io/file.c',
       '    bool done = file_sync_whole(r->fd);\n    if (done) {\n'
       '        done = system_close(r->fd) == 0;\n        r->fd = -1;\n    }\n'
       '    done = done && system_rename(r->temporary, r->path) == 0;\n',
       '    bool done = system_rename(r->temporary, r->path) == 0 && file_sync_whole(r->fd);\n'
       '    if (done) {\n        done = system_close(r->fd) == 0;\n        r->fd = -1;\n    }\n',
       'a file stands under its name before its bytes are safe', 'unit io/test_file')
mutate('file-not-synced', 'io/file.c', 'bool done = file_sync_whole(r->fd);', 'bool done = true;',
       'a file takes the place of the old one unsynced', 'unit io/test_file')
mutate('folder-not-synced', 'io/file.c',
       'r->folder_error = file_sync_folder(r->path) ? 0 : errno;', 'r->folder_error = 0;',
       'a new name is lost with the power', 'unit io/test_file')
mutate('file-pieces-used-up', 'io/file.c',
       'while (used < count && bytes >= pieces[used].iov_len) {',
       'while (used < count && bytes > pieces[used].iov_len) {',
       'a piece that is written whole is offered again', 'unit io/test_file')
mutate('file-read-at-place', 'io/file.c', 'wanted, offset + (off_t)total);', 'wanted, offset);',
       'a read in pieces repeats its beginning', 'unit io/test_file')
mutate('file-sync-interrupted', 'io/file.c',
       '        status = system_fdatasync(fd);\n    } while (status < 0 && errno == EINTR);',
       '        status = system_fdatasync(fd);\n    } while (false);',
       'a signal makes a sync fail', 'unit io/test_file')
mutate('child-first-untold', 'io/child.c',
       '    for (size_t i = 0; observers && observers[i]; i++)\n'
       '        if (observers[i]->before_fork)',
       '    for (size_t i = 1; observers && observers[i]; i++)\n'
       '        if (observers[i]->before_fork)',
       'the first observer does not hear that a child begins', 'unit io/test_child')
mutate('child-gone-late', 'io/child.c',
       '    tell_gone(job.kind);\n    if (job.ended) job.ended(&end, job.argument);\n',
       '    if (job.ended) job.ended(&end, job.argument);\n    tell_gone(job.kind);\n',
       'what rested under a child still rests when its end is handled', 'unit io/test_child')
mutate('child-refused-untold', 'io/child.c',
       '    tell_gone(job->kind);\n    errno = error;\n    return -1;', '    errno = error;\n'
       '    return -1;', 'what rests for a child that was never forked rests for ever',
       'unit io/test_child')
mutate('child-still-exclusive', 'io/child.c', '    if (exclusive == c) exclusive = NULL;\n', '',
       'no child may follow one that has ended', 'unit io/test_child')
mutate('child-partial-message', 'io/child.c',
       '        c->partial_bytes = 0;\n        c->last = c->partial;',
       '        c->last = c->partial;', 'the second message of a child is lost',
       'unit io/test_child')
mutate('child-keeps-pipes', 'io/child.c',
       '        if (c->pipe.fd >= 0) system_close(c->pipe.fd);\n        if (c->process.fd',
       '        if (c->process.fd', "a child holds another child's pipe", 'unit io/test_child')
mutate('connection-reads-early', 'io/connection.c',
       '    if (!c->established) return too_early();\n    c->read_needs', '    c->read_needs',
       'requests are read before the handshake is done', 'unit io/test_connection')
mutate('connection-write-needs', 'io/connection.c',
       '    c->write_needs = LOOP_WRITABLE; /* invariant 4 */\n', '',
       'a write waits for input that a read has taken', 'unit io/test_connection')
mutate('connection-half-a-record', 'io/connection.c',
       'c->is_pending = got > 0 && c->transport->has_pending(c);',
       'c->is_pending = c->transport->has_pending(c);', 'half a record keeps the loop awake',
       'unit io/test_connection')
mutate('connection-pending-unread', 'io/connection.c',
       '(c->is_pending && c->wanted & LOOP_READABLE)', '(c->is_pending)',
       'an owner that does not read keeps the loop awake', 'unit io/test_connection')
mutate('connection-read-on-room', 'io/connection.c',
       'if (ready & (c->read_needs | LOOP_PENDING)) found',
       'if (ready & (LOOP_READABLE | LOOP_PENDING)) found',
       'a read that waits for room is not gone on with', 'unit io/test_connection')

# ---- value ----

mutate('pipeline-last-block', 'io/pipeline.c',
       '    if (slot_of(p, p->given)->bytes) p->given++;\n', '', 'the last block is not written',
       'unit io/test_pipeline')
mutate('pipeline-rest-lost', 'io/pipeline.c', '        write_out(p, rest.bytes, rest.length);\n',
       '        (void)rest;\n', 'the end of a block that became more than a window is not written',
       'unit io/test_pipeline')
mutate('pipeline-failure-unsaid', 'io/pipeline.c', '    if (error) sink_fail(p->out, error);\n', '',
       'what was not written counts as written', 'unit io/test_pipeline')

mutate('saved-length-of-6-bits', 'value/saved.c', 'if (length < 1 << 6) {',
       'if (length <= 1 << 6) {', 'a length of 64 is saved as another one', 'unit value/test_saved')
mutate('saved-longer-than-its-file', 'value/saved.c',
       '    if (length > source_left_max(in)) return source_refuse(in, "a text is longer than its '
       'file");\n    return length <= UINT32_MAX',
       '    return length <= UINT32_MAX', 'a stated length is room taken before a byte has come',
       'unit value/test_saved')
mutate('saved-count-unchecked', 'value/saved.c',
       'return *count <= source_left_max(in) / bytes_each ||', 'return true ||',
       'a stated count of members is believed', 'unit value/test_saved')
mutate('saved-packed-lengths', 'value/saved.c',
       'if (size == 0 || *length == 0 || *length > UINT32_MAX || *length / EXPANSION_MAX > size)',
       'if (size == 0 || *length == 0)', 'few bytes claim to be gigabytes', 'unit value/test_saved')
mutate('saved-unpacked-short', 'base/compress.c', 'return next == limit;', 'return true;',
       'the end of a text that is unpacked is what stood there', 'unit value/test_saved')
mutate('saved-negative', 'value/saved.c', '*integer = (int64_t)(raw << unused) >> unused;',
       '*integer = (int64_t)raw + (int64_t)(unused & 0);', 'negative integers become positive',
       'unit value/test_saved')
mutate('saved-member-twice', 'ds/distinct.c',
       'listpack_equal(lp, (uint32_t)d->places[i], text))\n            return false;',
       'listpack_equal(lp, (uint32_t)d->places[i], text))\n            break;',
       'a member stands twice in a sorted set',
       'unit value/test_saved')
mutate('stream-take-consumer', 'value/stream_groups.c',
       '    move_sums(from, to, consumer_bytes(c), 1);\n', '',
       'a consumer that is taken out still counts in its stream', 'unit value/test_stream')
mutate('stream-take-pending', 'value/stream_groups.c',
       '    if (count == rax_count(g->pending))\n', '    if (count)\n',
       "DELCONSUMER takes the others' pending entries too", 'unit value/test_stream')

# ---- store ----

mutate('expiry-off-by-one', 'store/keyspace.c',
       'entry_has_deadline(e) && entry_deadline(e) <= clock_',
       'entry_has_deadline(e) && entry_deadline(e) < clock_', 'a key lives a millisecond too long',
       'unit store/test_keyspace')
mutate('lookup-expires-nothing', 'store/keyspace.c',
       '    expire_now(key->keyspace, e, key->hash);\n    return NULL;\n', '    return e;\n',
       'a lookup finds a key that is due', 'unit store/test_keyspace')
mutate('expired-not-counted', 'store/keyspace.c',
       '    if (begin_nsec) latency_note("expire-del", (clock_monotonic_nsec() - '
       'begin_nsec) / 1000000);\n    expired++;\n',
       '    if (begin_nsec) latency_note("expire-del", (clock_monotonic_nsec() - '
       'begin_nsec) / 1000000);\n',
       'expired_keys does not count what lookups expire', 'tcl unit/expire')
mutate('wrong-cause-expired', 'store/keyspace.c',
       '    note_lag(e);\n    take_out(ks, e, hash);\n'
       '    tell_removed(&(struct key){ks, entry_key(e), hash}, KEYSPACE_EXPIRED);',
       '    note_lag(e);\n    take_out(ks, e, hash);\n'
       '    tell_removed(&(struct key){ks, entry_key(e), hash}, KEYSPACE_WRITTEN);',
       'an expired key is told as written', 'unit store/test_observers')
mutate('wrong-cause-evicted', 'store/keyspace.c',
       'tell_removed(&(struct key){ks, entry_key(e), hash}, KEYSPACE_EVICTED);',
       'tell_removed(&(struct key){ks, entry_key(e), hash}, KEYSPACE_EXPIRED);',
       'an evicted key is told as expired',
       'unit store/test_observers')
mutate('skip-first-observer', 'store/keyspace.c',
       'o = observers; *o; o++)\n        if ((*o)->changed) (*o)->changed(key, cause);',
       'o = observers + 1; *o; o++)\n        if ((*o)->changed) (*o)->changed(key, cause);',
       'the first observer hears of no change', 'unit store/test_observers')
mutate('observers-backwards', 'store/keyspace.c',
       '    for (const struct keyspace_observer *const *o = observers; *o; o++)\n'
       '        if ((*o)->changed) (*o)->changed(key, cause);',
       '    int count = 0;\n    while (observers[count]) count++;\n    while (count-- > 0)\n'
       '        if (observers[count]->changed) observers[count]->changed(key, cause);',
       'observers hear in the wrong order', 'unit store/test_observers')
mutate('missed-untold', 'store/keyspace.c',
       '    if (!e && anybody_hears(KEYSPACE_MISSES)) tell_missed(key);\n', '',
       'nobody hears of a miss', 'tcl unit/notify')
mutate('deadline-sum', 'store/keyspace.c', '    ks->deadlines -= entry_deadline(e);\n', '',
       'avg_ttl keeps the deadlines of keys that are gone', 'unit store/test_keyspace')
mutate('next-due-not-lowered', 'store/keyspace.c',
       '    next_due_lower(keyspace_index(ks), entry_deadline(e));\n', '',
       'active expiry does not hear of a nearer deadline', 'unit store/test_expire')
mutate('overwrite-while-read', 'store/keyspace.c',
       'if (__builtin_expect(limbo_nested(), 0)) return false;\n'
       '    if (__builtin_expect(ks->part != NULL, 0)) {',
       'if (__builtin_expect(ks->part != NULL, 0)) {',
       'a nested call writes over what the outer one reads', 'unit store/test_writable')
mutate('hidden-key-stays', 'store/keyspace.c',
       'if (__builtin_expect(expiry_holders, 0)) remove_hidden(ks, entry_key(e), hash);', '',
       'a hidden key stands beside a new one of its name', 'unit store/test_observers')
mutate('one-holder-releases-all', 'store/keyspace.c',
       'expiry_holders = on ? expiry_holders + 1 : expiry_holders - 1;',
       'expiry_holders = on ? expiry_holders + 1 : 0;',
       'a pause that ends lets go what a load holds', 'unit store/test_expiry_held')
mutate('shown-expires', 'store/keyspace.c', 'return !expiry_holders && !due_is_shown;',
       'return !expiry_holders;', 'active expiry takes what a call is shown',
       'unit store/test_expiry_held')
mutate('held-is-deleted', 'store/keyspace.c',
       'keyspace_presence(key) == KEYSPACE_HIDDEN)', 'false)',
       'DEL deletes what is kept hidden', 'unit store/test_expiry_held')
mutate('object-bytes', 'store/keyspace.c',
       '    key->keyspace->entry_bytes += entry_outside_bytes(e);\n', '',
       "a database's bytes lose what collections grow by", 'unit store/test_object')
mutate('expire-cut-uncounted', 'store/expire.c', '    if (!in_time) cut_short++;\n', '',
       'expired_time_cap_reached_count stands still', 'unit store/test_expire')
mutate('expire-forgets-the-rest', 'store/expire.c',
       'credit_nsec -= slice_end_nsec - begin_nsec;\n    return !in_time;',
       'credit_nsec -= slice_end_nsec - begin_nsec;\n    return false;',
       'what a slice had no time for waits for the next turn', 'unit store/test_expire')
mutate('evict-pool-order', 'store/evict.c', 'pool[index - 1].score > score; index--)',
       'pool[index - 1].score < score; index--)', 'the worst candidate is evicted first',
       'unit store/test_evict')
mutate('evict-pool-gone', 'store/evict.c', 'if (!is_there(victim)) continue;', '',
       'a candidate that is gone is evicted', 'unit store/test_evict')
mutate('limbo-outermost', 'store/limbo.c', 'if (--depth == 0 && items) release_all();',
       '--depth;\n    if (items) release_all();', 'an inner call frees what the outer one reads',
       'unit store/test_limbo')

# ---- a save's frontier ----

mutate('frontier-deadline', 'store/keyspace.c',
       '    before_change(ks, e, key->hash);\n'
       '    index_remove(ks, e);\n'
       '    ks->entry_bytes -= entry_bytes(e);\n'
       '    struct entry *moved',
       '    index_remove(ks, e);\n'
       '    ks->entry_bytes -= entry_bytes(e);\n'
       '    struct entry *moved',
       'a save has the new deadline of a key', 'unit store/test_frontier')
mutate('frontier-replaced', 'store/keyspace.c',
       '    before_removal(ks, old, hash);\n',
       '',
       'a save misses what was replaced', 'unit store/test_frontier')
mutate('frontier-new', 'store/keyspace.c',
       '    note_added(ks, e, hash);\n'
       '    key_map_insert',
       '    key_map_insert',
       'a save has a key that is newer', 'unit store/test_frontier')
mutate('frontier-in-place', 'store/keyspace.c',
       '        if (frontier_would_keep(ks->part, e, hash)) return false;\n'
       '        frontier_change(ks->part, e, hash);\n',
       '',
       'a save has a string as it is now', 'unit store/test_frontier')
mutate('frontier-bytes', 'store/keyspace.c',
       '    before_change(ks, existing, hash);\n',
       '',
       'a save has bytes as they are now', 'unit store/test_frontier')
mutate('frontier-collection', 'store/keyspace.c',
       '    before_change_of_members(ks, e, key->hash);\n'
       '    recency_note(e);',
       '    recency_note(e);',
       'a save has a collection as it is now', 'unit store/test_frontier')
mutate('frontier-renamed', 'store/keyspace.c',
       '    before_change(ks, e, from->hash);\n',
       '',
       'a save has a key under its new name', 'unit store/test_frontier')
mutate('frontier-moved', 'store/keyspace.c',
       '    before_change(key->keyspace, e, key->hash);\n',
       '',
       'a large value is saved after its move', 'unit store/test_frontier')
mutate('frontier-moved-mark', 'store/keyspace.c',
       '    frontier_add(NULL, e, key->hash);\n',
       '',
       'a mark goes along with a key that moves', 'unit store/test_frontier')
mutate('frontier-removed', 'store/keyspace.c',
       '    before_removal(ks, e, key->hash);\n'
       '    index_remove',
       '    index_remove',
       'a save misses what was deleted', 'unit store/test_frontier')
mutate('frontier-merged', 'store/frontier.c',
       '    if (part->walk.overlaps && !is_ahead(part, key_map_hash(e))) return;\n',
       '',
       'a save has keys twice where a table shrinks', 'unit store/test_frontier')
mutate('frontier-mark-stays', 'store/frontier.c',
       '    if (had) entry_set_mark(e, 0);\n',
       '',
       'marks stay behind the frontier', 'unit store/test_frontier')
mutate('frontier-same-mark', 'store/frontier.c',
       '    mark = mark % ENTRY_MARK_MAX + 1;\n',
       '',
       'marks of a save that was given up count', 'unit store/test_frontier')
mutate('frontier-clean-exchange', 'store/frontier.c',
       'void frontier_exchange(void) {\n'
       '    clean_database = 0;\n'
       '    clean_walk = (struct key_walk){0};',
       'void frontier_exchange(void) {',
       'marks stay in a database that is exchanged', 'unit store/test_frontier')
mutate('frontier-flushed', 'store/keyspace.c',
       'if (!old.part || !frontier_take_keys(old.part, old.volatiles, old.entry_bytes, way))',
       'if (true)',
       'a database that is emptied is not saved', 'unit store/test_frontier')

mutate('frontier-kept-queue', 'store/frontier.c',
       '        list_append(&save.kept, &w->link);\n',
       '        list_append(&save.standing, &w->link);\n',
       'a large value that is deleted while it waits is not kept', 'unit store/test_frontier')
mutate('frontier-rest-missing', 'store/frontier.c',
       '        save.progress.rushed++;\n        frontier_rush(w->database, e);\n',
       '        save.progress.rushed++;\n',
       'a large value that is changed while it waits is not saved', 'unit store/test_frontier')
mutate('frontier-rushed-uncounted', 'store/frontier.c',
       'rushed_effort += effort_of(e);', 'rushed_effort += 0;',
       'many large values that change in one turn are copied at once', 'unit store/test_frontier')
mutate('frontier-turn-forgotten', 'store/frontier.c',
       'void frontier_turn(void) { save.rushed_effort = 0; }',
       'void frontier_turn(void) {}',
       'after some values writers of large ones wait always', 'unit store/test_frontier')
mutate('frontier-standing-freed', 'store/frontier.c',
       'if (part->walk.done && (part != save.now || list_is_empty(&save.standing))) return false;',
       'if (part->walk.done) return false;',
       'a database is freed with values that wait to be saved', 'unit store/test_frontier')
mutate('frontier-forgets-half', 'store/frontier.c',
       '        e->flags &= (uint8_t)~ENTRY_WAITS;\n        end_shadow(e);\n    }\n'
       '    set_begun(NULL);',
       '        end_shadow(e);\n    }\n    set_begun(NULL);',
       'in a child entries wait for a save that is not its own', 'unit store/test_frontier')
mutate('frontier-number', 'store/frontier.c',
       '        part->database = i;\n', '        part->database = 0;\n',
       'all keys are saved as those of database 0', 'unit store/test_frontier')
mutate('frontier-leaving', 'store/frontier.c',
       '    list_append_all(&leaving, &save.kept);\n', '    while (!list_is_empty(&save.kept))\n'
       '        wait_end(LIST_ENTRY(save.kept.next, struct waiting, link));\n',
       'a save that is given up frees all that it kept in one turn', 'unit store/test_frontier')
mutate('frontier-kept-bytes', 'store/frontier.c',
       '    w->kept_bytes = entry_bytes(e);\n    note_kept((ptrdiff_t)w->kept_bytes);\n',
       '    w->kept_bytes = entry_bytes(e);\n',
       'what waits to be saved does not count as free', 'unit store/test_frontier')
mutate('lazyfree-all-at-once', 'store/lazyfree.c',
       '    return entry_free_effort(e) > LAZYFREE_BLOCKS_AT_ONCE ? put_off : free_now;\n',
       '    return free_now;\n', 'DEL of a large value takes one long turn',
       'unit store/test_lazyfree')
mutate('lazyfree-own-is-full', 'store/lazyfree.c',
       '    bool full = background_bytes() + overflow.bytes >= pending_max;\n',
       '    bool full = atomic_load(&value_bytes) >= pending_max;\n',
       "what the main thread frees fills the other thread's room", 'unit store/test_lazyfree')
mutate('lazyfree-no-help', 'store/lazyfree.c',
       'queue == &overflow || queue->bytes > pending_max', 'queue == &overflow',
       'values that are not lazy are bounded by nothing', 'unit store/test_lazyfree')

# ---- peer ----

mutate('peer-answer-unsent', 'peer/peer_client.c',
       'return c->asked[c->first].end <= c->written_bytes;', 'return true;',
       'a reply answers a request that was not written', 'unit peer/test_peer_client')
mutate('peer-answer-held', 'peer/peer_client.c',
       'if (!lives || !watch_client(c) || peer_has_input(c->peer))',
       'if (!lives || !watch_client(c))',
       'an answer that came before its request waits for more input',
       'unit peer/test_peer_client')
mutate('peer-patience-by-pushes', 'peer/peer_client.c',
       '        take_reply(c, reply);\n', '        note_step(c);\n        take_reply(c, reply);\n',
       'pushes without end keep a late connection', 'unit peer/test_peer_client')
mutate('peer-nested', 'peer/peer_client.c',
       '    if (loop_depth(c->settings.loop) > 1) return;\n', '',
       'answers are told in the midst of a command', 'unit peer/test_peer_client')
mutate('peer-patience-stops-pause', 'peer/peer_client.c',
       'if (c->by_turns || c->state == PEER_CLIENT_CLOSED) return;\n    stop_timer(c);',
       'if (c->by_turns) return;\n    stop_timer(c);',
       'a connection whose patience is set between is not begun again',
       'unit peer/test_peer_client')

# ---- net ----

mutate('words-behind-bytes', 'net/batch.c',
       'place < q->bytes + q->length;', 'place <= q->bytes + q->length;',
       'words of a held inline request are moved with bytes that they lie behind',
       'unit net/test_hold')
mutate('qbuf-minus', 'net/batch.c', 'return query_used(c->query) + query_used(c->held);',
       'return query_used(c->query) - query_used(c->held);', "CLIENT LIST's qbuf",
       'unit net/test_hold')
mutate('qbuf-filling', 'net/batch.c', 'size_t used = q->length + (q->filling ?',
       'size_t used = q->length - (q->filling ?', 'qbuf of a large argument', 'unit net/test_batch')
mutate('inline-words-kept', 'net/batch.c',
       '    if (batch.inline_words.length) buffer_clear(&batch.inline_words);\n', '',
       "inline requests' words are kept for ever", 'unit net/test_batch')
mutate('resumed-without-limit', 'net/batch.c', 'if (clock_monotonic_nsec() >= end_nsec) break;',
       'if (clock_monotonic_nsec() < 0 && end_nsec) break;', 'clients that go on hold the loop',
       'unit net/test_hold')
mutate('read-interrupted', 'net/batch.c',
       'if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;',
       'if (got < 0 && errno == EAGAIN) return;', 'a read that is interrupted closes its client',
       'unit net/test_batch_cut')
mutate('parser-rebase', 'net/batch.c', '    request_parser_rebase(&q->parser, start, q->bytes);\n',
       '', 'arguments of an incomplete request point to where it was read', 'unit net/test_batch')
mutate('failed-write', 'net/reply.c', '        client_close_later(c);\n        return -1;',
       '        return -1;', 'a failed write closes nobody', 'unit net/test_reply')
mutate('write-interrupted', 'net/reply.c', 'if (errno == EAGAIN || errno == EINTR) return 0;',
       'if (errno == EAGAIN) return 0;', 'a write that is interrupted closes its client',
       'unit net/test_reply_cut')
mutate('short-write-lost', 'net/reply.c',
       'chunk_append(c, bytes + sent, r->length - (size_t)sent);',
       'chunk_append(c, bytes, r->length - (size_t)sent);', 'a short write repeats bytes',
       'unit net/test_reply_cut')
mutate('chunk-growth-unnoted', 'net/reply.c',
       '    client_memory_note_chunks(c, (ptrdiff_t)good);\n', '',
       'who gets messages between turns weighs nothing', 'unit net/test_client_memory')
mutate('soft-limit-boundary', 'net/limits.c', '/ 1000000000 > limit->soft_seconds;',
       '/ 1000000000 >= limit->soft_seconds;', 'the soft limit acts a second early',
       'unit net/test_limits')
mutate('hard-limit-boundary', 'net/limits.c', 'bytes >= (size_t)limit->hard_bytes;',
       'bytes > 2 * (size_t)limit->hard_bytes;', 'the hard limit acts at twice its size',
       'unit net/test_limits')

mutate('below-own-not-apart', 'net/reply.c', '        output.own = take_chunks(runs);\n', '',
       'a message stands within half a reply', 'unit exec/test_run')
mutate('below-later-kept', 'net/reply.c', '            put_before(c, o->later);\n', '',
       'what was set apart for a client that is killed is never freed', 'unit exec/test_run')
mutate('below-later-early', 'net/reply.c',
       'if (output.later.first && output.current == c) output_spill();',
       'if (false) output_spill();',
       'what was set apart comes before the reply in the output buffer', 'unit exec/test_run')
mutate('below-written', 'net/reply.c',
       'if (__builtin_expect(c->flags & (CLIENT_BELOW | CLIENT_AWAY), 0))',
       'if (__builtin_expect(c->flags & CLIENT_AWAY, 0))',
       'chunks leave before the outer output', 'unit exec/test_run')
mutate('below-read', 'net/batch.c',
       'if (c->flags & (CLIENT_CLOSING | CLIENT_BELOW)) return;\n    note_turn();\n    ready',
       'if (c->flags & CLIENT_CLOSING) return;\n    note_turn();\n    ready',
       'a client whose request runs is read', 'unit exec/test_run')
mutate('below-closed', 'net/client.c', '        if (!(c->flags & CLIENT_BELOW)) {\n',
       '        if (true) {\n', 'a client is taken leave of while its request runs',
       'unit exec/test_run')

# ---- publish, exec ----

mutate('noloop-credit', 'publish/tracking.c',
       'return credited && !captured ? credited : batch_running_client();',
       'return captured ? credited : batch_running_client();',
       'who waited is told of what it moved itself', 'tcl unit/tracking NOLOOP')
mutate('noloop-mixed', 'publish/tracking.c', '    else if (append_keys(n, id, &n->others))\n',
       '    else if (append_keys(n, 0, &n->others))\n',
       "NOLOOP with others' keys tells one's own too", 'unit publish/test_tracking')
mutate('notify-database', 'publish/notify.c', 'number_format_int64(digits, keyspace_index(ks))',
       'number_format_int64(digits, 0)', 'events of all databases come from 0', 'tcl unit/notify')
mutate('watch-forgotten', 'exec/transaction.c', '        t->command_flags |= q->command->flags;\n',
       '', 'EXEC runs writes where memory is full', 'tcl unit/multi')
mutate('transaction-leaves-uncounted', 'exec/transaction.c',
       '        memory_move(NULL, q->bytes, MEMORY_LEAVING, MEMORY_CLIENTS);\n', '',
       'what was given up is taken off the clients twice', 'unit exec/test_transaction')
mutate('transaction-leaving-lost', 'exec/transaction.c',
       '        leaving_last->next = t->first;\n', '        leaving_first = t->first;\n',
       'a queue given up behind another one loses that', 'unit exec/test_transaction')
mutate('blocked-order', 'store/key_table.c', 'list_append(&row->links, link);',
       'list_prepend(&row->links, link);', 'the last that waits is served first',
       'tcl unit/type/list')
mutate('blocked-deadline', 'exec/blocked.c', 'if (end < look_msec) loop_timer_start',
       'if (end > look_msec) loop_timer_start', 'a nearer time limit does not set the timer',
       'tcl unit/wait')
mutate('serve-order', 'exec/run.c', 'if (outermost) blocked_serve();',
       'if (!outermost) blocked_serve();', 'commands of EXEC serve who waits, others do not',
       'tcl unit/type/list')

mutate('nested-gate-left-out', 'exec/run.c',
       '    if (innermost) gate_set(&run_gate, true);\n', '',
       'an endless script in the innermost turn cannot be ended', 'unit exec/test_run')
mutate('nested-gate-forgotten', 'exec/run.c',
       '    if (innermost) gate_set(&run_gate, false);\n', '',
       'scripts are refused for ever', 'unit exec/test_run')

# ---- edits and effects ----

mutate('edit-tells-nobody', 'exec/edit.c',
       'edit_tell(const struct edit *edit) { keyspace_tell_written(&edit->key); }',
       'edit_tell(const struct edit *edit) {}', 'who watches or tracks a string hears of no write',
       'unit exec/test_edit')
mutate('edit-tells-nobody-of-values', 'exec/edit.c',
       '    if (telling == TELL_ALL) keyspace_tell_written(&edit->key);\n', '',
       'who watches or tracks a collection hears of no write', 'unit exec/test_edit')
mutate('edit-tells-before-the-change', 'exec/edit.c',
       '    bool emptied = edit->state != EDIT_CHANGED && put_value_back(edit, telling != '
       'TELL_NOTHING);\n',
       '    if (telling == TELL_ALL) keyspace_tell_written(&edit->key);\n'
       '    bool emptied = edit->state != EDIT_CHANGED && put_value_back(edit, telling != '
       'TELL_NOTHING);\n    if (telling == TELL_ALL) telling = TELL_EVENT;\n',
       'observers look at what was', 'unit exec/test_edit')
mutate('edit-event-first', 'exec/edit.c',
       '    if (telling == TELL_ALL) keyspace_tell_written(&edit->key);\n'
       '    if (event) edit_announce(edit, class, event);\n',
       '    if (event) edit_announce(edit, class, event);\n'
       '    if (telling == TELL_ALL) keyspace_tell_written(&edit->key);\n',
       'events stand before what observers send', 'unit exec/test_effects')
mutate('edit-forgets-del', 'exec/edit.c',
       '    if (emptied) edit_announce(edit, NOTIFY_GENERIC, "del");\n', '',
       'no "del" of a key that was emptied', 'unit exec/test_effects')
mutate('edit-keeps-the-emptied', 'exec/edit.c',
       '        if (!changed || !is_empty(edit->type, edit->value)) return false;\n',
       '        return false;\n', 'an empty collection stays', 'unit exec/test_edit')
mutate('edit-makes-the-empty', 'exec/edit.c',
       '        if (changed)\n            edit->entry = keyspace_put_object',
       '        if (changed || true)\n            edit->entry = keyspace_put_object',
       'what was made and not used stands there', 'unit exec/test_edit')
mutate('edit-counts-twice', 'exec/edit.c', 'TELL_NOTHING) return;\n    edit_count(changes);\n',
       'TELL_NOTHING) return;\n    edit_count(changes);\n    edit_count(changes);\n',
       'rdb_changes_since_last_save counts twice', 'unit exec/test_edit')
mutate('expiry-is-written', 'store/keyspace.c', '    expired++;\n    gone++;\n',
       '    expired++;\n    written++;\n', 'who reads a dead key has changed something',
       'unit exec/test_effects')
mutate('edit-nothing-is-told', 'exec/edit.c', 'changes ? TELL_ALL : TELL_NOTHING, class',
       'TELL_ALL, class', 'what changed nothing is told', 'unit exec/test_edit')
mutate('edit-untold-is-told', 'exec/edit.c', 'changes ? TELL_EVENT : TELL_NOTHING',
       'changes ? TELL_ALL : TELL_NOTHING', "a group's changes fail who watches the stream",
       'unit exec/test_edit')
mutate('edit-rename-source', 'exec/edit.c',
       '    keyspace_tell_written(&from->key);\n    keyspace_tell_written(to);\n',
       '    keyspace_tell_written(to);\n', 'who watches the old name hears nothing of RENAME',
       'unit exec/test_edit')
mutate('edit-move-target', 'exec/edit.c', 'const struct key target = {to, from->key.name',
       'const struct key target = {from->key.keyspace, from->key.name',
       'MOVE tells of the wrong database', 'unit exec/test_edit')
mutate('edit-copy-untold', 'exec/edit.c',
       '    keyspace_put_copy(to, from->entry);\n    keyspace_tell_written(to);\n',
       '    keyspace_put_copy(to, from->entry);\n', 'COPY tells nobody', 'unit exec/test_edit')
mutate('edit-store-nothing', 'exec/edit.c',
       '        edit_delete(key, lazyfree_wanted(LAZYFREE_SERVER_DEL));\n', '',
       'a STORE without result leaves what was there', 'unit exec/test_edit')
mutate('flush-uncounted', 'commands/keys.c', 'edit_count(edit_flush(keyspace_at(i), way));',
       '(void)edit_flush(keyspace_at(i), way);', 'FLUSHDB is no change, and has no effect',
       'unit exec/test_effects')
mutate('swap-uncounted', 'store/keyspace.c',
       '    next_due_set(keyspace_index(b), bound);\n    written++;\n',
       '    next_due_set(keyspace_index(b), bound);\n', 'SWAPDB is no change, and has no effect',
       'unit exec/test_edit')

mutate('effects-no-frame-of-exec', 'exec/effects.c', '{ framed = wanted != 0; }', '{}',
       'an EXEC of one command has no MULTI', 'unit exec/test_effects')
mutate('effects-frame-stays', 'exec/effects.c', '    framed = said = false;\n',
       '    said = false;\n', 'what follows an EXEC is framed', 'unit exec/test_effects')
mutate('effects-no-frame-of-several', 'exec/effects.c', 'others > (framed ? 0 : 1)',
       'others > 0 && framed', 'two effects of one command can be torn apart',
       'unit exec/test_effects')
mutate('effects-frame-of-one', 'exec/effects.c', 'others > (framed ? 0 : 1)', 'others > 0',
       'each command is framed', 'unit exec/test_effects')
mutate('effects-removal-forgotten', 'exec/effects.c',
       'if (cause == KEYSPACE_WRITTEN || !wanted) return;',
       'if (cause <= KEYSPACE_EVICTED) return;',
       'replicas keep keys that have expired here', 'unit exec/test_effects')
mutate('effects-removal-uninterested', 'exec/effects.c',
       '    keyspace_add_interest(KEYSPACE_REMOVALS, (int)(wanted != 0) - (int)before);\n', '',
       'where nobody else listens replicas keep keys that have expired', 'unit exec/test_effects')
mutate('effects-removal-within', 'exec/effects.c',
       'collect_delete(key, EFFECT_BOTH, lazily, true);',
       'collect_delete(key, EFFECT_BOTH, lazily, false);',
       "a reader's dead key is framed with the write", 'unit exec/test_effects')
mutate('effects-removal-waits', 'exec/effects.c',
       '    if (!call_running()) effects_unit_end();\n', '',
       'what expires between commands waits for the next one', 'unit exec/test_effects')
mutate('effects-removal-lazily', 'exec/effects.c',
       '{lazily ? SLICE("UNLINK") : SLICE("DEL"), key->name}',
       '{lazily ? SLICE("DEL") : SLICE("UNLINK"), key->name}', 'the wrong way to free',
       'unit exec/test_effects')
mutate('effects-of-no-change', 'exec/effects.c', 'how == COMMAND_PROPAGATES_CHANGES && changed',
       'how == COMMAND_PROPAGATES_CHANGES', 'reads are logged', 'unit exec/test_effects')
mutate('effects-and-request', 'exec/effects.c', '    if (!said) {\n', '    if (true) {\n',
       "a command's own effects stand beside its request", 'unit exec/test_effects')
mutate('effects-said-stays', 'exec/effects.c', '    said = false;\n    seen = keyspace_written();\n'
       '    if (outermost)', '    seen = keyspace_written();\n    if (outermost)',
       'what one queued command says silences the next', 'unit exec/test_effects')
mutate('effects-seen-stays', 'exec/effects.c', '    said = false;\n    seen = keyspace_written();\n'
       '    if (outermost)', '    said = false;\n    if (outermost)',
       'reads that follow a write in an EXEC are logged', 'unit exec/test_effects')
mutate('effects-interest-within', 'exec/effects.c',
       '        begin_anew();\n        beginnings++;\n', '',
       'what was collected for nobody is handed on later', 'unit exec/test_effects')
mutate('effects-wrong-reader', 'exec/effects.c',
       'if (e->readers & sink->reader && (e->alone ? alone : others))',
       'if (e->alone ? alone : others)', "the stream gets the log's form", 'unit exec/test_effects')
mutate('effects-unwanted-kept', 'exec/effects.c',
       '    readers &= wanted;\n    if (readers) collect_effect(effect_copy(argc, argv), ks, '
       'readers, argc, alone);\n',
       '    collect_effect(effect_copy(argc, argv), ks, readers, argc, alone);\n',
       'what nobody wanted is handed on later', 'unit exec/test_effects')
mutate('effects-database', 'exec/effects.c', '    e->database = keyspace_index(ks);\n',
       '    e->database = 0;\n', 'all effects are about database 0', 'unit exec/test_effects')
mutate('effects-sink-stays', 'exec/effects.c', '    find_active();\n    keyspace_add_interest',
       '    keyspace_add_interest', 'a sink that is off takes', 'unit exec/test_effects')
mutate('bytes-of-any-form', 'net/request.c', '        if (!ends_line(at)) return false;\n    }\n',
       '    }\n', 'a request is logged that no loader reads', 'unit net/test_request')
mutate('gather-in-vain', 'aof/aof_gather.c', 'in_vain ? more : 0', '0',
       'each sync waits for clients that do not come', 'unit aof/test_aof_gather')
mutate('gather-not-extended', 'aof/aof_writer.c',
       '        if (job->gather_nsec) extend_job();\n', '',
       'a sync waits, and takes nothing of what comes', 'unit aof/test_aof_writer')
mutate('effects-text', 'exec/effects.c', '        text += argv[i].length;\n', '',
       'the words of an effect overwrite each other', 'unit exec/test_effects')
mutate('effects-after-the-served', 'exec/run.c',
       '    if (__builtin_expect(effects_wanted() != 0, 0)) effects_call_end(call, '
       'outermost);\n    if (outermost) blocked_serve();\n',
       '    if (outermost) blocked_serve();\n'
       '    if (__builtin_expect(effects_wanted() != 0, 0)) effects_call_end(call, '
       'outermost);\n',
       'who was served has taken what nobody gave', 'unit exec/test_effects')
mutate('effects-served-together', 'exec/blocked.c',
       'served = w->kind->serve(w->client, w->state, key);\n    effects_unit_end();\n',
       'served = w->kind->serve(w->client, w->state, key);\n',
       'clients that were served are one unit', 'unit exec/test_effects')

# ---- gates ----

mutate('gate-origins', 'exec/gates.c',
       'if (!(gate->origins & GATE_FROM(call->origin))) return GATE_OPEN;', '',
       'what the log has is refused', 'unit exec/test_gates')
mutate('gate-lacking', 'exec/transaction.c',
       '        t->lacking_flags |= ~q->command->flags;\n', '',
       'EXEC runs what may not run where keys are stale', 'unit exec/test_gates')

mutate('reply-before-record', 'net/reply.c', 'return record <= record_safe;',
       'return record <= record_safe + 1;', 'a reply leaves before its record',
       'unit net/test_reply')
mutate('unit-without-record', 'exec/run.c',
       '            effects_unit_begin();\n', '            (void)outermost;\n',
       'replies do not wait for their unit', 'unit exec/test_records')
mutate('within-runs-again', 'net/batch.c', '        r->error = run_already;\n', '',
       'what a nested turn has run is run again', 'unit exec/test_run')
mutate('within-finishes-below', 'net/client.c', 'if (!(c->flags & CLIENT_BELOW)) {',
       'if (c->id) {', 'a client is finished while its request runs outside', 'unit exec/test_run')
mutate('within-reads-below', 'net/batch.c',
       'if (c->flags & (CLIENT_CLOSING | CLIENT_BELOW)) return;',
       'if (c->flags & CLIENT_CLOSING) return;', 'the running client is read in a nested turn',
       'unit exec/test_run')
mutate('within-reads-parsed', 'net/batch.c', '        if (b->reading == c) return true;\n', '',
       'a client is read while its bytes are parsed outside', 'unit exec/test_run')
mutate('within-writes-below', 'net/reply.c',
       'list_append(c->flags & CLIENT_BELOW ? &below : &away, &c->write_link);',
       'list_append(&away, &c->write_link);',
       'a message to the running client waits for a thread that has nothing', 'unit exec/test_run')
mutate('within-says-nothing-of-units', 'exec/effects.c', '    if (nested) depend_on_open_unit();\n',
       '', 'who writes in a nested turn is answered before the record', 'unit exec/test_run')
mutate('within-limbo-stays', 'store/limbo.c', '    depth = paused;\n', '',
       'an outer call goes on without a limbo', 'unit exec/test_run')

# ---- commands ----

mutate('set-xx', 'commands/string.c', '(options.flags & SET_XX && !edit.entry)) {',
       '(options.flags & SET_XX && edit.entry)) {', 'SET XX', 'tcl unit/string')
mutate('set-keepttl', 'commands/string.c',
       'options.flags & SET_KEEPTTL ? KEYSPACE_KEEP_DEADLINE : ENTRY_NO_DEADLINE;',
       'options.flags & SET_KEEPTTL ? ENTRY_NO_DEADLINE : KEYSPACE_KEEP_DEADLINE;', 'SET KEEPTTL',
       'tcl unit/expire')
mutate('expire-in-the-past', 'commands/expire.c', '} else if (keyspace_is_over(deadline)) {',
       '} else if (keyspace_is_over(deadline + 1000)) {',
       'EXPIRE with a negative time leaves the key', 'tcl unit/expire')
mutate('ttl-rounding', 'commands/expire.c', '(left % unit + unit / 2) / unit)',
       '(left % unit) / unit)', 'TTL rounds down', 'tcl unit/expire')
mutate('getdel-keeps', 'commands/string.c',
       '    edit_delete(&key, lazily);\n    effect_add_delete(&key, lazily);',
       '    effect_add_delete(&key, lazily);', 'GETDEL deletes nothing', 'tcl unit/string')
mutate('hdel-last-field', 'commands/hash.c', 'for (int i = 2; v && i < call->argc; i++) deleted +=',
       'for (int i = 2; v && i < call->argc - 1; i++) deleted +=', 'HDEL leaves its last field',
       'tcl unit/type/hash')
mutate('hdel-uncounted', 'commands/hash.c', 'edit_close(&edit, deleted, NOTIFY_HASH, "hdel");',
       'edit_close(&edit, 0, NOTIFY_HASH, "hdel");',
       'HDEL is no change: WATCH and tracking miss it', 'tcl unit/multi')
mutate('hincrby-overflow', 'commands/hash.c',
       'if (__builtin_add_overflow(value, increment, &value)) {\n'
       '        reply_error(call->client, "increment',
       'if (__builtin_add_overflow(value, increment, &value) && 0) {\n'
       '        reply_error(call->client, "increment',
       'HINCRBY wraps around', 'tcl unit/type/hash')

# ---- script ----

mutate('script-bit-least-count', 'script/lib_bit.c',
       'if (count < -HEX_DIGITS_MAX || count > HEX_DIGITS_MAX)', 'if (count > HEX_DIGITS_MAX)',
       'the least count of digits is negated', 'unit script/test_lib_bit')
mutate('script-struct-sum', 'script/lib_struct.c', 'size <= data->length - data->position',
       'data->position + size <= data->length', 'a size that wraps around reads beyond the data',
       'unit script/test_lib_struct')
mutate('script-buffer-sum', 'script/lib.c', 'more > LIB_RESULT_MAX - buffer->used',
       'buffer->used + more > LIB_RESULT_MAX', 'a length that wraps around is no bound',
       'unit script/test_libraries')
mutate('script-buffer-of-two', 'script/lib.c',
       '    lua_pushnil(L);\n    lua_rawseti(L, -3, 1);\n    lua_remove(L, -2);\n',
       '    lua_remove(L, -2);\n', 'two calls write into one buffer', 'unit script/test_libraries')
mutate('script-msgpack-step', 'script/lib_msgpack.c', '        lib_step(in->L, &in->steps);\n', '',
       'a script cannot be stopped while it unpacks', 'unit script/test_libraries')
mutate('script-json-depth', 'script/lib_json.c',
       'json->depth > json->settings->decode_depth || !lua_checkstack(json->L, 3)',
       'json->depth > json->settings->decode_depth', 'deep texts overflow the Lua stack',
       'unit script/test_libraries')
mutate('script-json-index', 'script/lib_json.c', '    json->index = -1;\n', '',
       'elements behind a nested array overwrite others', 'unit script/test_libraries')

mutate('script-memory-limit', 'script/engine.c',
       '(!held && (all > most || more > most - all))',
       '(!held && (all > most || more >= most - all))',
       'the last byte below lua-memory-limit is refused', 'unit script/test_engine')
mutate('script-shrinking-refused', 'script/engine.c', '    if (size <= old_size) {\n',
       '    if (size < old_size && used < engine_bytes_max()) {\n',
       'Lua is refused a block that shrinks', 'unit script/test_engine')
mutate('script-spares-unbounded', 'script/engine.c',
       'if (list > SPARE_LISTS || spares[list].bytes + 1 > SPARE_BYTES_MAX) return false;',
       'if (list > SPARE_LISTS) return false;', 'what a script has freed is never given back',
       'unit script/test_engine')
mutate('script-spare-of-less', 'script/engine.c',
       '    size_t list = spare_list(size);\n    if (list > SPARE_LISTS || spares[list].bytes',
       '    size_t list = spare_list(size) + 1;\n    if (list > SPARE_LISTS || spares[list].bytes',
       'Lua gets a block that is too small', 'unit script/test_engine')
mutate('script-latest-stays', 'script/cache.c', '    scripts = NULL;\n    latest = NULL;\n',
       '    scripts = NULL;\n', 'a script that is gone is found', 'unit script/test_cache')
mutate('script-without-rights', 'server/wiring.c', '    &script_gate,         &gate_user,',
       '    &script_gate,', 'a script may what its caller may not',
       'tcl unit/scripting ACL')
mutate('script-loses-memory-gate', 'script/gates.c',
       'gate_set(&script_gate_memory, memory_limit_lacked());',
       'gate_set(&script_gate_memory, false);', 'a script writes where there is no memory',
       'tcl unit/scripting maxmemory')
mutate('script-memory-gate-stays', 'script/gates.c',
       '    if (command_flags & COMMAND_WRITE) gate_set(&script_gate_memory, false);\n', '',
       'a script that has written is stopped half done', 'tcl unit/scripting maxmemory')
mutate('script-unframed', 'script/bridge.c',
       '    if (command->flags & COMMAND_WRITE && script.by_effects) effects_frame();\n', '',
       "a script's effects are not framed", 'tcl unit/scripting Effects')
mutate('script-survives-kill', 'script/script.c',
       '    engine_set_hook(L, script_hook, LUA_MASKCOUNT, 1);\n', '',
       'a coroutine that catches errors survives SCRIPT KILL', 'tcl unit/scripting coroutines')
mutate('script-writer-killed', 'script/script.c',
       '    if (bridge_wrote()) return SCRIPT_HAS_WRITTEN;\n', '',
       'SCRIPT KILL leaves half a script', 'tcl unit/scripting written')
mutate('script-writer-stopped', 'script/script.c',
       'running.repeats || bridge_wrote()) return false;\n    log_warning',
       'running.repeats) return false;\n    log_warning',
       'SIGTERM leaves half a script', 'tcl integration/signals SIGTERM')
mutate('script-of-database-0', 'script/bridge.c',
       '    c->database = eval->client->database;\n', '    c->database = 0;\n',
       'a script runs in another database than its caller', 'tcl unit/scripting database')

# ---- snapshots and logs ----

mutate('snapshot-counts-later-changes', 'save/snapshot.c',
       'note_saved(state.changes_at_start);', 'note_saved(keyspace_changes());',
       'what is changed while a child saves counts as saved', 'tcl integration/snapshot child')
mutate('snapshot-failure-unnoticed', 'save/snapshot.c',
       '    if (!end->on_purpose) state.failed = true;\n', '',
       'writes go on though nothing is saved', 'tcl integration/snapshot BGSAVE')
mutate('snapshot-leaves-file', 'save/snapshot.c',
       '    if (end->signal || end->on_purpose) remove_temporary(end->id);\n', '',
       'a killed child leaves its file', 'tcl integration/snapshot BGSAVE')
mutate('snapshot-within-exec', 'save/snapshot.c',
       'saver_is_busy() || call->origin == CALL_QUEUED)', 'saver_is_busy())',
       'BGSAVE in EXEC saves half a transaction', 'tcl integration/snapshot EXEC')
mutate('snapshot-checksum', 'rdb/rdb_load.c',
       'if (absent || stated == sum) {', 'if (absent || stated != sum + 1) {',
       'a damaged file is loaded', 'tcl integration/snapshot damaged')
mutate('snapshot-loads-the-dead', 'rdb/rdb_load.c',
       'over && !l->how->keeps_expired;', 'over && l->how->keeps_expired;',
       'keys that are over come back with a load', 'tcl integration/snapshot RELOAD')

# ---- rows ----

mutate('keys-counted', 'command/command_keys.c', 'count > s->argc - count_at - 1',
       'count > s->argc', 'keys are named that are no arguments', 'unit command/test_command_keys')
mutate('keys-of-migrate', 'replication/migrate.c',
       's->argv[3].length ? s->argc : FIRST_OPTION', 's->argc',
       'ACL does not see the keys of MIGRATE', 'unit command/test_command_keys')
mutate('row-refused-in-part', 'command/command.c', '            forget_from(first);\n', '',
       'a table that is refused leaves commands behind', 'unit command/test_command')
mutate('option-name-taken', 'option/option.c',
       'if (name_is_taken(&rows[i], rows, i)) return false;',
       'if (name_is_taken(&rows[i], rows, 0)) return false;', 'two options have one name',
       'unit option/test_option')
mutate('row-without-context', 'commands/zset_range.c',
       'Members of a range of scores, the highest first.", .context = &scores_downwards',
       'Members of a range of scores, the highest first.", .context = &scores_upwards',
       'ZREVRANGEBYSCORE begins at the wrong end', 'tcl unit/type/zset')

# ---- saves that walk ----

WALK = 'unit save/test_walk'
mutate('walk-no-aside', 'save/walk.c', 'if (walk.record.entry && walk.record.entry != e) {',
       'if (false) {', 'a key is written in the midst of a large value', WALK)
mutate('walk-aside-lost', 'save/walk.c', '    if (all) join_lanes();\n', '',
       'what was copied beside a large value is not written', WALK)
mutate('walk-aside-database', 'save/walk.c',
       '    if (l->database >= 0) walk.lane.database = l->database;\n', '',
       'keys behind a large value are in the wrong database', WALK)
mutate('walk-record-lost', 'save/walk.c', '    walk.record = outer;\n', '',
       'a large value that others overtook is written in part', WALK)
mutate('walk-part-ends', 'save/walk.c', 'p->ends = is_last && length == text.length;',
       'p->ends = length == text.length;', 'a long text is written as several', WALK)
mutate('walk-text-offset', 'save/walk.c', '    rest.bytes += walk.record.copied;\n', '',
       'each part of a long text is its first', WALK)
mutate('walk-large-deadline', 'save/walk.c', '        piece_write_deadline(e, &t->sink);\n', '',
       'a log that is written anew has no deadlines of large values', WALK)
mutate('walk-nobody-waits', 'save/walk.c', 'return is_far_behind() || any_key_awaits(call);',
       'return is_far_behind();', 'who writes to a large value does not wait', WALK)
mutate('walk-queue-unseen', 'exec/gates.c',
       'transaction_each_call(call->client, visit, context);', 'visit(call, context);',
       'EXEC is asked about its own keys, and has none', WALK)
mutate('walk-asks-the-first', 'exec/transaction.c',
       '        if (!visit(&call, context)) return;\n',
       '        visit(&call, context);\n        return;\n',
       'of what is queued only the first is asked', 'unit exec/test_gates')
mutate('walk-asks-for-ever', 'save/walk.c', 'return !ask->awaits && --ask->left > 0;',
       'return !ask->awaits;', 'all of a queue is looked through at each end of a copy', WALK)
mutate('walk-before-queue', 'server/wiring.c',
       '    &gate_queue,            /* the client is between MULTI and EXEC */\n'
       '    &aof_gate,              /* the log\'s queue is at its bound */\n    &walk_gate, ',
       '    &walk_gate,\n    &gate_queue,\n    &aof_gate, ', 'a command waits to be queued', WALK)
mutate('walk-row-of-lset', 'commands/list.c', '4, GROW, ACL_LIST, CHANGES(LIST, ONE_KEY),',
       '4, GROW, ACL_LIST, CHANGES(WHOLE, ONE_KEY),',
       'a row that says too little', 'tcl integration/walk writers')
mutate('walk-removal-waits', 'store/frontier.c',
       '    if (!entry_changes_cover(changes, e->type, false)) return true;\n', '',
       'who removes a large value waits for its copy', 'unit store/test_frontier')
mutate('walk-far-behind', 'save/walk.c', 'return is_far_behind() || any_key_awaits(call);',
       'return any_key_awaits(call);', 'memory has no bound while a disk stands still', WALK)
mutate('walk-never-rests', 'save/walk.c',
       'return scribe_waiting(walk.scribe) >= WAITING_BYTES_MAX && !is_urgent();', 'return false;',
       'all is copied though nothing is written', WALK)
mutate('walk-holds-for-ever', 'save/walk.c',
       '    gate_set(&walk_gate, false);\n    let_go();\n', '    gate_set(&walk_gate, false);\n',
       'who waits for a save that is given up waits on', WALK)
mutate('walk-recency', 'save/walk.c',
       'walk.with_recency = job->format != SAVER_COMMANDS && piece_has_recency();',
       'walk.with_recency = false;', 'a save forgets which keys are used', WALK)
mutate('walk-database-zero', 'save/walk.c', '*l = (struct lane){.database = -1};',
       '*l = (struct lane){.database = 0};', 'keys stand before the first database', WALK)
mutate('scribe-tail', 'save/scribe.c', '    sink_write(out, tail.bytes, tail.length);\n',
       '    (void)tail;\n', 'what a snapshot says behind its keys is missing',
       'unit save/test_scribe')
mutate('scribe-parts', 'save/scribe.c',
       '        if (piece->ends) pass_on_whole(s, piece->how);\n',
       '        pass_on_whole(s, piece->how);\n', 'parts of a text are compressed one by one', WALK)
mutate('scribe-first-error', 'save/scribe.c', '    if (!s->error) s->error = error;\n',
       '    s->error = ECANCELED;\n', 'the log does not say why a save failed', WALK)
mutate('scribe-count', 'save/scribe.c', '    atomic_fetch_sub(&s->waiting, sizeof(*b));\n', '',
       'a save stands still once 8 MB were copied', WALK)
mutate('scribe-sync', 'save/scribe.c',
       '    if (!file_sync(w->fd) && errno != EINVAL) writer_fail(w, errno);\n',
       '    (void)file_sync(w->fd);\n',
       'a save whose sync fails counts as good', 'unit save/test_scribe')
mutate('scribe-too-late', 'save/scribe.c',
       'if (is_given_up(s) || atomic_load(&w->left)) writer_fail(w, ECANCELED);',
       '(void)0;',
       'data that FLUSHALL has deleted comes back by a file', 'unit save/test_scribe')
mutate('scribe-one-for-all', 'save/scribe.c', '        any = any || !w->error;\n',
       '        any = !error;\n', 'who fails ends a save for those that share it',
       'unit save/test_scribe')
mutate('scribe-leave', 'save/scribe.c',
       'if (w->job.argument == argument) atomic_store(&w->left, true);', ';',
       'who has left a save is told that it has all', 'unit save/test_scribe')
mutate('share-late', 'replication/full_sync.c', 'snapshot_place != history_place() ||', '',
       'a replica misses what was done since a snapshot began', 'tcl integration/walk-shared walk')
mutate('share-ends-all', 'save/saver.c',
       '    if (others_stay(mine))\n        walk_leave(argument);\n    else\n',
       '', 'a replica that goes ends the snapshot that it shares',
       'tcl integration/walk-shared leaves')
mutate('piece-flat', 'rdb/piece.c',
       'write(e, (struct value){e->type == ENTRY_STRING ? &text : bytes, e->encoding}, out);',
       'write(e, (struct value){bytes, e->encoding}, out);',
       'a text beside its entry is taken for what leads to it', WALK)
mutate('piece-owned', 'rdb/piece.c',
       'if (!sink_error(out) || piece->kind == PIECE_OWNED) encode_piece(piece, out, write);',
       'if (!sink_error(out)) encode_piece(piece, out, write);',
       'what a failed save was given is not freed', WALK)
mutate('piece-frequency', 'rdb/piece.c', '(unsigned char)recency_frequency(e));',
       '(unsigned char)0);', 'all keys are saved as never used', WALK)
mutate('piece-deadline', 'rdb/piece.c', '        sink_write_byte(out, RDB_DEADLINE_MSEC);\n'
       '        saved_write_number(out, (uint64_t)entry_deadline(e), 8);\n', '',
       'no key of a save has a deadline', WALK)
mutate('saver-orphan', 'save/saver.c', '    if (orphan) {\n', '    if (false) {\n',
       "a save's end is told twice", WALK)
mutate('saver-method', 'save/saver.c', 'if (wanted == METHOD_FORK) saver_end_walk();',
       '(void)0;', 'a walk goes on that is no longer wanted', WALK)
mutate('saver-on-purpose', 'save/saver.c',
       '.on_purpose = !is_good && (!good || killed || left[i]),',
       '.on_purpose = false,', 'a save that was given up counts as failed', WALK)
mutate('saver-kind', 'save/saver.c', '    else if (jobs[0].kind == kind)\n', '    else\n',
       "the log's end ends a snapshot", WALK)
mutate('saver-busy', 'save/saver.c', 'return method == METHOD_WALK || child_lives(); }',
       'return child_lives(); }', 'two saves walk at once', WALK)
mutate('saver-marks', 'save/saver.c',
       '    while (!frontier_clean(CLEAN_POSITIONS)) continue;\n', '',
       'a walk begins among marks of others', WALK)

mutate('shadow-once', 'value/shadow.c', '    if (is_noted(s, text, hash)) return;\n', '',
       'a member that changes twice is saved as it was in between', 'unit value/test_shadow')
mutate('shadow-behind', 'value/shadow.c',
       'if (s->noted_are_visited || table_place(hash) < table_place(s->cursor)) return;',
       'if (s->noted_are_visited) return;', 'a member that was visited is saved again',
       'unit value/test_shadow')
mutate('shadow-new', 'value/shadow.c', '    if (n->was_there)\n', '    if (true)\n',
       'a save has members that are newer', 'unit value/test_shadow')
mutate('step-counts-no-bytes', 'value/value.h', 'members + bytes / VALUE_MEMBER_BYTES', 'members',
       'a step copies a hundred members of any size', 'unit value/test_shadow')
mutate('shadow-passes-for-nothing', 'value/shadow.c', '    else\n        shadow_spend(s, 1, 0);\n',
       '',
       'a step passes over any number of members', 'unit value/test_shadow')
mutate('shadow-hash-set', 'value/hash.c', '    shadow_note(h->table, hash, field, old);\n', '',
       'a save has a field as it is now', WALK)
mutate('shadow-hash-new', 'value/hash.c', '        shadow_note(h->table, hash, field, NULL);\n', '',
       'a save has a field that is newer', WALK)
mutate('shadow-set-remove', 'value/set.c', '    shadow_note(s->table, hash, member, m);\n', '',
       'a save misses a member that was removed', WALK)
mutate('shadow-zset-score', 'value/zset.c', '        shadow_note(z->members, hash, member, e);\n',
       '',
       'a save has a score as it is now', WALK)
mutate('frontier-members', 'store/frontier.c',
       '        if (!has_shadow(e)) frontier_change(part, e, hash);\n',
       '', 'a small collection is saved as it is now', 'unit store/test_frontier')

mutate('log-sync-failure-unseen', 'aof/aof_writer.c',
       '    if (j->sync_error)\n        writer_note_failure(j->sync_error, &sync_fails, '
       '"Syncing");\n    else if',
       '    if', 'writes go on though no sync succeeds', 'unit aof/test_aof_writer')
mutate('log-always-unsynced', 'aof/aof_writer.c',
       '(j->syncs || !is_always() || syncs_rest())) {', '(true)) {',
       'under always a reply leaves that tells of what is not synced',
       'unit aof/test_aof_writer')
mutate('log-pieces-offset', 'aof/aof_queue.c', '            range.offset = 0;\n', '',
       'what is written of a block begins where that of the one before did',
       'unit aof/test_aof_queue')
mutate('log-part-written', 'aof/aof_queue.c', '        *written += moved;\n',
       '        *written = moved;\n', 'a write that breaks off is repeated in part',
       'unit aof/test_aof_queue')
mutate('log-released-early', 'aof/aof_queue.c',
       'q->first->start + q->first->used <= below', 'q->first->start <= below',
       'what is not written yet is freed', 'unit aof/test_aof_queue')
mutate('log-first-file', 'aof/aof_writer.c',
       'if (rests_wholly || (rests && is_always())) return;',
       'if (rests && !rests_wholly && is_always()) return;',
       'replies leave while the first file gets its name', 'unit aof/test_aof_switch')
mutate('log-first-file-followed', 'aof/aof_writer.c',
       'if (!is_whole && !write_to(&followed)) return;', 'if (!is_whole && !host) return;',
       'the first file lacks what is answered after its rename', 'unit aof/test_aof_switch')
mutate('log-folder-once', 'aof/aof_switch.c',
       'if (!step.folder_error || !now.has_log || finishing) {', 'if (phase) {',
       'a folder that cannot be synced is not tried again', 'unit aof/test_aof_switch')
mutate('log-database-forgotten', 'replication/stream.c', '    selected = database;\n', '',
       'each command of another database has its SELECT', 'unit replication/test_stream')

# ---- replication ----

mutate('feed-trims-what-is-read', 'replication/feed.c',
       '!(*slot_of(feed, feed->first))->readers &&\n           ', '',
       'what a replica has still to read is freed', 'unit replication/test_feed')
mutate('feed-beyond-its-limit', 'replication/feed.c',
       'int64_t end = feed->end < feed->limit ? feed->end : feed->limit;',
       'int64_t end = feed->end;', 'a replica gets what may not leave yet',
       'unit replication/test_feed')
mutate('feed-keeps-too-little', 'replication/feed.c',
       'place_of(feed, feed->first + 1)) >= feed->kept',
       'place_of(feed, feed->first)) >= feed->kept', 'the backlog lacks its oldest bytes',
       'unit replication/test_feed')
mutate('feed-leaves-nothing', 'replication/feed.c',
       '    reader->block->readers--;\n    feed_trim(reader->feed);\n',
       '    feed_trim(reader->feed);\n',
       'a replica that is gone holds its blocks for ever', 'unit replication/test_feed')
mutate('history-second-end', 'replication/history.c', 'second_end = history_place() + 1;',
       'second_end = history_place();',
       'who has come to the end of the last history must begin anew',
       'unit replication/test_history')
mutate('history-beyond-its-end', 'replication/history.c', 'from >= second_end', 'from > second_end',
       'who has come further in the last history goes on in this one',
       'unit replication/test_history')
mutate('history-another-past', 'replication/history.c', 'if (feed && !is_same) {',
       'if (feed && new_place != history_place()) {',
       'bytes of another history are kept as this one\'s',
       'unit replication/test_history')
mutate('stream-before-the-log', 'replication/stream.c',
       '    if (reply_may_leave(record)) {\n        marks_count = 0;',
       '    if (reply_may_leave(record) || limit < place) {\n        marks_count = 0;',
       'replicas are sent what the log does not have yet', 'unit replication/test_stream')
mutate('stream-limit-of-the-next', 'replication/stream.c',
       'limit = marks[known++].place;', 'limit = marks[marks_count - 1].place, known++;',
       'replicas are sent what a later record of the log has', 'unit replication/test_stream')
mutate('failover-one-behind', 'replication/failover.c', 'r->acknowledged == history_place()',
       'r->acknowledged + 1 >= history_place()', 'a replica takes over that lacks the last byte',
       'unit replication/test_failover')
mutate('failover-pings', 'replication/failover.c', 'primary_stand_still(state != NONE);',
       'primary_stand_still(false);', 'a ping gets between a failover and its target',
       'unit replication/test_failover')
mutate('pause-hold-never-ends', 'exec/pause.c', '    pause_update(!hold);\n',
       '    pause_update(false);\n',
       'who was held for a failover that came to nothing is not let go', 'unit exec/test_pause')
mutate('pause-ends-the-hold', 'exec/pause.c',
       'mode = PAUSE_NONE;\n    pause_update(true);',
       'mode = PAUSE_NONE;\n    writes_held = false;\n    pause_update(true);',
       'CLIENT UNPAUSE lets writes go that a failover holds', 'unit exec/test_pause')
mutate('primary-lag-of-one', 'replication/primary.c', 'now - r->heard_sec <= lag_allowed;',
       'now - r->heard_sec < 0;', 'no replica counts as a good one',
       'tcl integration/replication-primary')

mutate('link-asks-at-once', 'replication/link.c',
       '    if (primary.begun_sec == clock_monotonic_sec()) return;\n', '',
       'a primary that refuses is asked as fast as it answers', 'unit replication/test_link')
mutate('resumed-while-asleep', 'server/wiring.c', 'return more || batch_has_resumed();',
       'return more;', 'who has waited for replicas waits on for the cron',
       'tcl integration/replication-replica WAIT, and what follows it')
mutate('stream-while-asleep', 'server/wiring.c',
       '        if (apply_may_go_on()) more = true;\n', '',
       'the stream behind a FLUSHALL that has waited waits on for the cron',
       'unit replication/test_apply')
mutate('replica-touches-keys', 'exec/gate_rows.c',
       '                            .net_flags = CLIENT_STREAMED,\n', '',
       'a replica writes over its link', 'tcl integration/replication-primary touches no keys')
mutate('replica-address-comma', 'replication/primary.c', " || text.bytes[i] == ',') return false;",
       ') return false;', 'an address brings fields of INFO along',
       'tcl integration/replication-primary bad words')
mutate('acknowledged-before-sync', 'replication/apply.c',
       'stream.owes && reply_may_leave(stream.owed_record)', 'stream.owes',
       'a replica acknowledges what its log has not synced',
       'tcl integration/replication-log a replica acknowledges')
mutate('file-grows-on', 'io/file_stream.c',
       '    f->end = f->at - f->source.fetched + f->source.length;\n', '',
       'what is added to a file is read with it', 'unit io/test_file_stream')

# ---- those that no test saw once ----

mutate('exec-flags', 'exec/gates.c', 'flags | transaction_flags(call->client) : flags;',
       'flags | transaction_flags(call->client) | COMMAND_WRITE : flags;',
       'CLIENT PAUSE WRITE holds an EXEC that reads', 'tcl unit/multi holds no EXEC')
mutate('unixsocketperm-bound', 'net/listen.c', '.high = 0777,', '.high = 07777,',
       'unixsocketperm takes four digits', 'tcl integration/host unixsocketperm')
mutate('expire-share', 'store/expire.c', 'int64_t work = clock_monotonic_nsec() - since;',
       'int64_t work = clock_monotonic_nsec() + since;', 'expiry takes more than its share',
       'unit store/test_expire')
mutate('expire-cut-cycle', 'store/expire.c', '        last_cut_short = !expire_sample_database(',
       '        expire_sample_database(', 'a cycle of samples that is cut counts as whole',
       'unit store/test_expire')
mutate('limbo-cause', 'store/limbo.c', 'cause_enter(&freeing_cause, clock_monotonic_nsec());',
       'cause_enter(&cause_other, clock_monotonic_nsec());', 'freeing much has the wrong cause',
       'unit store/test_limbo')
mutate('evict-octave', 'store/evict.c',
       'uint64_t fraction = (value << SCORE_OCTAVE_BITS >> octave) - (1u << '
       'SCORE_OCTAVE_BITS);',
       'uint64_t fraction = 0;', 'LRU knows only octaves', 'unit store/test_evict')
mutate('evict-last-of-pool', 'store/evict.c', '    while (pool_count > 0) {\n',
       '    while (pool_count > 1) {\n', "the pool's last candidate is never evicted",
       'unit store/test_evict')
mutate('answers-by-the-clock', 'exec/memory_limit.c',
       'clock_thread_cpu_nsec() - start->cpu_nsec > aim->least_nsec', 'true',
       'large values are not answered where others have the processor',
       'unit exec/test_memory_limit')
mutate('time-with-eviction', 'exec/run.c',
       '        if (gate_is_set(&memory_limit_gate)) start = begin_after_eviction(start);\n', '',
       "a command's time has the eviction before it",
       'tcl unit/maxmemory time is without the eviction')
mutate('throttling-absent', 'report/host_cpu.c',
       'return sampled_host_cpu()->throttled_usec >= 0; }',
       'return sampled_host_cpu()->throttled_usec >= -1; }',
       'INFO shows throttling where there is none', 'unit report/test_host_cpu')
mutate('verdict-boundary', 'report/slowlog.c', '>= VERDICT_MIXED_PERCENT;',
       '> VERDICT_MIXED_PERCENT;', 'a fifth of the time is not named', 'unit report/test_slowlog')

# ---- tools ----

mutate('tools-obeyed-text', 'cli/cli_format.c', 'return *at >= \' \' && *at != DELETE_CHAR;',
       'return *at != DELETE_CHAR;', 'a server moves the cursor of who looks at an error',
       'tcl integration/redis-cli no characters that a terminal obeys')
mutate('tools-queued-select', 'cli/cli_run.c',
       'if (database >= 0 && is_status(child, "OK")) set_database(database);',
       'if (database >= 0) set_database(database);',
       'the prompt has the database of a SELECT that EXEC has refused',
       'tcl integration/redis-cli prompt shows the database')
mutate('tools-hint-row', 'cli/cli_editor.c', 'size_t room = (size_t)columns - 1 - at;',
       'size_t room = (size_t)columns + 1 - at;', 'a hint goes on in the next row',
       'tcl integration/redis-cli hints end with the row')
mutate('tools-secret-kept', 'cli/cli_history.c',
       '    if (slice_is(words[0], "auth")) return true;\n', '',
       'the history keeps the password of AUTH', 'tcl integration/redis-cli secrets are not')
mutate('tools-pipe-errors', 'cli/cli_pipe.c',
       '    t->errors++;\n    cli_format_complain', '    cli_format_complain',
       '--pipe does not count errors', 'tcl integration/redis-cli --pipe sends')
mutate('tools-biggest-key', 'cli/cli_keys.c', 'size <= sum->biggest', 'size > sum->biggest',
       '--bigkeys finds the least', 'tcl integration/redis-cli --bigkeys and --memkeys')
mutate('tools-drawn-digits', 'benchmark/benchmark_request.c', 'number % 100 * 2', 'number % 50 * 2',
       'half of the keys are never drawn', 'unit benchmark/test_benchmark_request')
mutate('tools-ratio', 'benchmark/benchmark_compare.c', 'double one = first[i] / second[i];',
       'double one = second[i] / first[i];', '--compare says which server is slower as faster',
       'unit benchmark/test_benchmark_compare')
mutate('tools-option-least', 'tools/tool_options.c', 'number >= row->least &&',
       'number + 1 >= row->least &&', 'an option takes one less than its least value',
       'unit tools/test_tool_options')
