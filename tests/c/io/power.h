/* SPDX-License-Identifier: BSD-3-Clause
 * Power cuts: what of a folder's files is left when the machine stops at any moment.
 *
 * While a process records (power_record), each change of a file below the folder through
 * base/system is noted in a second folder, on the same file system: in a journal, one line a
 * change; as a link to each file, so that none is lost; and as a copy of what a truncation takes
 * away before it is on disk. All of that is in files, so children note into the same record, and it
 * outlives a kill.
 *
 * power_cut, when all processes are gone or have stopped, makes the folder what the disk has:
 *  - A file has its bytes up to where it ended when its last sync began; those that a failed sync
 *    had to write are zeros for ever, as systems give up such pages.
 *  - A name stands for the file that it stood for when the folder was last synced; what was
 *    created, renamed or removed since then was not.
 * That is the worst that may be left. With a seed each file keeps some of the bytes after the last
 * sync, and each folder the first few of its later changes: what a kind disk may have kept.
 *
 * Files that are changed in the midst are not known to it: they are written at their end, cut, or
 * begun anew. Names hold no blanks, and are renamed within their folder.
 */
#ifndef EVENKEEL_TESTS_IO_POWER_H
#define EVENKEEL_TESTS_IO_POWER_H
#include <dirent.h>
#include <libgen.h>
#include <stdarg.h>

#include "base/faults.h"

#define POWER_NAME_BYTES 512
#define POWER_FILES_MAX 4096
#define POWER_NAMES_MAX 4096
#define POWER_CHANGES_MAX 65536

static char power_folder[POWER_NAME_BYTES]; /* what is watched; "" = nothing */
static char power_notes[POWER_NAME_BYTES];
static unsigned power_copies;
static _Thread_local long long power_length_before; /* of the file that is being synced */

/* ---- Recording ---- */

/* The whole path without links. False where it is not below the folder, or the notes are. */
static inline bool power_resolve(const char *path, char *whole) {
    char folder_copy[POWER_NAME_BYTES], name_copy[POWER_NAME_BYTES], folder[PATH_MAX];
    snprintf(folder_copy, sizeof(folder_copy), "%s", path);
    snprintf(name_copy, sizeof(name_copy), "%s", path);
    if (!realpath(dirname(folder_copy), folder)) return false;
    if (snprintf(whole, POWER_NAME_BYTES, "%s/%s", folder, basename(name_copy)) >= POWER_NAME_BYTES)
        abort();
    size_t length = strlen(power_folder);
    return strncmp(whole, power_folder, length) == 0 && whole[length] == '/' &&
           strncmp(whole, power_notes, strlen(power_notes)) != 0;
}

static inline bool power_path_of(int fd, char *whole) {
    char link[40], target[POWER_NAME_BYTES];
    snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, target, sizeof(target) - 1);
    if (length <= 0) return false;
    target[length] = '\0';
    snprintf(whole, POWER_NAME_BYTES, "%s", target);
    return true;
}

static inline void __attribute__((format(printf, 1, 2))) power_note(const char *format, ...) {
    char path[POWER_NAME_BYTES + 16], line[2 * POWER_NAME_BYTES + 64];
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(line, sizeof(line), format, arguments);
    va_end(arguments);
    snprintf(path, sizeof(path), "%s/journal", power_notes);
    int fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0 || write(fd, line, (size_t)length) != length) abort();
    close(fd);
}

static inline void power_copy_file(const char *from, const char *to, off_t length) {
    char bytes[16384];
    int in = open(from, O_RDONLY | O_CLOEXEC);
    int out = open(to, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (in < 0 || out < 0) abort();
    while (length > 0) {
        ssize_t got =
            read(in, bytes, (size_t)length < sizeof(bytes) ? (size_t)length : sizeof(bytes));
        if (got <= 0) break;
        if (write(out, bytes, (size_t)got) != got) abort();
        length -= got;
    }
    close(in);
    close(out);
}

static inline void power_name_file(char *path, unsigned long long inode) {
    snprintf(path, POWER_NAME_BYTES + 32, "%s/file-%llu", power_notes, inode);
}

/* A file of which nothing was noted yet: `safe` where it was there before, name and bytes. */
static inline void power_meet(const char *whole, const struct stat *about, bool safe) {
    char kept[POWER_NAME_BYTES + 32];
    power_name_file(kept, about->st_ino);
    if (link(whole, kept) != 0) return; /* known */
    power_note("%s %s %llu %lld\n", safe ? "had" : "new", whole, (unsigned long long)about->st_ino,
               safe ? (long long)about->st_size : 0LL);
}

/* What a truncation takes away is on disk until a sync says otherwise. */
static inline void power_keep_copy(const struct stat *about) {
    char kept[POWER_NAME_BYTES + 32], copy[POWER_NAME_BYTES + 64];
    power_name_file(kept, about->st_ino);
    snprintf(copy, sizeof(copy), "%s/copy-%d-%u", power_notes, (int)getpid(),
             __atomic_fetch_add(&power_copies, 1, __ATOMIC_RELAXED));
    power_copy_file(kept, copy, about->st_size);
    power_note("cut %llu %s\n", (unsigned long long)about->st_ino, copy);
}

static inline void power_meet_path(const char *path) {
    char whole[POWER_NAME_BYTES];
    struct stat about;
    if (!power_resolve(path, whole) || lstat(whole, &about) != 0 || !S_ISREG(about.st_mode)) return;
    power_meet(whole, &about, true);
}

static inline void power_before(const struct fault_change *change) {
    char whole[POWER_NAME_BYTES];
    struct stat about;
    if (!power_folder[0]) return;
    if (change->path) power_meet_path(change->path);
    if (change->to) power_meet_path(change->to);
    if (change->call == FAULT_OPEN && change->flags & O_TRUNC &&
        power_resolve(change->path, whole) && lstat(whole, &about) == 0 && S_ISREG(about.st_mode) &&
        about.st_size)
        power_keep_copy(&about);
    if (change->call == FAULT_TRUNCATE && power_path_of(change->fd, whole) &&
        power_resolve(whole, whole) && fstat(change->fd, &about) == 0 &&
        change->length < about.st_size)
        power_keep_copy(&about);
    if (change->call == FAULT_FSYNC)
        power_length_before = fstat(change->fd, &about) == 0 ? about.st_size : 0;
}

static inline void power_after_sync(int fd, bool done) {
    char whole[POWER_NAME_BYTES];
    struct stat about;
    if (fstat(fd, &about) != 0) return;
    if (S_ISDIR(about.st_mode) && done && power_path_of(fd, whole))
        power_note("folder %s\n", whole);
    if (S_ISREG(about.st_mode))
        power_note("%s %llu %lld\n", done ? "sync" : "lost", (unsigned long long)about.st_ino,
                   power_length_before);
}

static inline void power_after(const struct fault_change *change, bool done) {
    char whole[POWER_NAME_BYTES], other[POWER_NAME_BYTES];
    struct stat about;
    if (!power_folder[0]) return;
    if (change->call == FAULT_FSYNC) power_after_sync(change->fd, done);
    if (!done) return;
    if (change->call == FAULT_OPEN && change->flags & O_CREAT &&
        power_resolve(change->path, whole) && fstat(change->fd, &about) == 0 &&
        S_ISREG(about.st_mode))
        power_meet(whole, &about, false);
    if (change->call == FAULT_RENAME && power_resolve(change->path, whole) &&
        power_resolve(change->to, other))
        power_note("rename %s %s\n", whole, other);
    if (change->call == FAULT_UNLINK && power_resolve(change->path, whole))
        power_note("unlink %s\n", whole);
}

/* From now on changes below `folder` are noted in `notes`, an empty folder. What is there is safe.
 * In this process, and in those that it forks. */
static inline void power_record(const char *folder, const char *notes) {
    char whole[PATH_MAX];
    if (!realpath(folder, whole)) abort();
    snprintf(power_folder, sizeof(power_folder), "%.500s", whole);
    if (!realpath(notes, whole)) abort();
    snprintf(power_notes, sizeof(power_notes), "%.500s", whole);
    faults_before_change = power_before;
    faults_after_change = power_after;
    faults_pretend_syncs = true;
}

static inline void power_record_end(void) {
    power_folder[0] = '\0';
    faults_before_change = NULL;
    faults_after_change = NULL;
    faults_pretend_syncs = false;
}

/* ---- The cut ---- */

struct power_file {
    unsigned long long inode;
    long long safe;              /* bytes up to the last sync */
    char copy[POWER_NAME_BYTES]; /* what it was before a truncation; "" = it only grew */
    long long lost_from, lost_to;
};

/* A name and its file; 0 = none. */
struct power_name {
    char path[POWER_NAME_BYTES];
    unsigned long long now, safe;
};

/* A change of names that is not on disk yet: `first` becomes `inode`, `second`, where there is one,
 * becomes free. */
struct power_pending {
    int first, second;
    unsigned long long inode;
    bool done;
};

static struct power_file *power_files;
static struct power_name *power_names;
static struct power_pending *power_changes;
static int power_files_count, power_names_count, power_changes_count;

static inline struct power_file *power_file(unsigned long long inode) {
    for (int i = 0; i < power_files_count; i++)
        if (power_files[i].inode == inode) return &power_files[i];
    if (power_files_count == POWER_FILES_MAX) abort();
    struct power_file *f = &power_files[power_files_count++];
    *f = (struct power_file){.inode = inode};
    return f;
}

static inline int power_name(const char *path) {
    for (int i = 0; i < power_names_count; i++)
        if (strcmp(power_names[i].path, path) == 0) return i;
    if (power_names_count == POWER_NAMES_MAX) abort();
    snprintf(power_names[power_names_count].path, POWER_NAME_BYTES, "%s", path);
    power_names[power_names_count].now = power_names[power_names_count].safe = 0;
    return power_names_count++;
}

static inline void power_change(int first, int second, unsigned long long inode) {
    if (power_changes_count == POWER_CHANGES_MAX) abort();
    power_changes[power_changes_count++] =
        (struct power_pending){.first = first, .second = second, .inode = inode};
    power_names[first].now = inode;
    if (second >= 0) power_names[second].now = 0;
}

static inline bool power_lies_in(const char *path, const char *folder) {
    size_t length = strlen(folder);
    return strncmp(path, folder, length) == 0 && path[length] == '/' &&
           !strchr(path + length + 1, '/');
}

static inline void power_apply(struct power_pending *p) {
    p->done = true;
    power_names[p->first].safe = p->inode;
    if (p->second >= 0) power_names[p->second].safe = 0;
}

static inline void power_read_line(const char *line) {
    char first[POWER_NAME_BYTES], second[POWER_NAME_BYTES];
    unsigned long long inode;
    long long length;
    if (sscanf(line, "had %511s %llu %lld", first, &inode, &length) == 3) {
        struct power_name *name = &power_names[power_name(first)];
        name->now = name->safe = inode;
        power_file(inode)->safe = length;
    } else if (sscanf(line, "new %511s %llu %lld", first, &inode, &length) == 3) {
        power_file(inode);
        power_change(power_name(first), -1, inode);
    } else if (sscanf(line, "sync %llu %lld", &inode, &length) == 2) {
        struct power_file *f = power_file(inode);
        f->safe = length;
        f->copy[0] = '\0';
    } else if (sscanf(line, "lost %llu %lld", &inode, &length) == 2) {
        struct power_file *f = power_file(inode);
        if (f->lost_to <= f->lost_from) f->lost_from = f->safe;
        f->lost_to = length;
    } else if (sscanf(line, "cut %llu %511s", &inode, first) == 2) {
        struct power_file *f = power_file(inode);
        if (!f->copy[0]) memcpy(f->copy, first, sizeof(first));
    } else if (sscanf(line, "folder %511s", first) == 1) {
        for (int i = 0; i < power_changes_count; i++)
            if (power_lies_in(power_names[power_changes[i].first].path, first))
                power_apply(&power_changes[i]);
    } else if (sscanf(line, "rename %511s %511s", first, second) == 2) {
        int from = power_name(first);
        power_change(power_name(second), from, power_names[from].now);
    } else if (sscanf(line, "unlink %511s", first) == 1) {
        power_change(power_name(first), -1, 0);
    } else {
        abort();
    }
}

static inline void power_read_journal(void) {
    char path[POWER_NAME_BYTES + 16], line[2 * POWER_NAME_BYTES + 64];
    snprintf(path, sizeof(path), "%s/journal", power_notes);
    FILE *journal = fopen(path, "re");
    while (journal && fgets(line, sizeof(line), journal)) {
        size_t length = strlen(line);
        if (length && line[length - 1] == '\n')
            power_read_line(line); /* or it was cut off itself */
    }
    if (journal) fclose(journal);
}

/* The kept link gets the bytes that the disk has. */
static inline void power_settle_file(const struct power_file *f, bool kind) {
    char kept[POWER_NAME_BYTES + 32];
    struct stat about;
    power_name_file(kept, f->inode);
    if (stat(kept, &about) != 0) return;
    long long length = f->safe;
    if (f->copy[0] && !(kind && faults_draw() % 2)) {
        power_copy_file(f->copy, kept, f->safe);
    } else {
        if (f->copy[0]) length = about.st_size; /* the truncation came through, and what followed */
        if (kind && about.st_size > length)
            length += (long long)(faults_draw() % (unsigned long long)(about.st_size - length + 1));
        if (length < about.st_size && truncate(kept, length) != 0) abort();
    }
    if (stat(kept, &about) != 0) abort();
    int fd = open(kept, O_WRONLY | O_CLOEXEC);
    for (long long at = f->lost_from; at < f->lost_to && at < about.st_size; at++)
        if (pwrite(fd, "", 1, at) != 1) abort();
    close(fd);
}

static inline void power_clear_notes(void) {
    char path[2 * POWER_NAME_BYTES];
    DIR *entries = opendir(power_notes);
    const struct dirent *entry;
    while (entries && (entry = readdir(entries)) != NULL) {
        if (entry->d_name[0] == '.') continue;
        snprintf(path, sizeof(path), "%s/%s", power_notes, entry->d_name);
        unlink(path);
    }
    if (entries) closedir(entries);
}

/* The power goes: the folder becomes what the disk has, and the record begins anew with that. No
 * process may have one of the files open any more. `seed` 0: the worst that may be left. */
static inline void power_cut(uint64_t seed) {
    char kept[POWER_NAME_BYTES + 32];
    power_files = calloc(POWER_FILES_MAX, sizeof(*power_files));
    power_names = calloc(POWER_NAMES_MAX, sizeof(*power_names));
    power_changes = calloc(POWER_CHANGES_MAX, sizeof(*power_changes));
    if (!power_files || !power_names || !power_changes) abort();
    power_files_count = power_names_count = power_changes_count = 0;
    power_read_journal();
    if (seed) {
        faults_seed = seed;
        faults_state = 0;
        int more = (int)(faults_draw() % (unsigned)(power_changes_count + 1));
        for (int i = 0; i < more; i++)
            if (!power_changes[i].done) power_apply(&power_changes[i]);
    }
    for (int i = 0; i < power_files_count; i++) power_settle_file(&power_files[i], seed != 0);
    for (int i = 0; i < power_names_count; i++) {
        unlink(power_names[i].path);
        if (!power_names[i].safe) continue;
        power_name_file(kept, power_names[i].safe);
        if (link(kept, power_names[i].path) != 0) abort();
    }
    power_clear_notes();
    free(power_files);
    free(power_names);
    free(power_changes);
}
#endif
