/* Template: statements of contract_attend.cu: the products of point, or key, kk of a step are added to PRODUCT_SUMS[4][8].
 * PRODUCT_X: where the thread's four rows lie; PRODUCT_Y: its columns j to j + 3. */
        const float4 q = *(const float4 *)PRODUCT_X;
        const float x[4] = {q.x, q.y, q.z, q.w};
        float y[8];
#pragma unroll
        for (int j = 0; j < 8; j += 4) {
            const float4 q = *(const float4 *)PRODUCT_Y;
            y[j] = q.x;
            y[j + 1] = q.y;
            y[j + 2] = q.z;
            y[j + 3] = q.w;
        }
#pragma unroll
        for (int i = 0; i < 4; i++)
#pragma unroll
            for (int j = 0; j < 8; j++)
                PRODUCT_SUMS[i][j] = fmaf(x[i], y[j], PRODUCT_SUMS[i][j]);
