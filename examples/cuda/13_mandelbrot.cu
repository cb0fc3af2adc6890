/* Mandelbrot set: how long z = z * z + c stays small. Threads of a warp leave the loop at different times.
 *
 * Run:
 *   ingot run examples/cuda/13_mandelbrot.cu --grid 3x2 --block 8x8 --arg width=24 --arg height=12 \
 *       --arg 'steps=zeros:u8[12, 24]'
 * Prints:
 *   steps =
 *   [[ 1  1  1  2  2  3  3  3  3  3  3  4  4  5  6 13 99  4  4  3  2  2  2  2]
 *    [ 1  1  2  3  3  3  3  3  3  4  4  4  5  6 16 99 34  5  5  4  3  3  2  2]
 *    [ 1  2  3  3  3  3  3  3  4  4  5 13 11 57 16 99 15 16  7 18  4  3  3  2]
 *    [ 1  3  3  3  3  3  4  5  5  5  6 12 99 99 99 99 99 99 99  9  5  3  3  3]
 *    [ 1  3  4  4  4  5 18  9 11  8 10 99 99 99 99 99 99 99 99 99  6  4  3  3]
 *    [ 1  4  4  5  5  8 34 99 99 99 20 99 99 99 99 99 99 99 99 99  5  4  3  3]
 *    [ 1 99 99 99 99 99 99 99 99 99 99 99 99 99 99 99 99 99 99  7  5  4  3  3]
 *    [ 1  4  4  5  5  8 34 99 99 99 20 99 99 99 99 99 99 99 99 99  5  4  3  3]
 *    [ 1  3  4  4  4  5 18  9 11  8 10 99 99 99 99 99 99 99 99 99  6  4  3  3]
 *    [ 1  3  3  3  3  3  4  5  5  5  6 12 99 99 99 99 99 99 99  9  5  3  3  3]
 *    [ 1  2  3  3  3  3  3  3  4  4  5 13 11 57 16 99 15 16  7 18  4  3  3  2]
 *    [ 1  1  2  3  3  3  3  3  3  4  4  4  5  6 16 99 34  5  5  4  3  3  2  2]]
 */
__global__ void mandelbrot(int width, int height, unsigned char *steps)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height)
        return;
    float a = -2 + 3.0f * x / width, b = -1 + 2.0f * y / height, re = 0, im = 0;
    int n = 0;
    while (n < 99 && re * re + im * im < 4) {
        float next = re * re - im * im + a;
        im = 2 * re * im + b;
        re = next;
        n++;
    }
    steps[y * width + x] = n;
}
