/* Template: statements of contract_attend.cu: most[], the largest score of each of the thread's rows so far. */
#pragma unroll
        for (int i = 0; i < 4; i++) {
            const int at = ti + i, local_row = at < rows_here ? at : rows_here - 1;
            const idx row = batch * rows_end + m0_first + local_row;
#pragma unroll
            for (int j = 0; j < 8; j++) {
                const idx place = first + column(tj, j), col = place < keys ? place : keys - 1;
                if (place < keys)
                    most[i] = join1(most[i], value1(ARGS, local, local_row, row, col, a[i][j], rest));
            }
        }
