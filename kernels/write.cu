/* Template: writes updates at computed places of an output.
 *
 * updates[LINES][LENGTH]: a line is a run of updates that share an index, so its elements never meet. spot[LINES] is where each
 * line begins in the output. With PARTS, the kernel leaves out lines whose spot is not in [PART_FIRST, PART_FIRST + PART_LEN),
 * and OUT and CLAIM begin there.
 *
 * The last update of a place wins; claim[] has a word for each element of the output:
 *   WRITE_CLEAR   claim[spot] = 0 for all spots
 *   WRITE_CLAIM   claim[spot] = the greatest line of the spot, counted from 1
 *   WRITE_PUT     the lines that own their spots are written
 *
 * Updates are added in order:
 *   WRITE_KEYS    key[line] = spot, order[line] = line: what is then sorted by key
 *   WRITE_SUMS    each run of equal keys is added up, one after another
 *
 * Functions before it: spot(ARGS, line); line_place(g, 0, col), the distance of an element from its line's spot;
 * update_place(g, line, col). WRITE_SUMS also needs LANE, the type of sums; LANE_OF, what turns an element into a lane;
 * ADD(sum, x); ELEMENT_OF, what turns a lane into an element. */
#ifndef EMITTED
/* alone: WRITE_CLEAR | WRITE_CLAIM | WRITE_PUT | WRITE_KEYS | WRITE_SUMS */
/* alone: WRITE_CLEAR PARTS=1 | WRITE_CLAIM PARTS=1 | WRITE_PUT PARTS=1 | WRITE_SUMS PARTS=1 */
typedef int idx;
struct sizes {
    idx lines, length, first, len;
};
#define PARAMS const long long *index, const float *updates, unsigned int *order, unsigned int *claim, float *out, sizes g
#define ARGS index, updates, order, claim, out, g
#define THREADS 256
#define LINES g.lines
#define LENGTH g.length
#define SIZE (g.lines * g.length)
#define PART_FIRST g.first
#define PART_LEN g.len
#define UPDATES updates
#define OUT out
#define CLAIM claim
#define KEY unsigned int
#define KEYS claim
#define ORDER order
#define LANE float
#define LANE_OF(x) x
#define ELEMENT_OF(x) x
#define ADD(sum, x) (sum + x)
static __device__ idx spot(PARAMS, idx line) { return (idx)index[line] * g.length; }
static __device__ idx line_place(sizes g, idx row, idx col) { return row + col; }
static __device__ idx update_place(sizes g, idx row, idx col) { return row * g.length + col; }
#endif

/* A loop over n jobs, of all threads of the grid. */
#define EACH_JOB(job, n) \
    idx job = (idx)blockIdx.x * THREADS + threadIdx.x; job < n; job += (idx)gridDim.x * THREADS

/* The spot in the part; less than 0 for a line that is left out. */
static __device__ idx inside(sizes g, idx spot)
{
#if PARTS
    const idx at = spot - PART_FIRST;
    return at < PART_LEN ? at : -1;
#else
    return spot;
#endif
}

#ifdef WRITE_CLEAR
extern "C" __global__ void write_clear(PARAMS)
{
    for (EACH_JOB(line, LINES)) {
        const idx at = inside(g, spot(ARGS, line));
        if (at >= 0)
            CLAIM[at] = 0u;
    }
}
#endif

#ifdef WRITE_CLAIM
extern "C" __global__ void write_claim(PARAMS)
{
    for (EACH_JOB(line, LINES)) {
        const idx at = inside(g, spot(ARGS, line));
        if (at >= 0)
            atomicMax(&CLAIM[at], (unsigned int)line + 1u);
    }
}
#endif

#ifdef WRITE_PUT
extern "C" __global__ void write_put(PARAMS)
{
    for (EACH_JOB(job, SIZE)) {
        const idx line = job / LENGTH, col = job % LENGTH, at = inside(g, spot(ARGS, line));
        if (at >= 0 && CLAIM[at] == (unsigned int)line + 1u)
            OUT[at + line_place(g, 0, col)] = UPDATES[update_place(g, line, col)];
    }
}
#endif

#ifdef WRITE_KEYS
extern "C" __global__ void write_keys(PARAMS)
{
    for (EACH_JOB(line, LINES)) {
        KEYS[line] = (KEY)spot(ARGS, line);
        ORDER[line] = (unsigned int)line;
    }
}
#endif

#ifdef WRITE_SUMS
extern "C" __global__ void write_sums(PARAMS)
{
    for (EACH_JOB(job, SIZE)) {
        const idx first = job / LENGTH, col = job % LENGTH;
        const KEY key = KEYS[first];
        if (first > 0 && KEYS[first - 1] == key)
            continue;
        const idx begin = inside(g, (idx)key);
        if (begin < 0)
            continue;
        const idx at = begin + line_place(g, 0, col);
        LANE sum = LANE_OF(OUT[at]);
        for (idx k = first; k < LINES && KEYS[k] == key; k++) {
            const LANE x = LANE_OF(UPDATES[update_place(g, (idx)ORDER[k], col)]);
            sum = ADD(sum, x);
        }
        OUT[at] = ELEMENT_OF(sum);
    }
}
#endif
