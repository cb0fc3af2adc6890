/* Template: statements of contract_attend.cu: a[][] becomes the products of the queries with the keys at from_keys. During each step
 * a panel of contraction NUMBER is loaded, from N(first) on: of the tile's values, or of the keys of the tile before. */
#pragma unroll
            for (int i = 0; i < 4; i++)
#pragma unroll
                for (int j = 0; j < 8; j++)
                    a[i][j] = 0;
#define SIDE N
#define PANEL_OFFSETS
#include "contract_panel.cuh"
            for (int buffer = 0; buffer < STEPS; buffer++) {
                const int k0 = buffer * 16;
                N(LOAD) N(next)[N(LOADS)];
#define SIDE N
#define PANEL_LOAD
#if NUMBER
#define PANEL_K first + k0
#else
#define PANEL_K k0
#endif
#include "contract_panel.cuh"
#define PRODUCT_SUMS a
#define PRODUCT_X (m0_shared + (k0 + kk) * (QUERIES + 4) + ti)
#define PRODUCT_Y (from_keys + (k0 + kk) * (KEYS + 4) + tj + j * 8)
                if (k0 + 16 <= points) {
#pragma unroll
                    for (int kk = 0; kk < 16; kk++) {
#include "contract_attend_product.cuh"
                    }
                } else {
                    for (int kk = 0; k0 + kk < points; kk++) {
#include "contract_attend_product.cuh"
                    }
                }
#undef PRODUCT_SUMS
#undef PRODUCT_X
#undef PRODUCT_Y
#define SIDE N
#define PANEL_STORE
#include "contract_panel.cuh"
            }
