/* SPDX-License-Identifier: BSD-3-Clause
 * HyperLogLog in the bytes of a string.
 *
 * To raise a register of the sparse form, the run that covers it is rewritten as up to three runs:
 * the registers before it, the register, the registers after it. Then neighbouring runs of equal
 * value are joined. A GET shows these bytes, so both steps follow 6.2: at most JOIN_RUNS runs are
 * looked at, beginning with the run before the changed one, and a run of zeros takes two bytes only
 * beyond 64 zeros.
 *
 * Invariants of the bytes that this file writes (foreign bytes may break 2 and 3, and are still
 * safe):
 *  1. Runs cover each of the registers exactly once, in order.
 *  2. A run of values has 1 to 4 registers of 1 to 32; one of zeros 1 to 16,384.
 *  3. The kept cardinality is that of the registers, unless it is marked as out of date.
 */
#include "ds/hyperloglog.h"

#include <math.h>
#include <string.h>

#define INDEX_BITS 14
#define REGISTER_BITS 6
#define REGISTER_MASK 63u
#define ENCODING_OFFSET 4
#define COUNT_OFFSET 8
#define COUNT_STALE 0x80 /* in the last byte of the kept cardinality */
#define HASH_SEED 0xadc83b19u
/* Of the sparse form. */
#define RUN_VALUES 0x80
#define RUN_LONG_ZEROS 0x40
#define ZEROS_SHORT_MAX 64
#define VALUES_RUN_MAX 4
#define SPARSE_VALUE_MAX 32
#define JOIN_RUNS 5
#define SPLIT_BYTES_MAX 5 /* two long runs of zeros and a value */
/* The constant of Ertl's estimator: 1 / (2 ln 2). */
#define ALPHA 0.721347520444481703680

enum encoding { DENSE, SPARSE };

static const char magic[ENCODING_OFFSET] = {'H', 'Y', 'L', 'L'};

bool hyperloglog_is_valid(struct slice bytes) {
    if (bytes.length < HYPERLOGLOG_HEADER_BYTES || memcmp(bytes.bytes, magic, sizeof(magic)) != 0)
        return false;
    if (bytes.bytes[ENCODING_OFFSET] == DENSE) return bytes.length == HYPERLOGLOG_DENSE_BYTES;
    return bytes.bytes[ENCODING_OFFSET] == SPARSE;
}

bool hyperloglog_is_dense(const char *bytes) { return bytes[ENCODING_OFFSET] == DENSE; }

/* ---- the hash ---- */

/* Words are little-endian on every machine, so that equal elements have equal hashes everywhere. */
static uint64_t load_le(const unsigned char *bytes, size_t count) {
    uint64_t word = 0;
    for (size_t i = 0; i < count; i++) word |= (uint64_t)bytes[i] << (8 * i);
    return word;
}

static uint64_t hyperloglog_hash(struct slice element) {
    const uint64_t multiplier = 0xc6a4a7935bd1e995;
    const unsigned char *bytes = (const unsigned char *)element.bytes;
    size_t left = element.length;
    uint64_t hash = HASH_SEED ^ left * multiplier;
    for (; left >= 8; left -= 8, bytes += 8) {
        uint64_t word = load_le(bytes, 8) * multiplier;
        word = (word ^ word >> 47) * multiplier;
        hash = (hash ^ word) * multiplier;
    }
    if (left) hash = (hash ^ load_le(bytes, left)) * multiplier;
    hash = (hash ^ hash >> 47) * multiplier;
    return hash ^ hash >> 47;
}

/* The register of an element, and the value to which the element raises it: the position of the
 * lowest 1 in the rest of the hash. */
static unsigned register_of(struct slice element, uint8_t *value) {
    uint64_t hash = hyperloglog_hash(element);
    uint64_t rest = hash >> INDEX_BITS | UINT64_C(1) << (64 - INDEX_BITS);
    *value = (uint8_t)(__builtin_ctzll(rest) + 1);
    return (unsigned)(hash & (HYPERLOGLOG_REGISTERS - 1));
}

/* ---- dense ---- */

static uint8_t dense_get(const unsigned char *registers, unsigned index) {
    unsigned bit = index * REGISTER_BITS, at = bit / 8, shift = bit % 8;
    unsigned pair = registers[at];
    if (shift > 8 - REGISTER_BITS) pair |= (unsigned)registers[at + 1] << 8;
    return (uint8_t)(pair >> shift & REGISTER_MASK);
}

static void dense_set(unsigned char *registers, unsigned index, uint8_t value) {
    unsigned bit = index * REGISTER_BITS, at = bit / 8, shift = bit % 8;
    unsigned mask = REGISTER_MASK << shift, wanted = (unsigned)value << shift;
    registers[at] = (unsigned char)((registers[at] & ~mask) | wanted);
    if (shift > 8 - REGISTER_BITS)
        registers[at + 1] = (unsigned char)((registers[at + 1] & ~(mask >> 8)) | wanted >> 8);
}

static bool dense_raise(char *bytes, unsigned index, uint8_t value) {
    unsigned char *registers = (unsigned char *)bytes + HYPERLOGLOG_HEADER_BYTES;
    if (dense_get(registers, index) >= value) return false;
    dense_set(registers, index, value);
    return true;
}

/* ---- sparse ---- */

bool hyperloglog_run_at(struct slice bytes, struct hyperloglog_run *run) {
    if (run->at >= bytes.length) return false;
    unsigned first = (unsigned char)bytes.bytes[run->at];
    run->bytes = 1;
    run->value = 0;
    if (first & RUN_VALUES) {
        run->value = (uint8_t)((first >> 2 & 31) + 1);
        run->length = (first & 3) + 1;
    } else if (first & RUN_LONG_ZEROS) {
        if (run->at + 1 >= bytes.length) return false;
        run->bytes = 2;
        run->length = ((first & 63) << 8 | (unsigned char)bytes.bytes[run->at + 1]) + 1;
    } else {
        run->length = (first & 63) + 1;
    }
    return run->first + run->length <= HYPERLOGLOG_REGISTERS;
}

static void run_pass(struct hyperloglog_run *run) {
    run->at += run->bytes;
    run->first += run->length;
}

/* Whether a walk over the runs that has ended has seen all registers. Bytes behind the runs are
 * ignored where they begin with a run of values, as in 6.2. */
static bool runs_cover_all(struct slice bytes, const struct hyperloglog_run *run) {
    if (run->first != HYPERLOGLOG_REGISTERS) return false;
    return run->at >= bytes.length || (unsigned char)bytes.bytes[run->at] & RUN_VALUES;
}

/* Returns the bytes written: none for an empty run. */
static size_t run_write(unsigned char *out, unsigned length, uint8_t value) {
    if (!length) return 0;
    if (value) {
        out[0] = (unsigned char)(RUN_VALUES | (value - 1) << 2 | (length - 1));
        return 1;
    }
    if (length <= ZEROS_SHORT_MAX) {
        out[0] = (unsigned char)(length - 1);
        return 1;
    }
    out[0] = (unsigned char)(RUN_LONG_ZEROS | (length - 1) >> 8);
    out[1] = (unsigned char)(length - 1);
    return 2;
}

/* Joins neighbours of equal value among JOIN_RUNS runs from offset `at` on. */
static void join_runs(char *bytes, size_t *length, size_t at) {
    for (int looked = 0; looked < JOIN_RUNS && at < *length; looked++) {
        struct slice all = {bytes, *length};
        /* Registers' numbers do not matter here: both runs are read as if they began with register
         * 0. */
        struct hyperloglog_run run = {.at = at}, following;
        if (!hyperloglog_run_at(all, &run)) return;
        following = (struct hyperloglog_run){.at = at + run.bytes};
        if (!run.value || !hyperloglog_run_at(all, &following) || following.value != run.value ||
            run.length + following.length > VALUES_RUN_MAX) {
            at += run.bytes;
            continue;
        }
        run_write((unsigned char *)bytes + at, run.length + following.length, run.value);
        memmove(bytes + at + 1, bytes + at + 2, *length - at - 2);
        --*length;
    }
}

size_t hyperloglog_init(char *bytes) {
    memset(bytes, 0, HYPERLOGLOG_HEADER_BYTES);
    memcpy(bytes, magic, sizeof(magic));
    bytes[ENCODING_OFFSET] = SPARSE;
    return HYPERLOGLOG_HEADER_BYTES +
           run_write((unsigned char *)bytes + HYPERLOGLOG_HEADER_BYTES, HYPERLOGLOG_REGISTERS, 0);
}

bool hyperloglog_make_dense(char *bytes, size_t *length) {
    unsigned char dense[HYPERLOGLOG_DENSE_BYTES];
    struct hyperloglog_run run = {.at = HYPERLOGLOG_HEADER_BYTES};
    struct slice sparse = {bytes, *length};
    if (hyperloglog_is_dense(bytes)) return true;
    memset(dense, 0, sizeof(dense));
    memcpy(dense, bytes, HYPERLOGLOG_HEADER_BYTES);
    dense[ENCODING_OFFSET] = DENSE;
    for (; hyperloglog_run_at(sparse, &run); run_pass(&run))
        for (unsigned i = 0; run.value && i < run.length; i++)
            dense_set(dense + HYPERLOGLOG_HEADER_BYTES, run.first + i, run.value);
    if (!runs_cover_all(sparse, &run)) return false;
    memcpy(bytes, dense, sizeof(dense));
    *length = sizeof(dense);
    return true;
}

static enum hyperloglog_result raise_as_dense(char *bytes, size_t *length, unsigned index,
                                              uint8_t value) {
    if (!hyperloglog_make_dense(bytes, length)) return HYPERLOGLOG_CORRUPT;
    return dense_raise(bytes, index, value) ? HYPERLOGLOG_CHANGED : HYPERLOGLOG_SAME;
}

static enum hyperloglog_result sparse_raise(char *bytes, size_t *length, unsigned index,
                                            uint8_t value, size_t sparse_max) {
    struct slice all = {bytes, *length};
    struct hyperloglog_run run = {.at = HYPERLOGLOG_HEADER_BYTES};
    size_t before = HYPERLOGLOG_HEADER_BYTES;
    if (value > SPARSE_VALUE_MAX) return raise_as_dense(bytes, length, index, value);
    for (;; run_pass(&run)) {
        if (!hyperloglog_run_at(all, &run)) return HYPERLOGLOG_CORRUPT;
        if (index < run.first + run.length) break;
        before = run.at;
    }
    if (run.value >= value) return HYPERLOGLOG_SAME;

    unsigned char parts[SPLIT_BYTES_MAX];
    size_t size = run_write(parts, index - run.first, run.value);
    size += run_write(parts + size, 1, value);
    size += run_write(parts + size, run.first + run.length - index - 1, run.value);
    size_t grown = *length - run.bytes + size;
    if (size > run.bytes && (grown > sparse_max || grown > HYPERLOGLOG_ROOM_BYTES))
        return raise_as_dense(bytes, length, index, value);
    memmove(bytes + run.at + size, bytes + run.at + run.bytes, *length - run.at - run.bytes);
    memcpy(bytes + run.at, parts, size);
    *length = grown;
    join_runs(bytes, length, before);
    return HYPERLOGLOG_CHANGED;
}

/* ---- both ---- */

static enum hyperloglog_result raise_one(char *bytes, size_t *length, unsigned index, uint8_t value,
                                         size_t sparse_max) {
    enum hyperloglog_result result;
    if (!hyperloglog_is_dense(bytes))
        result = sparse_raise(bytes, length, index, value, sparse_max);
    else
        result = dense_raise(bytes, index, value) ? HYPERLOGLOG_CHANGED : HYPERLOGLOG_SAME;
    if (result == HYPERLOGLOG_CHANGED) hyperloglog_forget_count(bytes);
    return result;
}

enum hyperloglog_result hyperloglog_add(char *bytes, size_t *length, struct slice element,
                                        size_t sparse_max) {
    uint8_t value;
    unsigned index = register_of(element, &value);
    return raise_one(bytes, length, index, value, sparse_max);
}

bool hyperloglog_dense_has(const char *bytes, struct slice element) {
    uint8_t value;
    unsigned index = register_of(element, &value);
    return dense_get((const unsigned char *)bytes + HYPERLOGLOG_HEADER_BYTES, index) >= value;
}

bool hyperloglog_raise(char *bytes, size_t *length, const uint8_t registers[HYPERLOGLOG_REGISTERS],
                       size_t sparse_max) {
    for (unsigned i = 0; i < HYPERLOGLOG_REGISTERS; i++)
        if (registers[i] &&
            raise_one(bytes, length, i, registers[i], sparse_max) == HYPERLOGLOG_CORRUPT)
            return false;
    return true;
}

/* All registers of the dense form, four in each three bytes. */
static void dense_unpack(const unsigned char *packed, uint8_t *registers) {
    for (unsigned i = 0; i < HYPERLOGLOG_REGISTERS; i += 4, packed += 3) {
        unsigned word = packed[0] | (unsigned)packed[1] << 8 | (unsigned)packed[2] << 16;
        for (unsigned k = 0; k < 4; k++)
            registers[i + k] = (uint8_t)(word >> (REGISTER_BITS * k) & REGISTER_MASK);
    }
}

bool hyperloglog_merge(uint8_t registers[HYPERLOGLOG_REGISTERS], struct slice bytes) {
    if (hyperloglog_is_dense(bytes.bytes)) {
        uint8_t own[HYPERLOGLOG_REGISTERS];
        dense_unpack((const unsigned char *)bytes.bytes + HYPERLOGLOG_HEADER_BYTES, own);
        for (unsigned i = 0; i < HYPERLOGLOG_REGISTERS; i++)
            registers[i] = registers[i] < own[i] ? own[i] : registers[i];
        return true;
    }
    struct hyperloglog_run run = {.at = HYPERLOGLOG_HEADER_BYTES};
    for (; hyperloglog_run_at(bytes, &run); run_pass(&run))
        for (unsigned i = run.first; run.value && i < run.first + run.length; i++)
            if (registers[i] < run.value) registers[i] = run.value;
    return runs_cover_all(bytes, &run);
}

/* ---- the estimate ---- */

/* Ertl's sigma and tau: the corrections for registers that are still 0 and for those at their
 * maximum; both series converge within some dozens of terms. */
static double correction_sigma(double x) {
    double power = 1, sum = x, last;
    if (x == 1) return INFINITY;
    do {
        x *= x;
        last = sum;
        sum += x * power;
        power += power;
    } while (sum != last);
    return sum;
}

static double correction_tau(double x) {
    double power = 1, sum = 1 - x, last;
    if (x == 0 || x == 1) return 0;
    do {
        x = sqrt(x);
        last = sum;
        power *= 0.5;
        sum -= (1 - x) * (1 - x) * power;
    } while (sum != last);
    return sum / 3;
}

static uint64_t estimate_cardinality(const unsigned histogram[REGISTER_MASK + 1]) {
    const double m = HYPERLOGLOG_REGISTERS;
    const int last = HYPERLOGLOG_VALUE_MAX;
    const double end = 0x1p63;
    double z = m * correction_tau((m - histogram[last]) / m);
    for (int value = last - 1; value >= 1; value--) z = 0.5 * (z + histogram[value]);
    z += m * correction_sigma(histogram[0] / m);
    double cardinality = ALPHA * m * m / z; /* z is 0 if all (foreign) registers are at their end */
    return cardinality < end ? (uint64_t)llround(cardinality) : HYPERLOGLOG_BEYOND;
}

uint64_t hyperloglog_count_registers(const uint8_t registers[HYPERLOGLOG_REGISTERS]) {
    /* Four histograms side by side, so that increments for equal neighbours do not wait for each
     * other. */
    unsigned parts[4][REGISTER_MASK + 1] = {{0}}, histogram[REGISTER_MASK + 1];
    for (unsigned i = 0; i < HYPERLOGLOG_REGISTERS; i++)
        parts[i % 4][registers[i] & REGISTER_MASK]++;
    for (unsigned v = 0; v <= REGISTER_MASK; v++)
        histogram[v] = parts[0][v] + parts[1][v] + parts[2][v] + parts[3][v];
    return estimate_cardinality(histogram);
}

bool hyperloglog_count(struct slice bytes, uint64_t *cardinality) {
    unsigned histogram[REGISTER_MASK + 1] = {0};
    if (hyperloglog_is_dense(bytes.bytes)) {
        uint8_t registers[HYPERLOGLOG_REGISTERS];
        dense_unpack((const unsigned char *)bytes.bytes + HYPERLOGLOG_HEADER_BYTES, registers);
        *cardinality = hyperloglog_count_registers(registers);
        return true;
    }
    struct hyperloglog_run run = {.at = HYPERLOGLOG_HEADER_BYTES};
    for (; hyperloglog_run_at(bytes, &run); run_pass(&run)) histogram[run.value] += run.length;
    *cardinality = estimate_cardinality(histogram);
    return run.at == bytes.length && run.first == HYPERLOGLOG_REGISTERS;
}

bool hyperloglog_kept_count(const char *bytes, uint64_t *cardinality) {
    *cardinality = load_le((const unsigned char *)bytes + COUNT_OFFSET, 8);
    return !(*cardinality >> 63);
}

void hyperloglog_keep_count(char *bytes, uint64_t cardinality) {
    for (unsigned i = 0; i < 8; i++) bytes[COUNT_OFFSET + i] = (char)(cardinality >> (8 * i));
}

void hyperloglog_forget_count(char *bytes) {
    bytes[HYPERLOGLOG_HEADER_BYTES - 1] = (char)(bytes[HYPERLOGLOG_HEADER_BYTES - 1] | COUNT_STALE);
}
