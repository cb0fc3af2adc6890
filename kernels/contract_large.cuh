/* Template: a step of a LARGE tile, as statements. The tile has few registers for loads, so it loads a quarter of the panels
 * while it uses a quarter of the points. Where fewer points are left, nothing is loaded at the same time: that would cost
 * registers, too. Past the last point the panels get zeros, which nothing reads; a condition there would let the compiler
 * delay the loads. */
    const C(LANE) *from_m = M(shared) + buffer * (C(POINTS) * M(PITCH)), *from_n = N(shared) + buffer * (C(POINTS) * N(PITCH));
    buffer = 1 - buffer;
    if (k0 + TILE_K <= stop) {
#define SIDE M
#define QUARTER 0
#include "contract_quarter.cuh"
#define SIDE M
#define QUARTER 1
#include "contract_quarter.cuh"
#define SIDE N
#define QUARTER 2
#include "contract_quarter.cuh"
#define SIDE N
#define QUARTER 3
#include "contract_quarter.cuh"
    } else {
    for (int kk = 0; k0 + kk < stop; kk++) {
#include "contract_products.cuh"
    }
    {
    M(LOAD) M(next)[M(LOADS)];
#define SIDE M
#define PANEL_LOAD
#define PANEL_K next
#include "contract_panel.cuh"
#define SIDE M
#define PANEL_STORE
#include "contract_panel.cuh"
    }
    {
    N(LOAD) N(next)[N(LOADS)];
#define SIDE N
#define PANEL_LOAD
#define PANEL_K next
#include "contract_panel.cuh"
#define SIDE N
#define PANEL_STORE
#include "contract_panel.cuh"
    }
    }
