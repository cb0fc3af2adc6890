// Ingot from C++: the same functions and macros. In C++ the lists of IG_SHAPE and IG_AXES live until the
// end of the expression that they are in.
#include <ingot.h>

#include <cstdio>
#include <vector>

namespace {

// A scope that ends with its block.
struct Scope {
    Scope() { ig_scope_begin(); }
    ~Scope() { ig_scope_end(); }
    Scope(const Scope &) = delete;
    Scope &operator=(const Scope &) = delete;
};

void free_vector(void *context) { delete static_cast<std::vector<float> *>(context); }

// An array over the memory of a vector, which is deleted when the array is. Ingot reads up to 64 bytes past
// the elements, so the vector is 16 floats longer.
ig_array *adopt(std::vector<float> *values, ig_ints shape)
{
    values->resize(values->size() + 16);
    return ig_from_memory(values->data(), values->size() * sizeof(float), shape, IG_F32,
                          free_vector, values);
}

} // namespace

int main()
{
    Scope scope;
    ig_array *x = adopt(new std::vector<float>{1, 2, 3, 4, 5, 6}, IG_SHAPE(2, 3));
    ig_array *y = ig_matmul(x, ig_matrix_transpose(x));
    ig_print(y);
    ig_print(ig_sum(ig_plus(ig_times(x, 2), 1), IG_AXES(-1), IG_DTYPE_NONE, false));
    std::printf("%lld elements, mean %g\n", static_cast<long long>(ig_size(x)),
                ig_item(ig_mean_all(x)));
    const char *problem = ig_error(nullptr);
    if (problem)
        std::fprintf(stderr, "%s\n", problem);
    return problem != nullptr;
}

/* Prints:
[[14. 32.]
 [32. 77.]]
[15. 33.]
6 elements, mean 3.5
*/
