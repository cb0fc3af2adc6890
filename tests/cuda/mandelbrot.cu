// The Mandelbrot set in letters: 2-D blocks that do not divide the picture, divergent loops, a template of the type.
/* expect:
                       .....................                      |
             ..........................:=-::..........            |
        ............................::=+@@@++:.............       |
     ........................::+%=-+@%@@@@@@#@=@-::-+:........    |
  ..............::::...::::::@@@@@@@@@@@@@@@@@@@@@@@-::.......... |
 .............:::-@@%@@@@@-=@@@@@@@@@@@@@@@@@@@@@@@@@=:...........|
 ..::-::::::-=%@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@-::...........|
float and double differ in few places: yes
as on the host: yes
*/
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>

template <typename T> __host__ __device__ int escape(T cr, T ci, int most)
{
    T zr = 0, zi = 0;
    int n = 0;
    while (n < most && zr * zr + zi * zi <= T(4)) {
        const T t = zr * zr - zi * zi + cr;
        zi = 2 * zr * zi + ci;
        zr = t;
        n++;
    }
    return n;
}

template <typename T> __global__ void mandelbrot(int *out, int width, int height, int most)
{
    const int x = blockIdx.x * blockDim.x + threadIdx.x;
    const int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < width && y < height)
        out[y * width + x] = escape<T>(T(-2) + T(3) * x / width, T(-1.25) + T(2.5) * y / height, most);
}

int main()
{
    constexpr int width = 66, height = 25, most = 64;
    int *counts[2];
    const dim3 block(16, 8), grid((width + block.x - 1) / block.x, (height + block.y - 1) / block.y);
    for (auto &c : counts)
        cudaMallocManaged(&c, width * height * sizeof(int));
    mandelbrot<float><<<grid, block>>>(counts[0], width, height, most);
    mandelbrot<double><<<grid, block>>>(counts[1], width, height, most);
    if (cudaDeviceSynchronize() != cudaSuccess)
        return EXIT_FAILURE;
    int differ = 0, wrong = 0;
    for (int i = 0; i < width * height; i++) {
        const int x = i % width, y = i / width;
        differ += counts[0][i] != counts[1][i];
        wrong += counts[1][i] != escape<double>(-2.0 + 3.0 * x / width, -1.25 + 2.5 * y / height, most);
    }
    const std::string letters = " .:-=+*#%@";
    for (int y = 0; y <= height / 2; y += 2) {
        for (int x = 0; x < width; x++)
            putchar(letters[std::min(9, counts[1][y * width + x] / 3)]);
        putchar('|');
        putchar('\n');
    }
    printf("float and double differ in few places: %s\n", differ < 40 ? "yes" : "no");
    printf("as on the host: %s\n", wrong < 4 ? "yes" : "no");
}
