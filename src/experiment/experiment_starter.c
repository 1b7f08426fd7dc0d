/* SPDX-License-Identifier: BSD-3-Clause
 * Servers as children of the tool, and a process that outlives the tool.
 *
 *   tool                            keeper (a session of its own)
 *     | <- folder, or errno --------  |  made
 *     | -- pid of a server -------->  |  noted
 *     |    ...                        |
 *     | -- 0: all servers are dead ->  |  nothing is noted any more
 *     | -- closes ----------------->  |  kills what is noted, removes the folder, ends
 *
 * Invariants
 *  1. A server is a session of its own, so that Ctrl-C at the terminal does not reach it, and the
 *     whole session is killed with it: a child that saves must not outlive the folder.
 *  2. A server whose pid the keeper does not have yet has not executed its program: it waits for a
 *     byte from the tool, and ends where the tool is gone.
 *  3. The options that the tool needs follow the user's, because the last one counts.
 *  4. The keeper makes the folder, so there is no moment at which the death of the tool leaves it.
 *  5. A server that has ended stays unwaited for until experiment_starter_close has killed its
 *     session, because its pid, and so the session's, may be given to another process after that.
 */
#include "experiment/experiment_starter.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "base/memory.h"
#include "base/panic.h"
#include "base/system.h"
#include "io/loop.h"
#include "io/socket.h"
#include "tools/tool_link.h"

/* A server that is still not reached after this time will not be: it has no data to load. */
#define START_MSEC 20000
#define RETRY_MSEC 20
/* The last bytes of a server's output, of which the last lines are shown. */
#define TAIL_BYTES 2048
#define TAIL_LINES 3
/* The kernel may take a moment to end killed processes, which write to the folder until then. */
#define REMOVE_TRIES 50
#define REMOVE_MSEC 100
#define FOLDERS_DEEP 16

/* --- the keeper ------------------------------------------------------------------------------- */

static int remove_entry(const char *path, const struct stat *unused, int kind, struct FTW *place) {
    if (remove(path) != 0) return errno == ENOENT ? 0 : -1;
    return 0;
}

static void remove_folder(const char *folder) {
    for (unsigned i = 0; i < REMOVE_TRIES; i++) {
        (void)nftw(folder, remove_entry, FOLDERS_DEEP, FTW_DEPTH | FTW_PHYS);
        if (access(folder, F_OK) != 0) return;
        (void)poll(NULL, 0, REMOVE_MSEC);
    }
}

/* Makes the folder and tells the tool its name; false where that is not possible. */
static bool make_folder(int fd, char folder[EXPERIMENT_FOLDER_CHARS]) {
    bool good = mkdtemp(folder) != NULL;
    int failed = good ? 0 : errno;
    size_t length = good ? strlen(folder) + 1 : sizeof(failed);
    ssize_t sent =
        system_send(fd, good ? (const void *)folder : (const void *)&failed, length, MSG_NOSIGNAL);
    return sent == (ssize_t)length ? good : false;
}

static void become_keeper(int fd, char folder[EXPERIMENT_FOLDER_CHARS]) {
    static const int ignored[] = {SIGHUP, SIGINT, SIGTERM, SIGQUIT, SIGPIPE, SIGTTOU};
    pid_t noted[EXPERIMENT_ARMS_MAX], pid;
    unsigned count = 0;
    (void)setsid();
    for (size_t i = 0; i < sizeof(ignored) / sizeof(ignored[0]); i++)
        (void)signal(ignored[i], SIG_IGN);
    (void)prctl(PR_SET_NAME, "lab-keeper");
    /* A reader of the tool's output must not wait for this process. */
    int nothing = system_open("/dev/null", O_RDWR | O_CLOEXEC, 0);
    for (int place = STDIN_FILENO; nothing >= 0 && place <= STDERR_FILENO; place++)
        (void)dup2(nothing, place);
    if (!make_folder(fd, folder)) {
        remove_folder(folder);
        _exit(1);
    }
    for (ssize_t got; (got = system_recv(fd, &pid, sizeof(pid), 0)) != 0;) {
        if (got < 0 && errno != EINTR) break;
        if (got != sizeof(pid)) continue;
        if (!pid) {
            count = 0;
        } else if (count < EXPERIMENT_ARMS_MAX) {
            noted[count++] = pid;
        }
    }
    for (unsigned i = 0; i < count; i++) (void)kill(-noted[i], SIGKILL);
    remove_folder(folder);
    _exit(0);
}

static bool tell_keeper(const struct experiment_starter *s, pid_t pid) {
    return system_send(s->fd, &pid, sizeof(pid), MSG_NOSIGNAL) == sizeof(pid);
}

/* Learns the name of the folder. False with errno. */
static bool await_folder(struct experiment_starter *s) {
    char answer[EXPERIMENT_FOLDER_CHARS];
    ssize_t got;
    do got = system_recv(s->fd, answer, sizeof(answer), 0);
    while (got < 0 && errno == EINTR);
    if (got > (ssize_t)sizeof(int)) {
        snprintf(s->folder, sizeof(s->folder), "%s", answer);
        return true;
    }
    if (got == sizeof(int)) memcpy(&errno, answer, sizeof(int));
    if (got == 0) errno = ECHILD;
    return false;
}

bool experiment_starter_open(struct experiment_starter *s, char reason[TOOL_REASON_CHARS]) {
    const char *where = getenv("TMPDIR");
    int ends[2];
    *s = (struct experiment_starter){.fd = -1};
    snprintf(s->folder, sizeof(s->folder), "%.200s/redis-lab-XXXXXX",
             where && *where ? where : "/tmp");
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) == 0) {
        fflush(NULL);
        s->keeper = system_fork();
        if (s->keeper == 0) {
            system_close(ends[1]);
            become_keeper(ends[0], s->folder);
        }
        system_close(ends[0]);
        s->fd = ends[1];
        if (s->keeper > 0 && await_folder(s)) return true;
        int failed = errno;
        system_close(s->fd);
        while (s->keeper > 0 && waitpid(s->keeper, NULL, 0) < 0 && errno == EINTR) continue;
        errno = failed;
    }
    snprintf(reason, TOOL_REASON_CHARS, "%.250s: %s", s->folder, strerror(errno));
    *s = (struct experiment_starter){.fd = -1};
    return false;
}

bool experiment_starter_is_kept(const struct experiment_starter *s) {
    struct pollfd state = {.fd = s->fd, .events = POLLIN};
    return !s->keeper || poll(&state, 1, 0) == 0;
}

/* --- a server --------------------------------------------------------------------------------- */

/* The words of a command line, each with its NUL. */
struct command_line {
    struct buffer text;
    size_t *places; /* of the words */
    size_t count;
};

static void add_word(struct command_line *c, struct slice word) {
    c->places = memory_realloc(c->places, (c->count + 1) * sizeof(*c->places), MEMORY_OTHER);
    c->places[c->count++] = c->text.length;
    buffer_append(&c->text, word.bytes, word.length);
    buffer_append_char(&c->text, '\0');
}

/* Adds the words of a line, which may be quoted. False where the quotes do not match. */
static bool add_words(struct command_line *c, const char *line) {
    struct buffer storage = {.class = MEMORY_OTHER};
    struct slice *words = NULL;
    int count = string_split_words(slice_of(line), &storage, &words);
    for (int i = 0; i < count; i++) add_word(c, words[i]);
    buffer_free(&storage);
    memory_free(words, MEMORY_OTHER);
    return count >= 0;
}

static bool add_arm_options(struct command_line *c, const struct experiment_plan *plan,
                            const struct experiment_arm *arm, char reason[TOOL_REASON_CHARS]) {
    for (unsigned k = 0; k < plan->knob_count; k++) {
        struct buffer name = {.class = MEMORY_OTHER};
        const char *value = arm->values[k];
        if (!value) continue;
        buffer_printf(&name, "--%s", plan->knobs[k]);
        add_word(c, buffer_slice(&name));
        buffer_free(&name);
        if (!*value) {
            add_word(c, SLICE(""));
        } else if (!add_words(c, value)) {
            snprintf(reason, TOOL_REASON_CHARS, "%.100s: unbalanced quotes in %.200s",
                     plan->knobs[k], value);
            return false;
        }
    }
    return true;
}

/* The options that a started server must have: an address of its own, and its output here. */
static void add_own_options(struct command_line *c, int64_t port, const char *folder) {
    const char *const own[] = {"--bind", "127.0.0.1", "--dir", folder,      "--daemonize",
                               "no",     "--logfile", "",      "--pidfile", ""};
    struct buffer number = {.class = MEMORY_OTHER};
    buffer_printf(&number, "%d", (int)port);
    add_word(c, SLICE("--port"));
    add_word(c, buffer_slice(&number));
    for (size_t i = 0; i < sizeof(own) / sizeof(own[0]); i++) add_word(c, slice_of(own[i]));
    buffer_free(&number);
}

/* A port that is free at this moment; 0 with a reason. */
static int64_t find_free_port(char reason[TOOL_REASON_CHARS]) {
    struct socket_peer local = {.port = 0};
    int fd = socket_listen_tcp("127.0.0.1", 0, 1, reason, TOOL_REASON_CHARS);
    if (fd < 0) return 0;
    if (!socket_local_of(fd, &local)) snprintf(reason, TOOL_REASON_CHARS, "no port is free");
    system_close(fd);
    return local.port;
}

static void folder_of(const struct experiment_starter *s, unsigned index, const char *file,
                      char out[EXPERIMENT_FOLDER_CHARS]) {
    snprintf(out, EXPERIMENT_FOLDER_CHARS, "%.230s/%u%s", s->folder, index, file);
}

/* In the child: waits for the tool's byte, then becomes the server. */
static void become_server(const struct command_line *c, const char *output, int gate) {
    char go;
    char **words = memory_alloc((c->count + 1) * sizeof(*words), MEMORY_OTHER);
    for (size_t i = 0; i < c->count; i++) words[i] = c->text.bytes + c->places[i];
    words[c->count] = NULL;
    ASSERT_SLOW(words[0]);
    (void)setsid();
    int file = system_open(output, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    int nothing = system_open("/dev/null", O_RDONLY | O_CLOEXEC, 0);
    if (file < 0 || nothing < 0 || system_read(gate, &go, 1) != 1) _exit(127);
    (void)dup2(nothing, STDIN_FILENO);
    (void)dup2(file, STDOUT_FILENO);
    (void)dup2(file, STDERR_FILENO);
    (void)execvp(words[0], words);
    fprintf(stderr, "%s: %s\n", words[0], strerror(errno));
    fflush(stderr);
    _exit(127);
}

static bool fork_server(struct experiment_starter *s, const struct command_line *c,
                        const char *output, char reason[TOOL_REASON_CHARS]) {
    int gate[2];
    pid_t pid = -1;
    if (pipe2(gate, O_CLOEXEC) == 0) {
        pid = system_fork();
        if (pid == 0) {
            system_close(gate[1]);
            become_server(c, output, gate[0]);
        }
        system_close(gate[0]);
        if (pid > 0) s->pids[s->count++] = pid;
        bool good = pid > 0 && tell_keeper(s, pid) && system_write(gate[1], "", 1) == 1;
        system_close(gate[1]);
        if (good) return true;
    }
    snprintf(reason, TOOL_REASON_CHARS, "no process can be started: %s", strerror(errno));
    return false;
}

bool experiment_starter_start(struct experiment_starter *s, const char *command,
                              const struct experiment_plan *plan, const struct experiment_arm *arm,
                              struct tool_connection *login, char reason[TOOL_REASON_CHARS]) {
    struct command_line c = {.text = {.class = MEMORY_OTHER}};
    char folder[EXPERIMENT_FOLDER_CHARS], output[EXPERIMENT_FOLDER_CHARS];
    folder_of(s, s->count, "", folder);
    folder_of(s, s->count, "/output", output);
    bool good = false;
    login->host = "127.0.0.1";
    login->port = find_free_port(reason);
    if (!login->port) {
        /* The reason is there. */
    } else if (mkdir(folder, 0700) != 0) {
        snprintf(reason, TOOL_REASON_CHARS, "%.250s: %s", folder, strerror(errno));
    } else if (!add_words(&c, command) || !c.count) {
        snprintf(reason, TOOL_REASON_CHARS, "--start: no command: %.200s", command);
    } else if (add_arm_options(&c, plan, arm, reason)) {
        add_own_options(&c, login->port, folder);
        good = fork_server(s, &c, output, reason);
    }
    buffer_free(&c.text);
    memory_free(c.places, MEMORY_OTHER);
    return good;
}

/* --- what has become of it -------------------------------------------------------------------- */

/* Writes the last lines of a server's output, joined by blanks. */
static void read_last_lines(const struct experiment_starter *s, unsigned index, char *out,
                            size_t size) {
    char path[EXPERIMENT_FOLDER_CHARS], tail[TAIL_BYTES];
    folder_of(s, index, "/output", path);
    *out = '\0';
    FILE *file = fopen(path, "re");
    if (!file) return;
    if (fseek(file, -TAIL_BYTES, SEEK_END) != 0) rewind(file);
    size_t length = fread(tail, 1, sizeof(tail), file), from;
    fclose(file);
    while (length && isspace((uint8_t)tail[length - 1])) length--;
    unsigned lines = 0;
    for (from = length; from > 0; from--)
        if (tail[from - 1] == '\n' && ++lines == TAIL_LINES) break;
    for (size_t i = from; i < length; i++)
        if (tail[i] == '\n') tail[i] = ' ';
    string_show((struct slice){tail + from, length - from}, out, size);
}

/* Whether the server's process lives. False with a reason. */
static bool server_lives(const struct experiment_starter *s, unsigned index,
                         char reason[TOOL_REASON_CHARS]) {
    char last[300];
    siginfo_t end = {0};
    id_t pid = (id_t)s->pids[index];
    int failed = waitid(P_PID, pid, &end, WEXITED | WNOHANG | WNOWAIT);
    if (failed ? errno == EINTR : !end.si_pid) return true;
    read_last_lines(s, index, last, sizeof(last));
    if (!failed && end.si_code != CLD_EXITED) {
        snprintf(reason, TOOL_REASON_CHARS, "a signal has ended the server that was started, %s",
                 strsignal(end.si_status));
    } else {
        snprintf(reason, TOOL_REASON_CHARS, "the server that was started has ended, status %d",
                 failed ? -1 : end.si_status);
    }
    size_t used = strlen(reason);
    if (*last) snprintf(reason + used, TOOL_REASON_CHARS - used, ": %s", last);
    return false;
}

bool experiment_starter_check(struct experiment_starter *s, char reason[TOOL_REASON_CHARS]) {
    for (unsigned i = 0; i < s->count; i++)
        if (!server_lives(s, i, reason)) return false;
    return true;
}

bool experiment_starter_await(struct experiment_starter *s, unsigned index,
                              const struct tool_connection *login, bool (*interrupted)(void),
                              char reason[TOOL_REASON_CHARS]) {
    int64_t until = clock_monotonic_msec() + START_MSEC;
    while (clock_monotonic_msec() < until) {
        if (interrupted()) {
            snprintf(reason, TOOL_REASON_CHARS, "ended by a signal");
            return false;
        }
        int fd =
            socket_connect_tcp(login->host, (int)login->port, NULL, 0, reason, TOOL_REASON_CHARS);
        struct pollfd connects = {.fd = fd, .events = POLLOUT};
        bool good = fd >= 0 && poll(&connects, 1, RETRY_MSEC) == 1 && !socket_take_error(fd);
        if (fd >= 0) system_close(fd);
        if (!server_lives(s, index, reason)) return false;
        if (good) return true;
        (void)poll(NULL, 0, RETRY_MSEC);
    }
    snprintf(reason, TOOL_REASON_CHARS, "the server that was started accepts no connection");
    return false;
}

void experiment_starter_close(struct experiment_starter *s) {
    if (!s->keeper) return;
    for (unsigned i = 0; i < s->count; i++) {
        (void)kill(-s->pids[i], SIGKILL);
        (void)kill(s->pids[i], SIGKILL); /* before it has a session of its own */
        while (waitpid(s->pids[i], NULL, 0) < 0 && errno == EINTR) continue;
    }
    (void)tell_keeper(s, 0);
    system_close(s->fd);
    while (waitpid(s->keeper, NULL, 0) < 0 && errno == EINTR) continue;
    remove_folder(s->folder); /* it is gone unless the keeper was killed */
    *s = (struct experiment_starter){.fd = -1};
}
