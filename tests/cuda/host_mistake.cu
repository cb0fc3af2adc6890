// A mistake of the host's side is told by the compiler, at the user's line.
/* nvcc: rejects it
stderr: tests/cuda/host_mistake.cu:15:
   exit: 5
   expect:
*/
__global__ void k(int *x)
{
    int i = threadIdx.x;
    x[i] = i;
}
int main()
{
    k<<<1, 2>>>(0);
    return not_there;
}
