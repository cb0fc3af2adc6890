// What cannot be freed.
/* finds: bad free: cudaFree of memory that was freed already: 40 bytes of cudaMalloc (tests/cuda/planted/bad_free.cu:11)
   finds: bad free: cudaFree of an address 4 bytes into 4 bytes of cudaMallocManaged
   finds: bad free: cudaFreeHost of 4 bytes of cudaMallocManaged
*/
#include <memory>

int main()
{
    int *x, *y;
    cudaMalloc(&x, 40);
    std::unique_ptr<int, decltype(&cudaFree)> owner(x, cudaFree);
    cudaFree(x);
    cudaMallocManaged(&y, sizeof *y);
    cudaFree(y + 1);
    cudaFreeHost(y);
    cudaFree(y);
}
