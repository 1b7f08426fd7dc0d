/* SPDX-License-Identifier: BSD-3-Clause
 * Positions in sorted sets: GEOADD, GEOSEARCH, GEORADIUS ...
 */
#ifndef EVENKEEL_COMMANDS_GEO_H
#define EVENKEEL_COMMANDS_GEO_H

void commands_geo_register(void);
#endif
