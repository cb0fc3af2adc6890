/* MPSMatrixDescriptor, MPSMatrix and MPSMatrixMultiplication of Metal Performance Shaders. The rules are those of Apple's
 * documentation and of the comments in MPSMatrixTypes.h: strides of rows are multiples of the element, those of matrices are
 * multiples of a row and hold a whole matrix, and the buffer holds all of it. The products are plain loops with f32 sums. */
#define _GNU_SOURCE
#include "sim.h"

#include <string.h>
#include <time.h>

enum { FLOAT16 = 0x10000010, FLOAT32 = 0x10000020 };

static size_t size_of(uint32_t type) { return type == FLOAT16 ? 2 : 4; }

/* ---- elements ---- */

static float half_value(uint16_t h)
{
    const uint32_t sign = (uint32_t)(h & 0x8000) << 16, exponent = h >> 10 & 31, fraction = h & 1023;
    uint32_t bits = sign | (exponent + 112) << 23 | fraction << 13;
    float x;
    if (exponent == 31)
        bits = sign | 0x7f800000 | fraction << 13;
    if (exponent == 0) {
        x = (float)fraction / 16777216.0f;
        return sign ? -x : x;
    }
    memcpy(&x, &bits, sizeof x);
    return x;
}

/* Rounds to the nearest, ties to even. */
static uint16_t half_of(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    const uint16_t sign = (uint16_t)(bits >> 16 & 0x8000);
    const uint32_t size = bits & 0x7fffffff;
    if (size >= 0x7f800000)
        return (uint16_t)(sign | 0x7c00 | (size > 0x7f800000 ? 0x200 : 0));
    if (size >= 0x477ff000)
        return (uint16_t)(sign | 0x7c00);
    if (size < 0x38800000) { /* subnormal: in units of 2^-24, which f32 adds to 0.5 with the right rounding */
        float whole, magnitude;
        memcpy(&magnitude, &size, sizeof magnitude);
        whole = magnitude + 0.5f;
        memcpy(&bits, &whole, sizeof bits);
        return (uint16_t)(sign | (bits - 0x3f000000));
    }
    const uint32_t odd = size >> 13 & 1;
    return (uint16_t)(sign | ((size - 0x38000000 + 0xfff + odd) >> 13));
}

static float element(const sim_matrix *m, const char *data, uint64_t matrix, uint64_t row, uint64_t column)
{
    const char *at = data + m->offset + matrix * m->matrix_bytes + row * m->row_bytes + column * size_of(m->type);
    uint16_t h;
    float x;
    if (m->type == FLOAT16) {
        memcpy(&h, at, sizeof h);
        return half_value(h);
    }
    memcpy(&x, at, sizeof x);
    return x;
}

void sim_product_run(const sim_product *p, const char *left, const char *right, char *result)
{
    const int64_t wait_ms = sim_setting(SIM_PRODUCT_MS);
    nanosleep(&(struct timespec){wait_ms / 1000, wait_ms % 1000 * 1000000}, NULL);
    const sim_matrix *a = &p->matrix[0], *b = &p->matrix[1], *c = &p->matrix[2];
    for (uint64_t z = 0; z < c->matrices; z++)
        for (uint64_t i = 0; i < p->rows; i++)
            for (uint64_t j = 0; j < p->columns; j++) {
                float sum = 0;
                for (uint64_t k = 0; k < p->inner; k++)
                    sum = __builtin_fmaf(element(a, left, z, p->transposed[0] ? k : i, p->transposed[0] ? i : k),
                                         element(b, right, z, p->transposed[1] ? j : k, p->transposed[1] ? k : j), sum);
                char *at = result + c->offset + z * c->matrix_bytes + i * c->row_bytes + j * size_of(c->type);
                const uint16_t h = half_of(sum);
                memcpy(at, c->type == FLOAT16 ? (const void *)&h : &sum, size_of(c->type));
            }
}

/* ---- MPSMatrixDescriptor ---- */

typedef struct descriptor {
    sim_object head;
    sim_matrix shape;
} descriptor;

typedef struct matrix {
    sim_object head;
    sim_matrix shape;
    sim_buffer *buffer;
} matrix;

typedef struct product {
    sim_object head;
    id device;
    sim_product what;
} product;

static sim_class descriptor_class;

static id descriptor_with(id c, SEL s, uint64_t rows, uint64_t columns, uint64_t matrices, uint64_t row_bytes,
                          uint64_t matrix_bytes, uint32_t type)
{
    (void)c;
    REQUIRE(type == FLOAT16 || type == FLOAT32, "%s: data type %x is neither float16 nor float32", s, type);
    REQUIRE(rows && columns && matrices, "%s: a size is 0", s);
    REQUIRE(row_bytes % size_of(type) == 0 && row_bytes >= columns * size_of(type),
            "%s: rowBytes %llu are not a multiple of the element that holds %llu columns", s,
            (unsigned long long)row_bytes, (unsigned long long)columns);
    REQUIRE(matrix_bytes % row_bytes == 0 && matrix_bytes >= rows * row_bytes,
            "%s: matrixBytes %llu are not a multiple of rowBytes that holds %llu rows", s,
            (unsigned long long)matrix_bytes, (unsigned long long)rows);
    descriptor *d = (descriptor *)sim_new(&descriptor_class);
    d->shape = (sim_matrix){.rows = rows,
                            .columns = columns,
                            .matrices = matrices,
                            .row_bytes = row_bytes,
                            .matrix_bytes = matrix_bytes,
                            .type = type};
    return sim_autorelease(&d->head);
}
static sim_method descriptor_statics[] = {
    METHOD("matrixDescriptorWithRows:columns:matrices:rowBytes:matrixBytes:dataType:", descriptor_with, AS_NIL),
    METHODS_END};
static sim_class descriptor_class = {
    .name = "MPSMatrixDescriptor", .bytes = sizeof(descriptor), .statics = descriptor_statics};

/* ---- MPSMatrix ---- */

static void matrix_destroy(id o)
{
    if (((matrix *)o)->buffer)
        sim_release(&((matrix *)o)->buffer->head);
}

static id matrix_init(id o, SEL s, id buffer, uint64_t offset, id given)
{
    matrix *m = (matrix *)o;
    sim_buffer *b = sim_as(buffer, &sim_buffer_class, s);
    const descriptor *d = sim_as(given, &descriptor_class, s);
    const sim_matrix *t = &d->shape;
    const uint64_t bytes =
        (t->matrices - 1) * t->matrix_bytes + (t->rows - 1) * t->row_bytes + t->columns * size_of(t->type);
    REQUIRE(offset % size_of(t->type) == 0, "%s: offset %llu is not a multiple of the element", s,
            (unsigned long long)offset);
    REQUIRE(offset <= b->bytes && bytes <= b->bytes - offset, "%s: %llu bytes at %llu of a buffer of %zu", s,
            (unsigned long long)bytes, (unsigned long long)offset, b->bytes);
    m->buffer = (sim_buffer *)sim_retain(buffer);
    m->shape = *t;
    m->shape.offset = offset;
    return o;
}
static sim_method matrix_methods[] = {METHOD("initWithBuffer:offset:descriptor:", matrix_init, AS_NO_INIT), METHODS_END};
static sim_class matrix_class = {
    .name = "MPSMatrix", .bytes = sizeof(matrix), .destroy = matrix_destroy, .methods = matrix_methods};

/* ---- MPSMatrixMultiplication ---- */

static void product_destroy(id o) { sim_release(((product *)o)->device); }

static id product_init(id o, SEL s, id device, bool left, bool right, uint64_t rows, uint64_t columns, uint64_t inner,
                       double alpha, double beta)
{
    product *p = (product *)o;
    sim_as(device, &sim_device_class, s);
    REQUIRE(rows && columns && inner, "%s: a size is 0", s);
    REQUIRE(alpha == 1 && beta == 0, "%s: alpha %g and beta %g; only 1 and 0 are simulated", s, alpha, beta);
    p->device = sim_retain(device);
    p->what = (sim_product){.transposed = {left, right}, .rows = rows, .columns = columns, .inner = inner};
    return o;
}

/* The operand has at least the rows and columns that the product needs. */
static void check_size(const sim_matrix *m, uint64_t rows, uint64_t columns, bool transposed, const char *which, SEL s)
{
    const uint64_t r = transposed ? columns : rows, c = transposed ? rows : columns;
    REQUIRE(m->rows >= r && m->columns >= c, "%s: the %s matrix is %llu x %llu; the product needs %llu x %llu", s, which,
            (unsigned long long)m->rows, (unsigned long long)m->columns, (unsigned long long)r, (unsigned long long)c);
}

static void product_encode(id o, SEL s, id commands, id left, id right, id result)
{
    static const char *const names[3] = {"left", "right", "result"};
    const id given[3] = {left, right, result};
    sim_product p = ((product *)o)->what;
    sim_buffer *buffers[3];
    for (int i = 0; i < 3; i++) {
        const matrix *m = sim_as(given[i], &matrix_class, s);
        p.matrix[i] = m->shape;
        buffers[i] = m->buffer;
    }
    check_size(&p.matrix[0], p.rows, p.inner, p.transposed[0], names[0], s);
    check_size(&p.matrix[1], p.inner, p.columns, p.transposed[1], names[1], s);
    check_size(&p.matrix[2], p.rows, p.columns, false, names[2], s);
    for (int i = 0; i < 2; i++) {
        REQUIRE(p.matrix[i].type == p.matrix[2].type, "%s: the matrices have different types", s);
        REQUIRE(p.matrix[i].matrices == p.matrix[2].matrices, "%s: the %s operand has %llu matrices, the result %llu", s,
                names[i], (unsigned long long)p.matrix[i].matrices, (unsigned long long)p.matrix[2].matrices);
        REQUIRE(buffers[i] != buffers[2] || p.matrix[i].offset != p.matrix[2].offset,
                "%s: the result is one of the operands", s);
    }
    sim_product_encode(commands, s, &p, buffers);
}
static sim_method product_methods[] = {
    METHOD("initWithDevice:transposeLeft:transposeRight:resultRows:resultColumns:interiorColumns:alpha:beta:",
           product_init, AS_NO_INIT),
    METHOD("encodeToCommandBuffer:leftMatrix:rightMatrix:resultMatrix:", product_encode, NEVER), METHODS_END};
static sim_class product_class = {.name = "MPSMatrixMultiplication",
                                  .bytes = sizeof(product),
                                  .destroy = product_destroy,
                                  .methods = product_methods};

__attribute__((constructor(105))) static void begin(void)
{
    sim_class_add(&descriptor_class);
    sim_class_add(&matrix_class);
    sim_class_add(&product_class);
}
