/* SPDX-License-Identifier: BSD-3-Clause
 * Positions on the earth as 52-bit cells, whose order keeps neighbours mostly together.
 *
 * Longitude and latitude are halved 26 times each and their bits interleaved, a longitude's before
 * a latitude's (Morton 1966; geohash.org by Niemeyer 2008). Latitudes end at 85.05112878 degrees,
 * as in the Web Mercator projection, so that cells are square on its map. A cell fits a double
 * exactly, so positions are kept as scores of a sorted set, and the positions within a cell of any
 * size are one range of scores.
 */
#ifndef EVENKEEL_DS_GEOHASH_H
#define EVENKEEL_DS_GEOHASH_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define GEOHASH_LONGITUDE_MAX 180.0
#define GEOHASH_LATITUDE_MAX 85.05112878
#define GEOHASH_TEXT_CHARS 11
/* A search reads the cell of its centre and the eight cells around it. */
#define GEOHASH_RANGES_MAX 9

struct geohash_position {
    double longitude, latitude; /* degrees */
};

/* Returns true if the position is within the limits above. */
bool geohash_position_is_valid(struct geohash_position p);
/* The position must be valid. */
uint64_t geohash_encode(struct geohash_position p);
/* The middle of the cell. */
struct geohash_position geohash_decode(uint64_t cell);
/* The cell as geohash.org writes it, NUL-terminated; the last character is always 0, since its
 * bits go beyond 52. */
void geohash_text(uint64_t cell, char text[GEOHASH_TEXT_CHARS + 1]);
/* Metres along the great circle (haversine formula, on a sphere of 6,372,797.560856 m). */
double geohash_distance(struct geohash_position a, struct geohash_position b);

/* A circle, or an upright box, around a centre. */
struct geohash_shape {
    struct geohash_position centre;
    bool is_box;
    double radius;        /* metres, of a circle */
    double width, height; /* metres, of a box */
};
/* Returns true if `p` lies in the shape; `distance` is its distance from the centre, in metres. */
bool geohash_contains(const struct geohash_shape *shape, struct geohash_position p,
                      double *distance);

struct geohash_range {
    uint64_t first, end; /* cells first <= cell < end */
};
/* Ranges that together cover the shape, in the order in which 6.2 searches them; returns how
 * many. */
size_t geohash_cover(const struct geohash_shape *shape,
                     struct geohash_range ranges[GEOHASH_RANGES_MAX]);
#endif
