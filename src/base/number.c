/* SPDX-License-Identifier: BSD-3-Clause
 * Text to numbers and back.
 *
 * Integers are read and written here, two digits at a time. Floating point is the C library's,
 * which rounds correctly in both directions. Fast paths before it serve what clients mostly send:
 * whole numbers, and short decimals, whose mantissa and power of ten a double holds exactly, so
 * that one division rounds as strtod does (Clinger, 1990).
 *
 * strtod and printf follow LC_NUMERIC; the process never sets it, so it is "C".
 */
#include "base/number.h"

#include <errno.h>
#include <limits.h>
#include <math.h>

#include "base/memory.h"
#include "base/panic.h"

/* More digits than this, and 6.2 calls a byte value malformed. */
#define BYTES_DIGITS_MAX 127
/* A long double's text is refused from this length on, as by 6.2. */
#define LONG_DOUBLE_TEXT_MAX 5120
#define SHORT_TEXT_MAX 256
#define FIXED_DECIMALS_MAX 17
#define FIXED_WHOLE_MAX 9007199254740992.0 /* 2^53: from here on all doubles are whole */

static const uint64_t powers_of_ten[20] = {
    UINT64_C(1),
    UINT64_C(10),
    UINT64_C(100),
    UINT64_C(1000),
    UINT64_C(10000),
    UINT64_C(100000),
    UINT64_C(1000000),
    UINT64_C(10000000),
    UINT64_C(100000000),
    UINT64_C(1000000000),
    UINT64_C(10000000000),
    UINT64_C(100000000000),
    UINT64_C(1000000000000),
    UINT64_C(10000000000000),
    UINT64_C(100000000000000),
    UINT64_C(1000000000000000),
    UINT64_C(10000000000000000),
    UINT64_C(100000000000000000),
    UINT64_C(1000000000000000000),
    UINT64_C(10000000000000000000),
};

/* "00" to "99", one after the other. */
#define TEN_PAIRS(t) t "0" t "1" t "2" t "3" t "4" t "5" t "6" t "7" t "8" t "9"
static const char digit_pairs[] = TEN_PAIRS("0") TEN_PAIRS("1") TEN_PAIRS("2") TEN_PAIRS("3")
    TEN_PAIRS("4") TEN_PAIRS("5") TEN_PAIRS("6") TEN_PAIRS("7") TEN_PAIRS("8") TEN_PAIRS("9");

/* ---- Reading integers ---- */

bool number_parse_uint64(const char *text, size_t length, uint64_t *value) {
    if (length == 0 || length > 20) return false;
    unsigned digit = (unsigned char)text[0] - (unsigned)'0';
    if (digit > 9 || (digit == 0 && length > 1)) return false;
    uint64_t sum = digit;
    size_t safe = length < 20 ? length : 19; /* 19 digits always fit */
    for (size_t i = 1; i < safe; i++) {
        digit = (unsigned char)text[i] - (unsigned)'0';
        if (digit > 9) return false;
        sum = sum * 10 + digit;
    }
    if (length == 20) {
        digit = (unsigned char)text[19] - (unsigned)'0';
        if (digit > 9 || __builtin_mul_overflow(sum, 10u, &sum) ||
            __builtin_add_overflow(sum, digit, &sum)) {
            return false;
        }
    }
    *value = sum;
    return true;
}

bool number_parse_int64(const char *text, size_t length, int64_t *value) {
    if (length == 0) return false;
    uint64_t magnitude;
    if (text[0] != '-') {
        if (!number_parse_uint64(text, length, &magnitude) || magnitude > INT64_MAX) return false;
        *value = (int64_t)magnitude;
        return true;
    }
    if (!number_parse_uint64(text + 1, length - 1, &magnitude)) return false;
    if (magnitude == 0 || magnitude > (uint64_t)INT64_MAX + 1) return false;
    *value = (int64_t)(0 - magnitude);
    return true;
}

/* ---- Reading floating point ---- */

/* [-]digits[.digits] with at most 15 digits. False for any other text, which may still be a number.
 */
static bool parse_short_decimal(const char *text, size_t length, double *value) {
    bool negative = length > 0 && text[0] == '-';
    size_t first = negative ? 1 : 0;
    if (length == first || length - first > 16) return false;
    uint64_t mantissa = 0;
    size_t digits = 0, point = length;
    for (size_t i = first; i < length; i++) {
        unsigned digit = (unsigned char)text[i] - (unsigned)'0';
        if (digit <= 9) {
            mantissa = mantissa * 10 + digit;
            digits++;
        } else if (text[i] == '.' && point == length) {
            point = i;
        } else {
            return false;
        }
    }
    if (digits == 0 || digits > 15) return false;
    double result = (double)mantissa;
    if (point < length) result /= (double)powers_of_ten[length - point - 1];
    *value = negative ? -result : result;
    return true;
}

static bool starts_blank(const char *text) {
    return text[0] == ' ' || (text[0] >= '\t' && text[0] <= '\r');
}

/* `text` is NUL-terminated after `length` bytes. */
static bool parse_with_strtod(const char *text, size_t length, double *value) {
    char *end;
    errno = 0;
    double result = strtod(text, &end);
    if (end != text + length || isnan(result)) return false;
    if (errno == ERANGE && (isinf(result) || result == 0)) return false;
    *value = result;
    return true;
}

bool number_parse_double(const char *text, size_t length, double *value) {
    if (parse_short_decimal(text, length, value)) return true;
    if (length == 0 || starts_blank(text)) return false;
    if (length <= SHORT_TEXT_MAX) {
        char copy[SHORT_TEXT_MAX + 1];
        memcpy(copy, text, length);
        copy[length] = '\0';
        return parse_with_strtod(copy, length, value);
    }
    char *copy = memory_alloc(length + 1, MEMORY_OTHER);
    memcpy(copy, text, length);
    copy[length] = '\0';
    bool parsed = parse_with_strtod(copy, length, value);
    memory_free_sized(copy, length + 1, MEMORY_OTHER);
    return parsed;
}

bool number_parse_long_double(const char *text, size_t length, long double *value) {
    if (length == 0 || length >= LONG_DOUBLE_TEXT_MAX || starts_blank(text)) return false;
    char copy[LONG_DOUBLE_TEXT_MAX];
    memcpy(copy, text, length);
    copy[length] = '\0';
    char *end;
    errno = 0;
    long double result = strtold(copy, &end);
    if (end != copy + length || isnan(result)) return false;
    if (errno == ERANGE && (isinf(result) || result == 0)) return false;
    *value = result;
    return true;
}

/* ---- Byte sizes ---- */

struct unit {
    const char *suffix;
    uint64_t bytes;
};

static const struct unit units[] = {
    {"", 1},           {"b", 1},
    {"k", 1000},       {"kb", UINT64_C(1) << 10},
    {"m", 1000000},    {"mb", UINT64_C(1) << 20},
    {"g", 1000000000}, {"gb", UINT64_C(1) << 30},
};

static const char unit_letters[] = "KMGTP";

bool number_parse_bytes(const char *text, size_t length, uint64_t *value) {
    uint64_t sum = 0;
    bool overflow = false;
    size_t digits = 0;
    for (; digits < length && text[digits] >= '0' && text[digits] <= '9'; digits++) {
        overflow |= __builtin_mul_overflow(sum, 10u, &sum);
        overflow |= __builtin_add_overflow(sum, (unsigned)(text[digits] - '0'), &sum);
    }
    if (digits > BYTES_DIGITS_MAX) return false;
    for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
        if (strlen(units[i].suffix) != length - digits) continue;
        if (strncasecmp(units[i].suffix, text + digits, length - digits) != 0) continue;
        overflow |= __builtin_mul_overflow(sum, units[i].bytes, &sum);
        *value = overflow ? UINT64_MAX : sum;
        return true;
    }
    return false;
}

size_t number_format_bytes_human(char *out, size_t size, uint64_t bytes) {
    int length;
    if (bytes < 1024 || bytes >> 60 != 0) { /* 6.2 knows nothing above P */
        length = snprintf(out, size, "%lluB", (unsigned long long)bytes);
    } else {
        unsigned step = (63 - (unsigned)__builtin_clzll(bytes)) / 10;
        double scaled = (double)bytes / (double)(UINT64_C(1) << (10 * step));
        length = snprintf(out, size, "%.2f%c", scaled, unit_letters[step - 1]);
    }
    ASSERT_COMPARE((size_t)length, <, size);
    return (size_t)length;
}

/* ---- Writing integers ---- */

/* The number of digits. A number of b bits has b * log10(2) of them, or one more. */
static inline size_t digits_of(uint64_t value) {
    unsigned bits = 64 - (unsigned)__builtin_clzll(value | 1);
    unsigned guess = bits * 1233 >> 12;
    return guess + (guess < 20 && (value | 1) >= powers_of_ten[guess]);
}

size_t number_format_uint64(char *out, uint64_t value) {
    size_t length = digits_of(value);
    char *at = out + length;
    while (value >= 100) {
        at -= 2;
        memcpy(at, digit_pairs + value % 100 * 2, 2);
        value /= 100;
    }
    if (value >= 10) {
        memcpy(out, digit_pairs + value * 2, 2);
    } else {
        out[0] = (char)('0' + value);
    }
    return length;
}

size_t number_format_int64(char *out, int64_t value) {
    if (value >= 0) return number_format_uint64(out, (uint64_t)value);
    out[0] = '-';
    return 1 + number_format_uint64(out + 1, 0 - (uint64_t)value);
}

/* ---- Writing floating point ---- */

static size_t copy_text(char *out, size_t size, const char *text) {
    size_t length = strlen(text);
    ASSERT_COMPARE(length, <, size);
    memcpy(out, text, length + 1);
    return length;
}

size_t number_format_double(char *out, size_t size, double value) {
    if (isnan(value)) return copy_text(out, size, "nan");
    if (isinf(value)) return copy_text(out, size, value < 0 ? "-inf" : "inf");
    /* Below 1e17, %.17g writes whole numbers without an exponent. */
    bool moderate = value > -1e17 && value < 1e17;
    if (moderate && value == (double)(int64_t)value && (value != 0 || !signbit(value))) {
        ASSERT_COMPARE((size_t)NUMBER_INT64_CHARS, <=, size);
        size_t digits = number_format_int64(out, (int64_t)value);
        out[digits] = '\0';
        return digits;
    }
    int length = snprintf(out, size, "%.17g", value);
    ASSERT_COMPARE((size_t)length, <, size);
    return (size_t)length;
}

/* A double of magnitude below 2^53 is a whole number and a fraction of some bits. Scaled by the
 * power of ten it fits 128 bits exactly, so only one rounding happens. */
size_t number_format_fixed(char *out, size_t size, double value, int decimals) {
    ASSERT(decimals >= 1 && decimals <= FIXED_DECIMALS_MAX);
    if (!(fabs(value) < FIXED_WHOLE_MAX)) {
        int printed = snprintf(out, size, "%.*f", decimals, value);
        ASSERT_COMPARE((size_t)printed, <, size);
        return (size_t)printed;
    }
    uint64_t bits, scale = powers_of_ten[decimals];
    memcpy(&bits, &value, sizeof(bits));
    unsigned exponent = bits >> 52 & 0x7ff;
    uint64_t mantissa = (bits & ((UINT64_C(1) << 52) - 1)) | (uint64_t)(exponent != 0) << 52;
    unsigned shift = 1075 - (exponent ? exponent : 1);
    uint64_t whole = shift < 64 ? mantissa >> shift : 0, fraction = 0;
    /* A fraction below 2^-128 is less than half of the last decimal. */
    if (shift > 0 && shift < 128) {
        unsigned __int128 one = (unsigned __int128)1 << shift;
        unsigned __int128 scaled = (mantissa & (one - 1)) * scale, rest = scaled & (one - 1);
        fraction = (uint64_t)(scaled >> shift);
        if (rest > one / 2 || (rest == one / 2 && fraction % 2)) fraction++;
        if (fraction == scale) {
            fraction = 0;
            whole++;
        }
    }
    ASSERT_COMPARE((size_t)NUMBER_INT64_CHARS + (size_t)decimals + 1, <, size);
    size_t length = 0;
    if (bits >> 63) out[length++] = '-';
    length += number_format_uint64(out + length, whole);
    out[length++] = '.';
    for (int i = decimals; i-- > 0; fraction /= 10)
        out[length + (size_t)i] = (char)('0' + fraction % 10);
    length += (size_t)decimals;
    out[length] = '\0';
    return length;
}

size_t number_format_long_double_fixed(char *out, size_t size, long double value) {
    if (isnan(value)) return copy_text(out, size, "nan");
    if (isinf(value)) return copy_text(out, size, value < 0 ? "-inf" : "inf");
    size_t length;
    if ((long double)(double)value == value) {
        length = number_format_fixed(out, size, (double)value, FIXED_DECIMALS_MAX);
    } else {
        int printed = snprintf(out, size, "%.17Lf", value);
        ASSERT_COMPARE((size_t)printed, <, size);
        length = (size_t)printed;
    }
    while (out[length - 1] == '0') length--; /* stops at the point at the latest */
    if (out[length - 1] == '.') length--;
    if (length == 2 && out[0] == '-' && out[1] == '0') {
        out[0] = '0';
        length = 1;
    }
    out[length] = '\0';
    return length;
}
