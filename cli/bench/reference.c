/* Reference layers in double, written plainly. The answers of networks are checked against them. */
#include "bench/works.h"

#include <math.h>
#include <stdlib.h>

void reference_attention(const double *q, const double *k, const double *v, int64_t tokens,
                         int64_t width, int64_t stride, double *out)
{
    double *weight = heap_get(sizeof *weight * (size_t)tokens), most = -INFINITY, all = 0;
    for (int64_t s = 0; s < tokens; s++) {
        double dot = 0;
        for (int64_t i = 0; i < width; i++)
            dot += q[i] * k[s * stride + i];
        weight[s] = dot / sqrt((double)width);
        most = fmax(most, weight[s]);
    }
    for (int64_t s = 0; s < tokens; s++)
        all += weight[s] = exp(weight[s] - most);
    for (int64_t i = 0; i < width; i++) {
        out[i] = 0;
        for (int64_t s = 0; s < tokens; s++)
            out[i] += weight[s] / all * v[s * stride + i];
    }
    free(weight);
}

double reference_conv(const double *x, const double *w, int64_t channels, int64_t side, int64_t row,
                      int64_t column)
{
    double sum = 0;
    for (int64_t c = 0; c < channels; c++)
        for (int64_t k = 0; k < 9; k++) {
            int64_t r = row + k / 3 - 1, s = column + k % 3 - 1;
            if (r >= 0 && r < side && s >= 0 && s < side)
                sum += x[(c * side + r) * side + s] * w[c * 9 + k];
        }
    return sum;
}

double *reference_linear(const ig_model *m, const char *name, const double *x, int64_t rows,
                         int64_t in, int64_t out)
{
    char part[64];
    snprintf(part, sizeof part, "%s.weight", name);
    double *w = elements(ig_model_get(m, part));
    snprintf(part, sizeof part, "%s.bias", name);
    double *b = elements(ig_model_get(m, part)), *y = NULL;
    if (w && b) {
        y = heap_get(sizeof *y * (size_t)(rows * out));
        for (int64_t r = 0; r < rows; r++)
            for (int64_t o = 0; o < out; o++) {
                double sum = b[o];
                for (int64_t i = 0; i < in; i++)
                    sum += x[r * in + i] * w[o * in + i];
                y[r * out + o] = sum;
            }
    }
    free(w);
    free(b);
    return y;
}
