/* Transpose by two-dimensional indices: naive, and through a tile in shared memory, so that both reading
 * and writing touch neighbours. The tile's extra column keeps its banks apart.
 *
 * Run:
 *   ingot run examples/cuda/03_transpose.cu --kernel transpose_tiled --grid 2x1 --block 8x8 \
 *       --arg rows=5 --arg columns=10 --arg 'in=arange:f32[5, 10]' --arg 'out=zeros:f32[10, 5]'
 * Prints:
 *   out =
 *   [[ 0. 10. 20. 30. 40.]
 *    [ 1. 11. 21. 31. 41.]
 *    [ 2. 12. 22. 32. 42.]
 *    [ 3. 13. 23. 33. 43.]
 *    [ 4. 14. 24. 34. 44.]
 *    [ 5. 15. 25. 35. 45.]
 *    [ 6. 16. 26. 36. 46.]
 *    [ 7. 17. 27. 37. 47.]
 *    [ 8. 18. 28. 38. 48.]
 *    [ 9. 19. 29. 39. 49.]]
 */
#define TILE 8

__global__ void transpose_naive(int rows, int columns, const float *in, float *out)
{
    int x = blockIdx.x * TILE + threadIdx.x, y = blockIdx.y * TILE + threadIdx.y;
    if (x < columns && y < rows)
        out[x * rows + y] = in[y * columns + x];
}

__global__ void transpose_tiled(int rows, int columns, const float *in, float *out)
{
    __shared__ float tile[TILE][TILE + 1];
    int x = blockIdx.x * TILE + threadIdx.x, y = blockIdx.y * TILE + threadIdx.y;
    if (x < columns && y < rows)
        tile[threadIdx.y][threadIdx.x] = in[y * columns + x];
    __syncthreads();
    x = blockIdx.y * TILE + threadIdx.x;
    y = blockIdx.x * TILE + threadIdx.y;
    if (x < rows && y < columns)
        out[y * rows + x] = tile[threadIdx.x][threadIdx.y];
}
