// Copies and fills that leave their memory.
/* finds: copy.cu:13: error: copy out of range: the copy reads 80 bytes from byte 20 on, of 40 bytes of cudaMalloc (tests/cuda/planted/copy.cu:11)
   finds: copy.cu:14: error: copy out of range: cudaMemset writes 400 bytes from byte 0 on
   finds: copy.cu:15: error: copy out of range: the copy takes 80 bytes from byte 0 on, of a variable of 40 bytes
*/
__device__ int table[10];

int main()
{
    int *x, h[20];
    cudaMalloc(&x, 10 * sizeof *x);
    cudaMemset(x, 0, 10 * sizeof *x);
    cudaMemcpy(h, x + 5, sizeof h, cudaMemcpyDeviceToHost);
    cudaMemset(x, 0, 100 * sizeof *x);
    cudaMemcpyToSymbol(table, h, sizeof h);
    cudaFree(x);
}
