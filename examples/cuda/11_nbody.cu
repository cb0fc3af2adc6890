/* N-body: the force of all bodies on each, position and mass in a float4, read tile by tile.
 *
 * Run:
 *   ingot run examples/cuda/11_nbody.cu --grid 1 --block 4 --arg n=4 \
 *       --arg 'bodies=[[1, 0, 0, 1], [-1, 0, 0, 1], [0, 1, 0, 1], [0, -1, 0, 1]]' \
 *       --arg 'force=zeros:[4, 4]'
 * Prints:
 *   force =
 *   [[-0.96  0.    0.    0.  ]
 *    [ 0.96  0.    0.    0.  ]
 *    [ 0.   -0.96  0.    0.  ]
 *    [ 0.    0.96  0.    0.  ]]
 */
__device__ float3 pull(float3 sum, float4 me, float4 other)
{
    float3 d = make_float3(other.x - me.x, other.y - me.y, other.z - me.z);
    float square = d.x * d.x + d.y * d.y + d.z * d.z + 1e-9f, inverse = 1 / sqrtf(square);
    float s = other.w * inverse * inverse * inverse;
    return make_float3(sum.x + s * d.x, sum.y + s * d.y, sum.z + s * d.z);
}

__global__ void nbody(int n, const float4 *bodies, float4 *force)
{
    __shared__ float4 tile[64];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float4 me = bodies[i];
    float3 sum = {0, 0, 0};
    for (int t = 0; t < n; t += blockDim.x) {
        tile[threadIdx.x] = bodies[t + threadIdx.x];
        __syncthreads();
        for (int j = 0; j < blockDim.x; j++)
            sum = pull(sum, me, tile[j]);
        __syncthreads();
    }
    force[i] = make_float4(roundf(sum.x * 100) / 100, roundf(sum.y * 100) / 100, sum.z, 0);
}
