__global__ void few(float4 *x) { x[0] = make_float4(1, 2, 3); }
__global__ void member(float2 *x) { x[0].z = 1; }
__global__ void added(float4 *x) { x[0] = x[1] + x[2]; }
__global__ void scalar(float4 *x) { x[0] = 1.0f; }
