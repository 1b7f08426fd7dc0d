/* SPDX-License-Identifier: BSD-3-Clause
 * The scheduler and its nodes. scheduler.h has the idea.
 */
#include "sim/scheduler.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sim/disk.h"
#include "sim/world.h"

#define PATH_BYTES 256
#define ARGUMENTS_MAX 64
#define IDLE_TURNS_MAX 1000000 /* in which no time passes */
#define ORPHAN (-2)            /* a task's parent that is gone */
#define BOOT_NSEC_MAX (100 * NSEC_PER_SEC)

/* The server's main. */
int server_main(int argc, char **argv);

static struct {
    char path[PATH_BYTES], notes[PATH_BYTES];
    char *argv[ARGUMENTS_MAX];
    int argc;
    int task;        /* -1: it does not run */
    char *lines;     /* of the file of options; NULL: there is none */
    bool is_renewed; /* the file is to be written */
} nodes[NODES_MAX];
static int count;
static struct actor *actors[ACTORS_MAX];
static int actors_count;
static network_observer *observer;
static bool (*may_end)(int node, int exit_status);
static void (*start_observer)(int node);

/* ---- Actors ---- */

void scheduler_add(struct actor *a) {
    if (actors_count == ACTORS_MAX) abort();
    actors[actors_count++] = a;
}

void scheduler_remove(const struct actor *a) {
    for (int i = 0; i < actors_count; i++) {
        if (actors[i] != a) continue;
        actors[i] = actors[--actors_count];
        return;
    }
}

static void see_nothing(int link, int end, const uint8_t *bytes, size_t length) {}

void scheduler_set_observer(network_observer *seen) { observer = seen; }
void scheduler_set_end_observer(bool (*who)(int node, int exit_status)) { may_end = who; }
void scheduler_set_start_observer(void (*who)(int node)) { start_observer = who; }

/* ---- Nodes ---- */

void nodes_make(const char *folder, int how_many) {
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    count = how_many;
    for (int i = 0; i < count; i++) {
        snprintf(nodes[i].path, PATH_BYTES, "%s/node-%d", folder, i);
        snprintf(nodes[i].notes, PATH_BYTES, "%s/notes-%d", folder, i);
        if (mkdir(nodes[i].path, 0700) || mkdir(nodes[i].notes, 0700)) abort();
        nodes[i].task = -1;
        nodes[i].argc = 0;
        node_add_argument(i, "redis-server");
    }
}

int nodes_count(void) { return count; }

void node_add_argument(int node, const char *text) {
    if (nodes[node].argc == ARGUMENTS_MAX - 1) abort();
    nodes[node].argv[nodes[node].argc++] = strdup(text);
}

#define OPTIONS_FILE "node.conf"

void node_use_file(int node, const char *program) {
    free(nodes[node].argv[0]);
    nodes[node].argv[0] = strdup(program);
    nodes[node].lines = strdup("");
    nodes[node].is_renewed = true;
    node_add_argument(node, OPTIONS_FILE);
}

void node_add_line(int node, const char *line) {
    char *lines;
    if (asprintf(&lines, "%s%s\n", nodes[node].lines, line) < 0) abort();
    free(nodes[node].lines);
    nodes[node].lines = lines;
}

void node_add_file(int node, const char *name, const char *text) {
    char path[PATH_BYTES + 32];
    snprintf(path, sizeof(path), "%s/%s", nodes[node].path, name);
    FILE *file = fopen(path, "w");
    if (!file || fputs(text, file) < 0 || fclose(file)) abort();
}

bool node_read_file(int node, const char *name, char *text, size_t size) {
    char path[PATH_BYTES + 32];
    snprintf(path, sizeof(path), "%s/%s", nodes[node].path, name);
    FILE *file = fopen(path, "r");
    if (!file) return false;
    text[fread(text, 1, size - 1, file)] = '\0';
    fclose(file);
    return true;
}

static void empty_folder(const char *path) {
    struct dirent *entry;
    DIR *folder = opendir(path);
    if (!folder) abort();
    while ((entry = readdir(folder)) != NULL)
        if (entry->d_type != DT_DIR) unlinkat(dirfd(folder), entry->d_name, 0);
    closedir(folder);
}

void node_renew(int node) {
    if (node_runs(node) || !nodes[node].lines) abort();
    note("renews", node, 0, 0);
    empty_folder(nodes[node].path);
    empty_folder(nodes[node].notes);
    nodes[node].is_renewed = true;
}

static void write_lines(int node) {
    char path[PATH_BYTES + 16];
    snprintf(path, sizeof(path), "%s/" OPTIONS_FILE, nodes[node].path);
    FILE *file = fopen(path, "w");
    if (!file || fputs(nodes[node].lines, file) < 0 || fclose(file)) abort();
    nodes[node].is_renewed = false;
}

static void be_server(int node, struct task *t) {
    char log[PATH_BYTES + 16];
    snprintf(log, sizeof(log), "%s.log", nodes[node].path);
    int fd = open(log, O_WRONLY | O_CREAT | O_APPEND, 0600);
    if (chdir(nodes[node].path) || fd < 0 || dup2(fd, 1) < 0 || dup2(fd, 2) < 0) abort();
    close(fd);
    disk_record(nodes[node].path, nodes[node].notes);
    task_begin(t);
    int status = server_main(nodes[node].argc, nodes[node].argv);
    fflush(NULL);
    _exit(status);
}

void node_start(int node) {
    struct node *n = &world->nodes[node];
    if (node_runs(node)) abort();
    if (!n->up) n->boot_nsec = world->now_nsec - (int64_t)draw(BOOT_NSEC_MAX);
    n->up = true;
    n->folder_failed = false;
    n->file_is_old = n->file_failed;
    n->file_has_name = false;
    n->stopped_nsec = 0;
    n->starts++;
    n->start_links = network->links_made;
    n->start_nsec = world->now_nsec;
    if (nodes[node].lines && nodes[node].is_renewed) write_lines(node);
    if (start_observer) start_observer(node);
    struct task *t = task_new(node, -1);
    nodes[node].task = (int)(t - world->tasks);
    pid_t pid = fork();
    if (pid < 0) abort();
    if (pid == 0) be_server(node, t);
    t->pid = pid;
    note("starts", node, n->starts, 0);
}

bool node_runs(int node) { return nodes[node].task >= 0; }

struct task *node_task(int node) {
    return node_runs(node) ? &world->tasks[nodes[node].task] : NULL;
}

static int reap(struct task *t) {
    int status = 0;
    if (waitpid(t->pid, &status, 0) != t->pid) abort();
    t->state = TASK_FREE;
    return status;
}

/* What of it is left: its children have no parent any more. */
static void orphan(const struct task *t) {
    int own = (int)(t - world->tasks);
    for (int i = 0; i < TASKS_MAX; i++) {
        struct task *child = &world->tasks[i];
        if (child->state == TASK_FREE || child->parent != own) continue;
        child->parent = ORPHAN;
        if (child->state == TASK_DEAD) reap(child);
    }
}

static void end_task(struct task *t) {
    if (t->state != TASK_DEAD) task_kill(t);
    network_release_all(t);
    if (t->parent < 0) reap(t);
    orphan(t);
}

static void kill_tasks(int node, bool children) {
    nodes[node].task = -1;
    for (int i = 0; i < TASKS_MAX; i++) {
        struct task *t = &world->tasks[i];
        if (t->state == TASK_FREE || t->node != node) continue;
        if (t->parent == -1 || children) end_task(t);
    }
}

void node_kill(int node, bool children) {
    if (!node_runs(node)) return;
    note("kills", node, children, 0);
    kill_tasks(node, children);
}

void node_stop(int node, int64_t nsec) {
    if (!node_runs(node)) return;
    note("stops", node, (long)(nsec / NSEC_PER_MSEC), 0);
    world->nodes[node].stopped_nsec = world->now_nsec + nsec;
}

void node_cut_power(int node) {
    uint64_t seed = once_in(3) ? 0 : 1 + draw(1000000);
    note("cuts power", node, (long)seed, 0);
    for (int i = 0; i < TASKS_MAX; i++)
        if (world->tasks[i].node == node) world->tasks[i].fds_end = 0;
    network_vanish(node);
    kill_tasks(node, true);
    world->nodes[node].up = false;
    disk_cut(nodes[node].path, nodes[node].notes, seed);
}

void nodes_end(void) {
    for (int i = 0; i < count; i++) kill_tasks(i, true);
}

/* It has ended by itself. */
static void look_at_end(struct task *t) {
    if (t->parent != -1) {
        network_release_all(t);
        if (t->parent == ORPHAN) reap(t);
        return;
    }
    int node = t->node;
    nodes[node].task = -1;
    network_release_all(t);
    int status = reap(t);
    orphan(t);
    if (may_end && WIFEXITED(status) && may_end(node, WEXITSTATUS(status))) return;
    find("the server of node %d has ended by itself: %s %d (%s.log)", node,
         WIFEXITED(status) ? "exit" : "signal",
         WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status), nodes[node].path);
}

/* ---- What happens next ---- */

static bool has_ready_fd(const struct task *t) {
    for (int fd = 0; fd < t->fds_end; fd++) {
        const struct task_fd *d = &t->fds[fd];
        if (!d->interest || d->kind == FD_REAL) continue;
        uint32_t ready =
            d->kind == FD_LINK ? network_ready(d->index, d->end) : network_listener_ready(d->index);
        if (ready & d->interest) return true;
    }
    return false;
}

static bool is_stopped(const struct task *t) {
    return world->nodes[t->node].stopped_nsec > world->now_nsec;
}

static bool may_run(const struct task *t) {
    if (t->state != TASK_READY && t->state != TASK_WAITS) return false;
    if (is_stopped(t)) return false;
    if (t->due_nsec <= world->now_nsec) return true;
    return t->state == TASK_WAITS && (t->poked || has_ready_fd(t));
}

static bool may_act(const struct actor *a) {
    return a->due_nsec <= world->now_nsec || (a->is_ready && a->is_ready(a));
}

static int64_t next_nsec(void) {
    int64_t next = network_next_nsec();
    for (int i = 0; i < TASKS_MAX; i++) {
        const struct task *t = &world->tasks[i];
        bool waits = t->state == TASK_READY || t->state == TASK_WAITS;
        if (!waits) continue;
        int64_t due = is_stopped(t) ? world->nodes[t->node].stopped_nsec : t->due_nsec;
        if (due < next) next = due;
    }
    for (int i = 0; i < actors_count; i++)
        if (actors[i]->due_nsec < next) next = actors[i]->due_nsec;
    return next;
}

/* One of those that could go on; false where none can. */
static bool go_on(void) {
    struct task *tasks[TASKS_MAX];
    struct actor *ready[ACTORS_MAX];
    unsigned tasks_found = 0, found = 0;
    for (int i = 0; i < TASKS_MAX; i++)
        if (may_run(&world->tasks[i])) tasks[tasks_found++] = &world->tasks[i];
    for (int i = 0; i < actors_count; i++)
        if (may_act(actors[i])) ready[found++] = actors[i];
    if (tasks_found + found == 0) return false;
    unsigned chosen = (unsigned)draw(tasks_found + found);
    if (chosen >= tasks_found) {
        ready[chosen - tasks_found]->act(ready[chosen - tasks_found]);
    } else if (!task_run(tasks[chosen])) {
        look_at_end(tasks[chosen]);
    }
    return true;
}

bool scheduler_run(int64_t until_nsec, bool (*enough)(void)) {
    uint64_t idle_turns = 0;
    int64_t moment_nsec = 0;
    while (!world->finding[0] && world->now_nsec < until_nsec && !(enough && enough())) {
        network_deliver(observer ? observer : see_nothing);
        if (world->now_nsec > moment_nsec) {
            moment_nsec = world->now_nsec;
            idle_turns = 0;
        } else if (++idle_turns == IDLE_TURNS_MAX) {
            abort(); /* an actor of ours does not move on */
        }
        if (go_on()) continue;
        int64_t next = next_nsec();
        world->now_nsec = next < until_nsec ? next : until_nsec;
    }
    return !world->finding[0];
}
