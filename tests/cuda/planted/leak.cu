// Memory that is never freed is told, and is no failure; what a global object frees is freed.
/* notes: tests/cuda/planted/leak.cu:18: warning: leak: 12 bytes of cudaMalloc were never freed, in 3 pieces
   exit: 4
   never: leak.cu:11
*/
struct owner {
    int *x;
    void take()
    {
        cudaMalloc(&x, 100);
    }
    ~owner() { cudaFree(x); }
} all;

int *lose()
{
    int *x;
    return cudaMalloc(&x, sizeof *x), x;
}

int main()
{
    all.take();
    for (int i = 0; i < 3; i++)
        lose();
    return 4;
}
