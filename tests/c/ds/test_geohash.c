/* SPDX-License-Identifier: BSD-3-Clause
 * Tests of ds/geohash: known cells, the way there and back, and that a cover leaves nothing out.
 *
 * SEED=n runs the same random choices again; each run prints its seed.
 */
#include "ds/geohash.h"

#include <math.h>

#include "base/seed.h"

#define ROUNDS 20000

static double random_between(double low, double high) {
    return low + (high - low) * (double)(random_u64() >> 11) / (double)(UINT64_C(1) << 53);
}

static struct geohash_position random_position(void) {
    return (struct geohash_position){random_between(-GEOHASH_LONGITUDE_MAX, GEOHASH_LONGITUDE_MAX),
                                     random_between(-GEOHASH_LATITUDE_MAX, GEOHASH_LATITUDE_MAX)};
}

/* Cells and texts that the documentation of GEOADD and GEOHASH shows. */
static void test_known(void **state) {
    struct geohash_position palermo = {13.361389, 38.115556}, catania = {15.087269, 37.502669};
    char text[GEOHASH_TEXT_CHARS + 1];
    assert_true(geohash_encode(palermo) == 3479099956230698);
    assert_true(geohash_encode(catania) == 3479447370796909);
    geohash_text(geohash_encode(palermo), text);
    assert_string_equal(text, "sqc8b49rny0");
    geohash_text(geohash_encode(catania), text);
    assert_string_equal(text, "sqdtr74hyu0");
    double metres = geohash_distance(geohash_decode(geohash_encode(palermo)),
                                     geohash_decode(geohash_encode(catania)));
    assert_true(fabs(metres - 166274.1516) < 0.0001);
}

static void test_limits(void **state) {
    struct geohash_position outside[] = {{180.1, 0}, {-180.1, 0}, {0, 85.06}, {0, -85.06}};
    for (size_t i = 0; i < sizeof(outside) / sizeof(outside[0]); i++)
        assert_false(geohash_position_is_valid(outside[i]));
    struct geohash_position nowhere = {NAN, 0};
    assert_false(geohash_position_is_valid(nowhere));
    struct geohash_position corner = {-180, -GEOHASH_LATITUDE_MAX};
    assert_true(geohash_encode(corner) == 0);
}

static void test_there_and_back(void **state) {
    /* Half a cell. */
    const double wide = 180.0 / (1 << 26), high = GEOHASH_LATITUDE_MAX / (1 << 26);
    for (int i = 0; i < ROUNDS; i++) {
        struct geohash_position p = random_position();
        uint64_t cell = geohash_encode(p);
        struct geohash_position q = geohash_decode(cell);
        assert_true(cell < UINT64_C(1) << 52);
        assert_true(fabs(p.longitude - q.longitude) <= wide * 1.01);
        assert_true(fabs(p.latitude - q.latitude) <= high * 1.01);
        assert_true(geohash_encode(q) == cell);
    }
}

/* Whatever lies in a circle or box of up to 1,000 km away from the poles is in one of the ranges,
 * and the ranges do not overlap. */
static void test_cover(void **state) {
    for (int i = 0; i < ROUNDS; i++) {
        struct geohash_shape shape = {
            .centre = {random_between(-160, 160), random_between(-65, 65)},
            .is_box = random_below(2)};
        double size = pow(10, random_between(0, 6)), distance;
        shape.radius = size;
        shape.width = size * random_between(0.1, 2);
        shape.height = size * random_between(0.1, 2);
        struct geohash_range ranges[GEOHASH_RANGES_MAX];
        size_t count = geohash_cover(&shape, ranges);
        assert_true(count >= 1 && count <= GEOHASH_RANGES_MAX);
        double degrees = size / 111000 * 2.5;
        for (int k = 0; k < 10; k++) {
            struct geohash_position p = shape.centre;
            p.longitude += random_between(-degrees, degrees);
            p.latitude += random_between(-degrees, degrees);
            if (!geohash_position_is_valid(p)) continue;
            uint64_t cell = geohash_encode(p);
            int within = 0;
            for (size_t r = 0; r < count; r++)
                within += cell >= ranges[r].first && cell < ranges[r].end;
            assert_true(within <= 1);
            if (geohash_contains(&shape, geohash_decode(cell), &distance))
                assert_int_equal(within, 1);
        }
    }
}

/* As 6.2: from the very edge in the east nothing is found west of it but what lies across a step,
 * and the column beyond the last, which no position of a cell below 2^52 has. */
static void test_cover_edge(void **state) {
    struct geohash_shape shape = {.centre = {180, 0}, .radius = 1000};
    struct geohash_range ranges[GEOHASH_RANGES_MAX];
    struct geohash_position east = {179.9999, 0}, west = {-179.9999, 0};
    for (double radius = 1; radius < 1e7; radius *= 3) {
        shape.radius = radius;
        size_t count = geohash_cover(&shape, ranges);
        assert_true(ranges[0].first >= UINT64_C(1) << 52);
        for (size_t r = 0; r < count; r++) {
            uint64_t cell = geohash_encode(west);
            assert_false(cell >= ranges[r].first && cell < ranges[r].end);
        }
    }
    shape.centre = east;
    assert_true(geohash_cover(&shape, ranges) > 1);
    assert_true(geohash_encode(east) >= ranges[0].first && geohash_encode(east) < ranges[0].end);
}

int main(void) {
    seed_from_environment();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_known),          cmocka_unit_test(test_limits),
        cmocka_unit_test(test_there_and_back), cmocka_unit_test(test_cover),
        cmocka_unit_test(test_cover_edge),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
