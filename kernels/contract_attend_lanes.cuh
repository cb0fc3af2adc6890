/* Template: statements of contract_attend.cu: joins the lanes of the thread's i-th row by halving, first across threads: x, of the
 * first of its threads. */
                const int at = ti + i;
#pragma unroll
                for (int j = 0; j < 4; j++)
                    for (int half = 8; half > 1; half /= 2)
                        lanes[i][j] = join2(lanes[i][j], __shfl_down_sync(0xffffffffu, lanes[i][j], half));
                float x = join2(join2(lanes[i][0], lanes[i][2]), join2(lanes[i][1], lanes[i][3]));
