// Copies between arrays and memory, boxes of them in one to three dimensions, and the lives of textures and surfaces.
/* expect:
rows: 0 differ
box: 11 12 13 21 22 23
volume: 0 differ
flat: 5 6 7 8
objects: 0 0 0 0, 1 1
beyond: 1
*/
#include <cstdio>
#include <vector>

int main()
{
    const int w = 10, h = 6, d = 3;
    std::vector<int> in(w * h * d), out(w * h * d);
    for (int i = 0; i < w * h * d; i++)
        in[i] = i;
    const cudaChannelFormatDesc ints = cudaCreateChannelDesc<int>();

    cudaArray_t plane, other;
    cudaMallocArray(&plane, &ints, w, h, cudaArraySurfaceLoadStore);
    cudaMallocArray(&other, &ints, w, h);
    cudaMemcpy2DToArray(plane, 0, 0, in.data(), w * 4, w * 4, h, cudaMemcpyHostToDevice);
    cudaMemcpy2DArrayToArray(other, 0, 0, plane, 0, 0, w * 4, h);
    cudaMemcpy2DFromArray(out.data(), w * 4, other, 0, 0, w * 4, h, cudaMemcpyDeviceToHost);
    int differ = 0;
    for (int i = 0; i < w * h; i++)
        differ += out[i] != in[i];
    printf("rows: %d differ\n", differ);

    int box[6];
    cudaMemcpy2DFromArray(box, 12, plane, 4, 1, 12, 2, cudaMemcpyDeviceToHost);
    printf("box: %d %d %d %d %d %d\n", box[0], box[1], box[2], box[3], box[4], box[5]);

    cudaArray_t volume;
    cudaMalloc3DArray(&volume, &ints, make_cudaExtent(w, h, d));
    cudaMemcpy3DParms p = {};
    p.srcPtr = make_cudaPitchedPtr(in.data(), w * 4, w, h);
    p.dstArray = volume;
    p.extent = make_cudaExtent(w, h, d);
    p.kind = cudaMemcpyHostToDevice;
    cudaMemcpy3D(&p);
    int *device;
    cudaMalloc(&device, w * h * d * 4);
    cudaMemcpy3DParms q = {};
    q.srcArray = volume;
    q.dstPtr = make_cudaPitchedPtr(device, w * 4, w, h);
    q.extent = p.extent;
    q.kind = cudaMemcpyDeviceToDevice;
    cudaMemcpy3D(&q);
    cudaMemcpy(out.data(), device, w * h * d * 4, cudaMemcpyDeviceToHost);
    differ = 0;
    for (int i = 0; i < w * h * d; i++)
        differ += out[i] != in[i];
    printf("volume: %d differ\n", differ);

    cudaArray_t line;
    cudaMallocArray(&line, &ints, w);
    cudaMemcpy2DToArray(line, 0, 0, device, w * 4, w * 4, 1, cudaMemcpyDeviceToDevice);
    cudaMemcpy2DFromArray(box, 16, line, 20, 0, 16, 1, cudaMemcpyDeviceToHost);
    printf("flat: %d %d %d %d\n", box[0], box[1], box[2], box[3]);

    cudaResourceDesc of = {};
    cudaTextureDesc how = {};
    cudaTextureObject_t texture, linear;
    cudaSurfaceObject_t surface;
    of.resType = cudaResourceTypeArray;
    of.res.array.array = plane;
    const int made = cudaCreateTextureObject(&texture, &of, &how, NULL);
    const int writes = cudaCreateSurfaceObject(&surface, &of);
    of.resType = cudaResourceTypeLinear;
    of.res.linear.devPtr = device;
    of.res.linear.desc = ints;
    of.res.linear.sizeInBytes = w * 4;
    const int reads = cudaCreateTextureObject(&linear, &of, &how, NULL);
    const int refused = cudaCreateSurfaceObject(&surface, &of);
    const int ends = cudaDestroyTextureObject(texture) + cudaDestroyTextureObject(linear);
    of.res.linear.devPtr = NULL;
    printf("objects: %d %d %d %d, %d %d\n", made, writes, reads, ends, refused,
           cudaCreateTextureObject(&linear, &of, &how, NULL));
    printf("beyond: %d\n",
           cudaMemcpy2DFromArray(box, 12, plane, 32, 0, 12, 1, cudaMemcpyDeviceToHost));
    cudaFree(device);
    cudaFreeArray(plane);
    cudaFreeArray(other);
    cudaFreeArray(volume);
    cudaFreeArray(line);
}
