/* A toy port: p2c[b,h,i,j] = k[b,h,j] . q_r[h, index[i][j]], by plain loops.
   usage: toy [--slip | --copy | --reversed] CASE_FOLDER [DUMP_FILE]
   --slip makes a mistake; --copy only copies the inputs; --reversed hands over the shape as ggml keeps it.
   Without a file the dump goes to standard output as frames; nothing is written for a case of another term. */
#include "locus_kit.h"

static void copy(const lk_case *inputs, lk_dump *dump) {
    const char *names[] = {"layer.0.q", "layer.0.k", "layer.0.v", "layer.0.q_r", "layer.0.k_r", "relative.index"};
    for (size_t n = 0; n < sizeof names / sizeof *names; ++n) {
        if (!lk_find(inputs->header, names[n])) continue;
        const lk_tensor t = lk_get(inputs, names[n]);
        lk_put(dump, names[n], t.dtype, t.rank, t.shape, t.data, 0);
    }
}

static void p2c(const lk_case *inputs, lk_dump *dump, int slip, int reversed) {
    const lk_tensor k = lk_get(inputs, "layer.0.k"), q_r = lk_get(inputs, "layer.0.q_r"), index = lk_get(inputs, "relative.index");
    const int64_t heads = k.shape[1], keys = k.shape[2], width = k.shape[3], rows = q_r.shape[1], queries = index.shape[0];
    const int64_t shape[4] = {k.shape[0], heads, queries, keys}, ne[4] = {keys, queries, heads, k.shape[0]};
    double *term = (double *)calloc((size_t)(shape[0] * heads * queries * keys) + 1, sizeof(double)), *cell = term;
    for (int64_t b = 0; b < shape[0]; ++b)
        for (int64_t h = 0; h < heads; ++h)
            for (int64_t i = 0; i < queries; ++i)
                for (int64_t j = 0; j < keys; ++j, ++cell) {
                    const int64_t row = (int64_t)lk_at(&index, slip ? j * queries + i : i * keys + j);
                    for (int64_t c = 0; c < width; ++c)
                        *cell += lk_at(&k, ((b * heads + h) * keys + j) * width + c) * lk_at(&q_r, (h * rows + row) * width + c);
                }
    lk_put(dump, "layer.0.p2c", "F64", 4, reversed ? ne : shape, term, reversed);
    free(term);
}

int main(int count, char **arguments) {
    const char *option = count > 1 && !strncmp(arguments[1], "--", 2) ? *++arguments : "";
    if (*option) --count;
    lk_check(count > 1, "usage", "toy [--slip | --copy | --reversed] CASE_FOLDER [DUMP_FILE]", "");
    const lk_case inputs = lk_open(arguments[1]);
    if (!lk_find(inputs.header, "layer.0.k") || !lk_find(inputs.header, "layer.0.q_r") || !lk_find(inputs.header, "relative.index")) return 0;
    lk_dump dump = lk_begin(count > 2 ? arguments[2] : "-");
    if (!strcmp(option, "--copy")) copy(&inputs, &dump);
    else p2c(&inputs, &dump, !strcmp(option, "--slip"), !strcmp(option, "--reversed"));
    lk_end(&dump);
    return 0;
}
