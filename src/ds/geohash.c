/* SPDX-License-Identifier: BSD-3-Clause
 * Positions as interleaved bits.
 *
 * A search takes the largest number of halvings (`steps`) at which the centre's cell and its eight
 * neighbours still cover the shape, and leaves out neighbours that the shape's bounding box does
 * not reach. The number of steps decides the order of unsorted results, so it is found as 6.2 finds
 * it.
 */
#include "ds/geohash.h"

#include <math.h>

#include "base/panic.h"

#define STEPS_MAX 26
#define EARTH_RADIUS_M 6372797.560856
/* Half of the equator on the Web Mercator map, in metres: the largest radius that is reckoned with.
 */
#define MERCATOR_MAX_M 20037726.37
#define DEGREES_TO_RADIANS (M_PI / 180)
/* Cells shrink towards the poles: a step fewer beyond each of these latitudes. */
#define LATITUDE_FEWER 66
#define LATITUDE_FEWEST 80
#define TEXT_LATITUDE_MAX 90.0
#define TEXT_BITS 5

/* One of 4^steps cells, by column (from west) and row (from south). */
struct cell {
    uint32_t column, row;
    int steps;
};

struct box {
    double west, south, east, north;
};

/* ---- bits ---- */

/* Bit i of `bits` goes to bit 2i. */
static uint64_t spread_bits(uint32_t bits) {
    uint64_t wide = bits;
    wide = (wide | wide << 16) & 0x0000ffff0000ffff;
    wide = (wide | wide << 8) & 0x00ff00ff00ff00ff;
    wide = (wide | wide << 4) & 0x0f0f0f0f0f0f0f0f;
    wide = (wide | wide << 2) & 0x3333333333333333;
    return (wide | wide << 1) & 0x5555555555555555;
}

/* Bit 2i goes to bit i; the others are dropped. */
static uint32_t gather_bits(uint64_t wide) {
    wide &= 0x5555555555555555;
    wide = (wide | wide >> 1) & 0x3333333333333333;
    wide = (wide | wide >> 2) & 0x0f0f0f0f0f0f0f0f;
    wide = (wide | wide >> 4) & 0x00ff00ff00ff00ff;
    wide = (wide | wide >> 8) & 0x0000ffff0000ffff;
    return (uint32_t)(wide | wide >> 16);
}

static uint64_t cell_bits(const struct cell *cell) {
    return spread_bits(cell->column) << 1 | spread_bits(cell->row);
}

/* Which of 2^steps equal parts of -limit to limit. */
static uint32_t part_of(double value, double limit, int steps) {
    return (uint32_t)((value + limit) / (2 * limit) * (double)(UINT64_C(1) << steps));
}

static double part_start(double part, double limit, int steps) {
    return part / (double)(UINT64_C(1) << steps) * (2 * limit) - limit;
}

static struct cell cell_at(struct geohash_position p, int steps) {
    return (struct cell){part_of(p.longitude, GEOHASH_LONGITUDE_MAX, steps),
                         part_of(p.latitude, GEOHASH_LATITUDE_MAX, steps), steps};
}

static struct box cell_box(const struct cell *cell) {
    double column = cell->column, row = cell->row;
    int steps = cell->steps;
    return (struct box){part_start(column, GEOHASH_LONGITUDE_MAX, steps),
                        part_start(row, GEOHASH_LATITUDE_MAX, steps),
                        part_start(column + 1, GEOHASH_LONGITUDE_MAX, steps),
                        part_start(row + 1, GEOHASH_LATITUDE_MAX, steps)};
}

/* As in 6.2, a step in either direction wraps round, and a direction without a step does not: a
 * position on the very edge in the east or north stays in a column or row beyond the last, where
 * nothing is. */
static struct cell cell_beside(const struct cell *cell, int east, int north) {
    uint32_t mask = (uint32_t)((UINT64_C(1) << cell->steps) - 1);
    return (struct cell){east ? (cell->column + (uint32_t)east) & mask : cell->column,
                         north ? (cell->row + (uint32_t)north) & mask : cell->row, cell->steps};
}

/* ---- one position ---- */

bool geohash_position_is_valid(struct geohash_position p) {
    return fabs(p.longitude) <= GEOHASH_LONGITUDE_MAX && fabs(p.latitude) <= GEOHASH_LATITUDE_MAX;
}

static double clamp_within(double value, double limit) {
    return value > limit ? limit : value < -limit ? -limit : value;
}

uint64_t geohash_encode(struct geohash_position p) {
    ASSERT(geohash_position_is_valid(p));
    struct cell cell = cell_at(p, STEPS_MAX);
    return cell_bits(&cell);
}

struct geohash_position geohash_decode(uint64_t bits) {
    struct cell cell = {gather_bits(bits >> 1), gather_bits(bits), STEPS_MAX};
    struct box box = cell_box(&cell);
    return (struct geohash_position){
        clamp_within((box.west + box.east) / 2, GEOHASH_LONGITUDE_MAX),
        clamp_within((box.south + box.north) / 2, GEOHASH_LATITUDE_MAX)};
}

void geohash_text(uint64_t bits, char text[GEOHASH_TEXT_CHARS + 1]) {
    static const char alphabet[] = "0123456789bcdefghjkmnpqrstuvwxyz";
    struct geohash_position p = geohash_decode(bits);
    struct cell cell = {part_of(p.longitude, GEOHASH_LONGITUDE_MAX, STEPS_MAX),
                        part_of(p.latitude, TEXT_LATITUDE_MAX, STEPS_MAX), STEPS_MAX};
    uint64_t all = cell_bits(&cell);
    for (int i = 0; i < GEOHASH_TEXT_CHARS; i++) {
        int shift = 2 * STEPS_MAX - (i + 1) * TEXT_BITS;
        text[i] = alphabet[shift >= 0 ? all >> shift & 31 : 0];
    }
    text[GEOHASH_TEXT_CHARS] = 0;
}

double geohash_distance(struct geohash_position a, struct geohash_position b) {
    double a_latitude = a.latitude * DEGREES_TO_RADIANS;
    double b_latitude = b.latitude * DEGREES_TO_RADIANS;
    double half_north = sin((b_latitude - a_latitude) / 2);
    double half_east =
        sin((b.longitude * DEGREES_TO_RADIANS - a.longitude * DEGREES_TO_RADIANS) / 2);
    double chord =
        half_north * half_north + cos(a_latitude) * cos(b_latitude) * half_east * half_east;
    return 2 * EARTH_RADIUS_M * asin(sqrt(chord));
}

bool geohash_contains(const struct geohash_shape *shape, struct geohash_position p,
                      double *distance) {
    struct geohash_position c = shape->centre;
    if (shape->is_box) {
        double east = geohash_distance(p, (struct geohash_position){c.longitude, p.latitude});
        double north = geohash_distance(p, (struct geohash_position){p.longitude, c.latitude});
        if (east > shape->width / 2 || north > shape->height / 2) return false;
    }
    *distance = geohash_distance(c, p);
    return shape->is_box || *distance <= shape->radius;
}

/* ---- cells that cover a shape ---- */

static double shape_radius(const struct geohash_shape *shape) {
    if (!shape->is_box) return shape->radius;
    return sqrt(shape->width / 2 * (shape->width / 2) + shape->height / 2 * (shape->height / 2));
}

static struct box shape_box(const struct geohash_shape *shape) {
    double height = shape->is_box ? shape->height / 2 : shape->radius;
    double width = shape->is_box ? shape->width / 2 : shape->radius;
    double longitude = shape->centre.longitude, latitude = shape->centre.latitude;
    double north = height / EARTH_RADIUS_M / DEGREES_TO_RADIANS;
    /* A degree of longitude is shortest on the box's side that is nearer to a pole. */
    double widest = latitude < 0 ? latitude - north : latitude + north;
    double east = width / EARTH_RADIUS_M / cos(widest * DEGREES_TO_RADIANS) / DEGREES_TO_RADIANS;
    return (struct box){longitude - east, latitude - north, longitude + east, latitude + north};
}

static int steps_for(double radius, double latitude) {
    int steps = 1;
    if (radius == 0) return STEPS_MAX;
    for (; radius < MERCATOR_MAX_M; radius *= 2) steps++;
    steps -= 2; /* so that the cell and its neighbours cover the radius in most cases */
    if (fabs(latitude) > LATITUDE_FEWER) steps--;
    if (fabs(latitude) > LATITUDE_FEWEST) steps--;
    return steps < 1 ? 1 : steps > STEPS_MAX ? STEPS_MAX : steps;
}

/* True where the outer edges of the four cells beside `cell` all reach the edges of the wanted box.
 * Edges are compared as they are, even where a neighbour has wrapped round to the other side of the
 * map. */
static bool neighbours_reach(const struct cell *cell, const struct box *wanted) {
    struct cell north = cell_beside(cell, 0, 1), south = cell_beside(cell, 0, -1);
    struct cell east = cell_beside(cell, 1, 0), west = cell_beside(cell, -1, 0);
    return cell_box(&north).north >= wanted->north && cell_box(&south).south <= wanted->south &&
           cell_box(&east).east >= wanted->east && cell_box(&west).west <= wanted->west;
}

size_t geohash_cover(const struct geohash_shape *shape,
                     struct geohash_range ranges[GEOHASH_RANGES_MAX]) {
    static const struct {
        int east, north;
    } order[GEOHASH_RANGES_MAX] = {{0, 0}, {0, 1},  {0, -1}, {1, 0},  {-1, 0},
                                   {1, 1}, {-1, 1}, {1, -1}, {-1, -1}};
    double radius = shape_radius(shape);
    int steps = steps_for(radius, shape->centre.latitude);
    struct cell centre = cell_at(shape->centre, steps);
    struct box wanted = shape_box(shape);
    if (steps > 1 && !neighbours_reach(&centre, &wanted)) centre = cell_at(shape->centre, --steps);
    struct box own = cell_box(&centre);
    int shift = 2 * (STEPS_MAX - steps);
    size_t count = 0;
    for (size_t i = 0; i < GEOHASH_RANGES_MAX; i++) {
        int east = order[i].east, north = order[i].north;
        bool beyond = (north < 0 && own.south < wanted.south) ||
                      (north > 0 && own.north > wanted.north) ||
                      (east < 0 && own.west < wanted.west) || (east > 0 && own.east > wanted.east);
        if (steps >= 2 && beyond) continue;
        struct cell cell = cell_beside(&centre, east, north);
        struct geohash_range range = {cell_bits(&cell) << shift, (cell_bits(&cell) + 1) << shift};
        /* With two halvings or fewer, neighbours may wrap round to the same cell. */
        if (count && ranges[count - 1].first == range.first) continue;
        ranges[count++] = range;
    }
    return count;
}
