/* SPDX-License-Identifier: BSD-3-Clause
 * Tests as rows: the title that is printed, the names that select the test, the words of its
 * request.
 *
 * Titles, names and requests are those of 6.2, so that figures can be compared.
 */
#include "benchmark/benchmark_tests.h"

#include "base/panic.h"

#define WORDS_MAX 24
/* With --cluster a key has a hash tag. In rows, TAG stands for ":{tag}" or nothing. */
#define TAG "<tag>"
#define KEY "key" TAG ":" BENCHMARK_RANDOM_WORD
#define ELEMENT "element:" BENCHMARK_RANDOM_WORD

/* Words of a request that are replaced: VALUE by a value of -d bytes, SCORE by a random number, or
 * by 0 where requests have no random numbers. */
#define VALUE "VALUE"
#define SCORE "SCORE"
#define PAIR " " KEY " " VALUE

struct row {
    const char *title, *names; /* each name has a comma before and after it */
    const char *words;         /* separated by one blank */
    bool is_inline;
};

static const struct row rows[] = {
    {"PING_INLINE", ",ping,ping_inline,", "PING", true},
    {"PING_MBULK", ",ping,ping_mbulk,", "PING", false},
    {"SET", ",set,", "SET" PAIR, false},
    {"GET", ",get,", "GET " KEY, false},
    {"INCR", ",incr,", "INCR counter" TAG ":" BENCHMARK_RANDOM_WORD, false},
    {"LPUSH", ",lpush,", "LPUSH mylist" TAG " " VALUE, false},
    {"RPUSH", ",rpush,", "RPUSH mylist" TAG " " VALUE, false},
    {"LPOP", ",lpop,", "LPOP mylist" TAG, false},
    {"RPOP", ",rpop,", "RPOP mylist" TAG, false},
    {"SADD", ",sadd,", "SADD myset" TAG " " ELEMENT, false},
    {"HSET", ",hset,", "HSET myhash" TAG " " ELEMENT " " VALUE, false},
    {"SPOP", ",spop,", "SPOP myset" TAG, false},
    {"ZADD", ",zadd,", "ZADD myzset" TAG " " SCORE " " ELEMENT, false},
    {"ZPOPMIN", ",zpopmin,", "ZPOPMIN myzset" TAG, false},
    {"LPUSH (needed to benchmark LRANGE)", ",lrange,lrange_100,lrange_300,lrange_500,lrange_600,",
     "LPUSH mylist" TAG " " VALUE, false},
    {"LRANGE_100 (first 100 elements)", ",lrange,lrange_100,", "LRANGE mylist" TAG " 0 99", false},
    {"LRANGE_300 (first 300 elements)", ",lrange,lrange_300,", "LRANGE mylist" TAG " 0 299", false},
    {"LRANGE_500 (first 500 elements)", ",lrange,lrange_500,", "LRANGE mylist" TAG " 0 499", false},
    {"LRANGE_600 (first 600 elements)", ",lrange,lrange_600,", "LRANGE mylist" TAG " 0 599", false},
    {"MSET (10 keys)", ",mset,", "MSET" PAIR PAIR PAIR PAIR PAIR PAIR PAIR PAIR PAIR PAIR, false},
};
#define ROWS (sizeof(rows) / sizeof(rows[0]))

size_t benchmark_test_count(void) { return ROWS; }
const char *benchmark_test_title(size_t test) { return rows[test].title; }

static bool row_has_name(const struct row *row, const char *name, size_t length) {
    if (!length) return false;
    for (const char *at = row->names; at[1]; at = strchr(at + 1, ',')) {
        if (!strncasecmp(at + 1, name, length) && at[length + 1] == ',') return true;
    }
    return false;
}

bool benchmark_test_is_chosen(size_t test, const char *names) {
    if (!names) return true;
    while (true) {
        size_t length = strcspn(names, ",");
        if (row_has_name(&rows[test], names, length)) return true;
        if (!names[length]) return false;
        names += length + 1;
    }
}

const char *benchmark_tests_unknown(const char *names, size_t *length) {
    while (true) {
        *length = strcspn(names, ",");
        size_t test = 0;
        while (test < ROWS && !row_has_name(&rows[test], names, *length)) test++;
        if (test == ROWS) return names;
        if (!names[*length]) return NULL;
        names += *length + 1;
    }
}

/* Appends a word of a row; TAG becomes a hash tag, or goes. */
static void append_word(struct buffer *out, struct slice word, bool tags) {
    const char *tag = memmem(word.bytes, word.length, TAG, sizeof(TAG) - 1);
    size_t before = tag ? (size_t)(tag - word.bytes) : word.length;
    buffer_append(out, word.bytes, before);
    if (!tag) return;
    if (tags) buffer_append_c_string(out, ":" BENCHMARK_TAG_WORD);
    buffer_append(out, tag + sizeof(TAG) - 1, word.length - before - (sizeof(TAG) - 1));
}

void benchmark_test_request(size_t test, size_t value_bytes, bool draws, bool tags,
                            struct benchmark_request *request) {
    if (rows[test].is_inline) {
        benchmark_request_of_bytes(request, SLICE("PING\r\n"));
        return;
    }
    char *value = memory_alloc(value_bytes, MEMORY_OTHER);
    memset(value, 'x', value_bytes);
    struct slice words[WORDS_MAX];
    struct buffer texts[WORDS_MAX];
    size_t count = 0;
    for (const char *at = rows[test].words; *at; at += *at == ' ', count++) {
        struct slice word = {at, strcspn(at, " ")};
        at += word.length;
        ASSERT(count < WORDS_MAX);
        buffer_init(&texts[count], MEMORY_OTHER);
        append_word(&texts[count], word, tags);
        words[count] = buffer_slice(&texts[count]);
        if (slice_is(word, VALUE)) words[count] = (struct slice){value, value_bytes};
        if (slice_is(word, SCORE)) words[count] = slice_of(draws ? BENCHMARK_RANDOM_WORD : "0");
    }
    bool fits = benchmark_request_of_words(request, words, count, draws) &&
                (!tags || benchmark_request_find_tags(request));
    ASSERT(fits);
    while (count) buffer_free(&texts[--count]);
    memory_free(value, MEMORY_OTHER);
}
