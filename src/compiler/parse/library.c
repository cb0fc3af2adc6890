/* The parts of the library that are written in CUDA C and parsed when a source names one of their functions. */
#include <string.h>

#include "base/embed.h"
#include "compiler/parse/parser.h"

#define PARTS(PART) \
    PART(words, "src/compiler/library/words.cu") \
    PART(halves, "src/compiler/library/halves.cu") \
    PART(heap, "src/compiler/library/heap.cu") \
    PART(grid, "src/compiler/library/grid.cu") \
    PART(types, "src/compiler/library/types.cu") \
    PART(textures, "src/compiler/library/textures.cu") \
    PART(ptx, "src/compiler/library/ptx.cu") \
    PART(groups, "src/compiler/library/groups.cu") \
    PART(launches, "src/compiler/library/launches.cu") \
    PART(launch_copies, "src/compiler/library/launch_copies.cu") \
    PART(graphs, "src/compiler/library/graphs.cu") \
    PART(shuffles, "src/compiler/library/shuffles.cu")

#define EMBED(id, path) INCLUDE_FILE("compiler_library_" #id, path);
PARTS(EMBED)

#define DECLARE(id, path) \
    extern const char compiler_library_##id[]; \
    extern const uint64_t compiler_library_##id##_size;
PARTS(DECLARE)

enum {
#define NUMBER(id, path) PART_##id,
    PARTS(NUMBER)
};

static const struct {
    const char *text;
    const uint64_t *bytes;
} texts[] = {
#define ROW(id, path) {compiler_library_##id, &compiler_library_##id##_size},
    PARTS(ROW)};

#define HALF_TESTS(name) \
    " __h" name "u __h" name "u2 __hb" name "2 __hb" name "u2 __h" name "2_mask __h" name "u2_" \
    "mask"
#define WORD_TESTS(name) " __vcmp" name "2 __vcmp" name "4 __vset" name "2 __vset" name "4"
#define EXTREMES(kind) \
    " __vi" kind "_s32_relu __vi" kind "_s16x2_relu __vi" kind "3_s32_relu __vi" kind \
    "3_s16x2_relu" \
    " __vi" kind "3_s32 __vi" kind "3_u32 __vi" kind "3_s16x2 __vi" kind "3_u16x2 __viadd" kind \
    "_s32" \
    " __viadd" kind "_u32 __viadd" kind "_s16x2 __viadd" kind "_u16x2 __viadd" kind "_s32_relu" \
    " __viadd" kind "_s16x2_relu"

/* The names that are parsed with a part, separated by blanks. */
static const struct {
    uint8_t part;
    const char *names;
} names[] = {
    {PART_words,
     "__vabs2 __vabs4 __vabsss2 __vabsss4 __vneg2 __vneg4 __vnegss2 __vnegss4 __vadd2 __vadd4 "
     "__vaddss2 __vaddss4 __vaddus2 __vaddus4 __vsub2 __vsub4 __vsubss2 __vsubss4 __vsubus2 "
     "__vsubus4 __vabsdiffs2 __vabsdiffs4 __vabsdiffu2 __vabsdiffu4 __vavgs2 __vavgs4 __vavgu2 "
     "__vavgu4 __vhaddu2 __vhaddu4 __vmaxs2 __vmaxs4 __vmaxu2 __vmaxu4 __vmins2 __vmins4 __vminu2 "
     "__vminu4 __vsads2 __vsads4 __vsadu2 __vsadu4"},
    {PART_words,
     WORD_TESTS("eq") WORD_TESTS("ne") WORD_TESTS("ges") WORD_TESTS("geu") WORD_TESTS("gts")
         WORD_TESTS("gtu") WORD_TESTS("les") WORD_TESTS("leu") WORD_TESTS("lts") WORD_TESTS("ltu")},
    {PART_words, EXTREMES("max") EXTREMES("min")},
    {PART_halves,
     "__hadd_sat __hsub_sat __hmul_sat __hsub_rn __hadd2_sat __hsub2_sat __hmul2_sat __hsub2_rn "
     "__hfma_sat __hfma_relu __hfma2_sat __hfma2_relu __hcmadd __hisnan2 __hmax2_nan __hmin2_nan "
     "ig_atomic_pair"},
    {PART_halves, HALF_TESTS("eq") HALF_TESTS("ne") HALF_TESTS("ge") HALF_TESTS("gt")
                      HALF_TESTS("le") HALF_TESTS("lt")},
    {PART_heap, "ig_heap_get ig_heap_put"},
    {PART_grid, "ig_grid_sync"},
    {PART_shuffles,
     "ig_struct_shuffle ig_struct_shuffle_up ig_struct_shuffle_down ig_struct_shuffle_xor "
     "ig_struct_shuffle_rank"},
    {PART_launches,
     "ig_launch cudaStream_t cudaEvent_t cudaError cudaError_t cudaMemcpyKind cudaSuccess "
     "cudaErrorInvalidValue cudaErrorMemoryAllocation cudaErrorInvalidConfiguration "
     "cudaErrorLaunchMaxDepthExceeded cudaErrorLaunchPendingCountExceeded cudaMemcpyHostToHost "
     "cudaMemcpyHostToDevice cudaMemcpyDeviceToHost cudaMemcpyDeviceToDevice cudaMemcpyDefault "
     "cudaStreamDefault cudaStreamNonBlocking cudaEventDefault cudaEventDisableTiming "
     "cudaStreamTailLaunch cudaStreamFireAndForget cudaPeekAtLastError cudaGetLastError "
     "cudaGetErrorString cudaStreamCreateWithFlags cudaStreamDestroy cudaEventCreateWithFlags "
     "cudaEventRecord cudaStreamWaitEvent cudaEventDestroy cudaGetDevice cudaGetDeviceCount "
     "cudaMalloc cudaFree"},
    {PART_launch_copies, "cudaMemcpyAsync cudaMemsetAsync"},
    {PART_graphs, "cudaGraphConditionalHandle cudaGraphSetConditional"},
    {PART_textures,
     "CUtexObject CUsurfObject cudaTextureObject_t cudaSurfaceObject_t cudaSurfaceBoundaryMode "
     "cudaBoundaryModeZero "
     "cudaBoundaryModeClamp cudaBoundaryModeTrap tex1Dfetch tex1D tex2D tex3D tex1DLayered "
     "tex2DLayered texCubemap texCubemapLayered tex2Dgather tex1DLod tex2DLod tex3DLod "
     "tex1DLayeredLod tex2DLayeredLod tex1DGrad tex2DGrad tex3DGrad surf1Dread surf1Dwrite "
     "surf2Dread surf2Dwrite surf3Dread surf3Dwrite surf1DLayeredread surf1DLayeredwrite "
     "surf2DLayeredread surf2DLayeredwrite surfCubemapread surfCubemapwrite"},
    {PART_types,
     "array pair ig_member ig_member_of make_pair make_unsigned make_unsigned_t make_signed "
     "make_signed_t "
     "integral_constant "
     "bool_constant true_type false_type void_t remove_reference remove_reference_t "
     "remove_volatile "
     "remove_cv remove_cv_t remove_cvref_t decay decay_t add_pointer add_pointer_t index_sequence "
     "make_index_sequence index_sequence_for integer_sequence make_integer_sequence same_as "
     "convertible_to derived_from integral signed_integral unsigned_integral floating_point"},
    {PART_groups,
     "ig_reduce_tile ig_reduce_lanes ig_copy_group ig_plus_tile ig_plus_lanes "
     "ig_less_tile ig_less_lanes "
     "ig_greater_tile ig_greater_lanes ig_bit_and_tile ig_bit_and_lanes "
     "ig_bit_or_tile ig_bit_or_lanes "
     "ig_bit_xor_tile ig_bit_xor_lanes ig_ballot_lanes ig_match_any_lanes "
     "ig_match_all_lanes ig_shuffle_up_lanes ig_shuffle_down_lanes ig_scan_lanes ig_plus_scan "
     "ig_less_scan ig_greater_scan ig_bit_and_scan ig_bit_or_scan ig_bit_xor_scan"},
    {PART_ptx,
     "ig_add_carry ig_bfloat162 ig_bits ig_copy_async ig_dp2a_s ig_dp2a_u ig_dp4a_us "
     "ig_extract ig_find_set ig_half2 ig_high ig_insert ig_ldmatrix ig_ldmatrix_trans "
     "ig_ldmatrix_x2 ig_ldmatrix_x2_trans ig_ldmatrix_x4 ig_ldmatrix_x4_trans ig_lop3 "
     "ig_match_all ig_mma_f64 ig_mma_k16_bf16 ig_mma_k16_f16 ig_mma_k16_half "
     "ig_mma_k16_s8_s8 ig_mma_k16_s8_u8 ig_mma_k16_u8_s8 ig_mma_k16_u8_u8 ig_mma_k32_s8_s8 "
     "ig_mma_k32_s8_u8 ig_mma_k32_u8_s8 ig_mma_k32_u8_u8 ig_mma_k4_tf32 ig_mma_k8_bf16 "
     "ig_mma_k8_f16 ig_mma_k8_half ig_mma_k8_tf32 ig_mma_n8_s8_s8 ig_mma_n8_s8_u8 "
     "ig_mma_n8_u8_s8 ig_mma_n8_u8_u8 ig_movmatrix ig_permute ig_shuffle ig_shuffle_down "
     "ig_shuffle_up ig_shuffle_xor ig_stmatrix ig_stmatrix_x2 ig_stmatrix_x4 ig_sub_borrow "
     "ig_tf32"},
};

void part_names(parser *p)
{
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        for (const char *s = names[i].names + strspn(names[i].names, " "); *s;
             s += strspn(s, " ")) {
            const size_t n = strcspn(s, " ");
            kernel_name *name = kernel_name_get(p->names, s, n);
            symbol_add(p, p->root, SYMBOL_LIBRARY, name, 0)->which = names[i].part;
            s += n;
        }
}

static const char library_file[] = "<library>";

kernel_feature part_feature(const parser *p, const kernel_function *f)
{
    static const struct {
        const char *begin;
        kernel_feature feature;
    } rows[] = {{"tex", FEATURE_TEXTURE},
                {"surf", FEATURE_TEXTURE},
                {"cudaGraphSetConditional", FEATURE_CONDITION},
                {"ig_launch", FEATURE_CDP}};
    kernel_where where;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (strncmp(f->source_name, rows[i].begin, strlen(rows[i].begin)) == 0)
            return kernel_source_where(&p->tree->unit.source, f->place, &where) &&
                           strcmp(where.name, library_file) == 0
                       ? rows[i].feature
                       : FEATURE_NONE;
    return FEATURE_NONE;
}

/* Parses the part as a file of its own, outside of the function that names it. */
static void parse_part(parser *p, void *context)
{
    const int part = *(const int *)context;
    kernel_tokens tokens;
    const kernel_options plain = {.skip_unknown = true};
    kernel_file *file = kernel_source_add(&p->tree->unit.source, library_file, NULL,
                                          texts[part].text, (size_t)*texts[part].bytes, 0);
    if (!file || kernel_preprocess(&p->tree->unit, file, &plain, &tokens) != IG_OK)
        kernel_arena_fail(p->arena, "the library");
    const parser_place back = parser_enter(p, tokens.at, p->root);
    kernel_instance *const current = p->current;
    kernel_name *const declaring = p->declaring;
    const bool patterns = p->patterns, outside = p->is_outside;
    const int quiet = p->quiet;
    p->current = NULL;
    p->patterns = p->is_outside = false;
    p->quiet = 0;
    const int in_file = p->file;
    p->file = 0;
    parse_file(p);
    p->file = in_file;
    p->current = current;
    p->declaring = declaring;
    p->patterns = patterns;
    p->is_outside = outside;
    p->quiet = quiet;
    parser_leave(p, back);
}

symbol *part_load(parser *p, symbol *y)
{
    if (!y || y->kind != SYMBOL_LIBRARY)
        return y;
    kernel_name *name = y->name;
    int part = y->which;
    if (!(p->library & 1u << part)) {
        p->library |= 1u << part;
        parser_guard(p, parse_part, &part);
    }
    y = symbol_here(p->root, name);
    return y && y->kind != SYMBOL_LIBRARY ? y : NULL;
}

kernel_expr *part_call(parser *p, const char *name, kernel_place place, kernel_expr **args,
                       uint32_t n)
{
    const symbol *y = part_load(p, symbol_here(p->root, name_of(p, name)));
    if (!y)
        parser_fail(p, place, "the library has no '%s'", name);
    return call_functions(p, y->as.functions, place, NULL, 0, args, n, false);
}
