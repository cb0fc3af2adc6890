// Linked structures in managed memory: a list, a binary tree, rows of an array of pointers, changed by kernels.
/* opencl: IG-PTRMEM
expect:
sum 385, doubled 770, first 200
0:no 10:yes 20:yes 35:no 40:yes 50:yes 60:yes 70:yes 
row 1: 1 11 21 31
*/
#include <cstdio>
#include <new>

struct Managed {
    void *operator new(size_t bytes)
    {
        void *p;
        cudaMallocManaged(&p, bytes);
        cudaDeviceSynchronize();
        return p;
    }
    void operator delete(void *p)
    {
        cudaDeviceSynchronize();
        cudaFree(p);
    }
};

struct Node : public Managed {
    int value;
    Node *next;
};

struct Tree {
    int key;
    Tree *left, *right;
};

__global__ void sum_list(const Node *head, int *sum)
{
    int s = 0;
    for (const Node *n = head; n != nullptr; n = n->next)
        s += n->value;
    *sum = s;
}

__global__ void double_all(Node *head)
{
    for (Node *n = head; n; n = n->next)
        if (threadIdx.x == 0)
            n->value *= 2;
}

__device__ const Tree *find(const Tree *t, int key)
{
    while (t && t->key != key)
        t = key < t->key ? t->left : t->right;
    return t;
}

__global__ void look_up(const Tree *root, const int *keys, bool *found)
{
    const Tree *t = find(root, keys[threadIdx.x]);
    found[threadIdx.x] = t != NULL && t->key == keys[threadIdx.x];
}

__global__ void transpose_rows(float **rows, int n)
{
    int i = threadIdx.y, j = threadIdx.x;
    float a = rows[i][j], b = rows[j][i];
    __syncthreads();
    if (i < j) {
        rows[i][j] = b;
        rows[j][i] = a;
    }
}

int main()
{
    Node *head = nullptr;
    for (int i = 1; i <= 10; i++) {
        Node *n = new Node;
        n->value = i * i;
        n->next = head;
        head = n;
    }
    int *sum;
    cudaMallocManaged(&sum, sizeof *sum);
    sum_list<<<1, 1>>>(head, sum);
    cudaDeviceSynchronize();
    printf("sum %d", *sum);
    double_all<<<1, 32>>>(head);
    sum_list<<<1, 1>>>(head, sum);
    cudaDeviceSynchronize();
    printf(", doubled %d, first %d\n", *sum, head->value);
    while (head) {
        Node *next = head->next;
        delete head;
        head = next;
    }
    Tree *t;
    cudaMallocManaged(&t, 7 * sizeof *t);
    const int order[7] = {40, 20, 60, 10, 30, 50, 70};
    for (int i = 0; i < 7; i++)
        t[i] = Tree{order[i], 2 * i + 1 < 7 ? &t[2 * i + 1] : nullptr, 2 * i + 2 < 7 ? &t[2 * i + 2] : nullptr};
    int *keys;
    bool *found;
    cudaMallocManaged(&keys, 8 * sizeof(int));
    cudaMallocManaged(&found, 8);
    for (int i = 0; i < 8; i++)
        keys[i] = i * 10;
    keys[3] = 35;
    look_up<<<1, 8>>>(t, keys, found);
    cudaDeviceSynchronize();
    for (int i = 0; i < 8; i++)
        printf("%d:%s ", keys[i], found[i] ? "yes" : "no");
    float **rows;
    cudaMallocManaged(&rows, 4 * sizeof *rows);
    for (int i = 0; i < 4; i++) {
        cudaMallocManaged(&rows[i], 4 * sizeof(float));
        for (int j = 0; j < 4; j++)
            rows[i][j] = i * 10 + j;
    }
    transpose_rows<<<1, dim3(4, 4)>>>(rows, 4);
    cudaDeviceSynchronize();
    printf("\nrow 1: %g %g %g %g\n", rows[1][0], rows[1][1], rows[1][2], rows[1][3]);
}
