/* Locus dump in C99 and C++, one header, no dependency: the stages of a running program, written into one trace.
     locus_dump *dump = locus_dump_begin("port.safetensors");
     locus_dump_put(dump, "layer.0.p2c", "F32", 4, shape, values);       shape [B,H,T,T], the slowest axis first
     locus_dump_end(dump);                                               then: locus check reference.safetensors port.safetensors
   With ggml, include it after ggml.h and ggml-backend.h with LOCUS_DUMP_GGML defined, and add
     ggml_set_name(p2c, "layer.0.p2c");                                  where a tensor is a stage
     ggml_backend_sched_set_eval_callback(sched, locus_dump_ggml, dump); in llama.cpp: params.cb_eval, params.cb_eval_user_data
   Refusals: one sentence on standard error, exit status 3. */
#pragma once
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
typedef struct { FILE *data; char path[1000], part[1010], *header; size_t length; uint64_t used; } locus_dump;
static inline void locus_dump_check(int good, const char *where, const char *what) {
    if (!good) fprintf(stderr, "locus dump: %s: %s\n", where, what), exit(3); }
static inline uint64_t locus_dump_width(const char *t) { return !strcmp(t, "F64") || !strcmp(t, "I64") ? 8 : !strcmp(t, "F32") || !strcmp(t, "I32") ? 4 : !strcmp(t, "F16") || !strcmp(t, "BF16") ? 2 : 0; }
static inline locus_dump *locus_dump_begin(const char *path) {
    locus_dump *d = (locus_dump *)calloc(1, sizeof *d);
    locus_dump_check(d && strlen(path) < 990, path, "the path is too long, expected at most 989 bytes");
    snprintf(d->path, sizeof d->path, "%s", path), snprintf(d->part, sizeof d->part, "%s.part", path);
    return locus_dump_check((d->data = tmpfile()) != NULL, path, "no room for a temporary file"), d; }
static inline void locus_dump_put(locus_dump *d, const char *name, const char *type, int rank, const int64_t *shape, const void *values) {
    uint64_t size = locus_dump_width(type); size_t n = d->length, room = strlen(name) + 300; char *to;
    locus_dump_check(size && rank >= 0 && rank <= 8 && !strpbrk(name, "\"\\"), name, "expected F64, F32, F16, BF16, I64 or I32, at most 8 axes and a plain name");
    locus_dump_check((to = (char *)realloc(d->header, n + room)) != NULL, name, "no memory for its name"), d->header = to;
    n += (size_t)sprintf(to + n, "%c\"%s\":{\"dtype\":\"%s\",\"shape\":[", n ? ',' : '{', name, type);
    for (int a = 0; a < rank; size *= (uint64_t)shape[a++]) n += (size_t)sprintf(to + n, a ? ",%lld" : "%lld", (long long)shape[a]);
    n += (size_t)sprintf(to + n, "],\"data_offsets\":[%llu,%llu]}", (unsigned long long)d->used, (unsigned long long)(d->used + size));
    locus_dump_check(fwrite(values, 1, size, d->data) == size, name, "the disk is full"), d->used += size, d->length = n; }
static inline void locus_dump_end(locus_dump *d) { /* there as a whole or not at all */
    char block[1 << 14]; size_t n; const uint64_t size = d->length + 1; FILE *f = fopen(d->part, "wb");
    locus_dump_check(f && d->length, d->path, "cannot be written, or holds no stage");
    int good = fwrite(&size, 8, 1, f) && fwrite(d->header, d->length, 1, f) && fputc('}', f) == '}';
    for (rewind(d->data); good && (n = fread(block, 1, sizeof block, d->data)) > 0;) good = fwrite(block, 1, n, f) == n;
    locus_dump_check(!fclose(f) && good && (!rename(d->part, d->path) || (remove(d->path), !rename(d->part, d->path))), d->path, "cannot be written");
    fclose(d->data), free(d->header), free(d); }
#ifdef LOCUS_DUMP_GGML
static inline int locus_dump_rank(const char *name) { /* axes of a stage by its last word; 0: no stage */
    const char *scopes[] = {"layer.", "emd.", "embeddings.", "relative.", "rotary.", "positions.", "classifier.", "mlm.", "lm.", "segment."};
    const char *heads[] = {"q", "k", "v", "c2c", "c2p", "p2c", "ac", "bd", "bd_raw", "ef", "scores", "probs", "q_rot", "k_rot", "v_rot"};
    const char *last = strrchr(name, '.'); int known = 0;
    for (size_t n = 0; n < sizeof scopes / sizeof *scopes; ++n) known |= !strncmp(name, scopes[n], strlen(scopes[n]));
    for (size_t n = 0; known && n < sizeof heads / sizeof *heads; ++n) if (!strcmp(last + 1, heads[n])) return 4;
    return !known ? 0 : !strncmp(name, "relative.", 9) || !strncmp(name, "rotary.", 7) || !strncmp(name, "positions.", 10)
        || (strstr(name, "classifier.") && strcmp(last + 1, "token_logits")) ? 2 : 3; }
static inline bool locus_dump_ggml(struct ggml_tensor *t, bool ask, void *user_data) {
    const int rank = locus_dump_rank(t->name); int64_t shape[4];
    if (ask || !rank) return rank > 0; /* asked first whether the values are wanted */
    const char *type = t->type == GGML_TYPE_F32 ? "F32" : t->type == GGML_TYPE_F16 ? "F16" : t->type == GGML_TYPE_I32 ? "I32" : "";
    locus_dump_check(*type != 0, t->name, "expected a tensor of F32, F16 or I32");
    const size_t width = (size_t)locus_dump_width(type), bytes = ggml_nbytes(t);
    char *raw = (char *)malloc(bytes + 1), *rows = (char *)malloc((size_t)(t->ne[0] * t->ne[1] * t->ne[2] * t->ne[3]) * width + 1), *to = rows;
    locus_dump_check(raw && rows, t->name, "no memory for its values"), ggml_backend_tensor_get(t, raw, 0, bytes);
    for (int64_t z = 0; z < t->ne[3]; ++z) for (int64_t y = 0; y < t->ne[2]; ++y) for (int64_t x = 0; x < t->ne[1]; ++x)
        for (int64_t c = 0; c < t->ne[0]; ++c, to += width) memcpy(to, raw + z * t->nb[3] + y * t->nb[2] + x * t->nb[1] + c * t->nb[0], width);
    for (int a = 0; a < rank; ++a) shape[a] = t->ne[rank - 1 - a]; /* ggml keeps the fastest axis first */
    locus_dump_put((locus_dump *)user_data, t->name, type, rank, shape, rows);
    return free(raw), free(rows), true; }
#endif
