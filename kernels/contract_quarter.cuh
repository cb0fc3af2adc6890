/* Template: a quarter of a step of a LARGE tile, as statements: half of the panel of SIDE is loaded, the points of quarter QUARTER
 * are used, and the half is stored. */
    {
    S(LOAD) S(next)[S(LOADS) / 2];
#define PANEL_LOAD
#define PANEL_K next
#define PANEL_FIRST (QUARTER % 2 * (S(LOADS) / 2))
#define PANEL_COUNT (S(LOADS) / 2)
#define PANEL_KEEPS_SIDE
#include "contract_panel.cuh"
#if C(FLOATS)
#pragma unroll
#else
#pragma unroll 4
#endif
    for (int kk = QUARTER * (TILE_K / 4); kk < (QUARTER + 1) * (TILE_K / 4); kk++) {
#include "contract_products.cuh"
    }
#define PANEL_STORE
#define PANEL_FIRST (QUARTER % 2 * (S(LOADS) / 2))
#define PANEL_COUNT (S(LOADS) / 2)
#include "contract_panel.cuh"
    }
#undef QUARTER
