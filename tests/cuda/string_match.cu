// Patterns in a text: constant memory for the pattern, a ballot to count, arguments of the command line.
/* opencl: IG-WARP
args: needle needles
expect:
'needle': 19 times, first at 22, right
'needles': 8 times, first at 38, right
HAY HAY HAY HAY HAY A NE
*/
#include <cstdio>
#include <cstring>
#include <string>

#define MAX_PATTERN 64
__constant__ char pattern[MAX_PATTERN];
__constant__ int pattern_length;

__device__ bool matches(const char *text)
{
    for (int i = 0; i < pattern_length; i++)
        if (text[i] != pattern[i])
            return false;
    return true;
}

__global__ void search(const char *text, int n, int *count, int *first)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    const bool hit = i + pattern_length <= n && matches(text + i);
    const unsigned mask = __ballot_sync(~0u, hit);
    if (threadIdx.x % warpSize == 0 && mask != 0) {
        atomicAdd(count, __popc(mask));
        atomicMin(first, i + __ffs(mask) - 1);
    }
}

__global__ void upper(char *text, int n)
{
    for (char *c = text + threadIdx.x; c < text + n; c += blockDim.x)
        if (*c >= 'a' && *c <= 'z')
            *c += 'A' - 'a';
}

int main(int argc, char **argv)
{
    std::string text;
    for (int i = 0; i < 400; i++)
        text += i % 37 == 5 ? "a needle " : i % 53 == 7 ? "some needles, " : "hay ";
    char *d;
    int *result, host[2];
    cudaMalloc(&d, text.size() + 1);
    cudaMalloc(&result, sizeof host);
    cudaMemcpy(d, text.c_str(), text.size() + 1, cudaMemcpyHostToDevice);
    for (int a = 1; a < argc; a++) {
        const int length = (int)strlen(argv[a]);
        if (length > MAX_PATTERN) {
            fprintf(stderr, "'%s' is too long\n", argv[a]);
            return 2;
        }
        int start[2] = {0, (int)text.size()}, want = 0;
        cudaMemcpyToSymbol(pattern, argv[a], length);
        cudaMemcpyToSymbol(pattern_length, &length, sizeof length);
        cudaMemcpy(result, start, sizeof start, cudaMemcpyHostToDevice);
        search<<<((int)text.size() + 255) / 256, 256>>>(d, (int)text.size(), result, result + 1);
        cudaMemcpy(host, result, sizeof host, cudaMemcpyDeviceToHost);
        for (size_t at = text.find(argv[a]); at != std::string::npos; at = text.find(argv[a], at + 1))
            want++;
        printf("'%s': %d times, first at %d, %s\n", argv[a], host[0], host[1],
               host[0] == want && (size_t)host[1] == text.find(argv[a]) ? "right" : "WRONG");
    }
    upper<<<1, 64>>>(d, (int)text.size());
    cudaMemcpy(&text[0], d, text.size(), cudaMemcpyDeviceToHost);
    printf("%.24s\n", text.c_str());
}
