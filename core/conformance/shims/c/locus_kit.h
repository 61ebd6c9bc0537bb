/* Locus kit in C99 and C++, one header: read a case, write a dump.  Copy it into your project (little-endian hosts).
     lk_case c = lk_open("kit/cases/L1/p2c");  lk_tensor k = lk_get(&c, "layer.0.k");  double x = lk_at(&k, 17);
     lk_dump d = lk_begin("dumps/L1/p2c.safetensors");         "-": frames on standard output: name\0dtype\0shape\0bytes
     lk_put(&d, "layer.0.p2c", "F32", 4, shape, values, 0);    1 at the end: shape is ggml's ne[], the fastest axis first
     lk_end(&d);                                               refusals: one sentence on standard error, exit status 3 */
#pragma once
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#define LK static inline
typedef struct { char dtype[8]; int rank; int64_t shape[8], count; const char *data; } lk_tensor;
typedef struct { char *json, *header, *data, path[1024]; uint64_t size; } lk_case;
typedef struct { FILE *f; char path[1024], part[1032], header[1 << 16]; uint64_t used; int n; } lk_dump;
LK void lk_check(int good, const char *where, const char *what, const char *name) {
    if (!good) fprintf(stderr, "locus kit: %s: %s%s\n", where, what, name), exit(3); }
LK uint64_t lk_width(const char *t) { return strstr("F64 I64", t) ? 8 : strstr("F32 I32", t) ? 4 : strstr("BF16 F16", t) ? 2 : 0; }
LK char *lk_whole(const char *folder, const char *name, char *path, uint64_t *size) {
    FILE *f = (snprintf(path, 1024, "%s/%s", folder, name), fopen(path, "rb"));
    char *text = f && !fseek(f, 0, SEEK_END) && ftell(f) >= 0 ? (char *)calloc((*size = (uint64_t)ftell(f)) + 9, 1) : NULL;
    lk_check(text && (rewind(f), fread(text, 1, *size, f) == *size) && !fclose(f), path, "cannot be read", "");
    return text; }
LK const char *lk_find(const char *json, const char *key) { /* what follows "key":, or NULL */
    for (size_t n = strlen(key); json && (json = strstr(json, key)) != NULL; ++json)
        if (json[-1] == '"' && json[n] == '"' && strspn(json + n + 1, " :\t\r\n")) return json + n + 1 + strspn(json + n + 1, " :\t\r\n");
    return NULL; }
LK double lk_config(const lk_case *c, const char *key) { return (key = lk_find(lk_find(c->json, "config"), key)) ? strtod(key, NULL) : 0; }
LK lk_case lk_open(const char *folder) {
    lk_case c; uint64_t n = 0; memset(&c, 0, sizeof c);
    c.json = lk_whole(folder, "case.json", c.path, &c.size), c.data = lk_whole(folder, "inputs.safetensors", c.path, &c.size);
    lk_check((memcpy(&n, c.data, 8), c.size >= 8 && n <= c.size - 8 && (c.header = (char *)calloc(n + 1, 1))), c.path, "ends too early", "");
    memcpy(c.header, c.data + 8, n), c.data += 8 + n, c.size -= 8 + n;
    return c; }
LK lk_tensor lk_get(const lk_case *c, const char *name) {
    lk_tensor t = {"", 0, {0}, 1, c->data}; unsigned long long from = 0, to = 0; const char *own = lk_find(c->header, name);
    const char *type = lk_find(own, "dtype"), *shape = lk_find(own, "shape"), *at = lk_find(own, "data_offsets");
    lk_check(type && shape && at, c->path, "it does not hold ", name);
    for (char *s = (char *)shape + 1; t.rank < 8 && *(s += strspn(s, " ,")) != ']'; ++t.rank) t.count *= t.shape[t.rank] = strtoll(s, &s, 10);
    lk_check(sscanf(type, "\"%7[A-Z0-9]", t.dtype) == 1 && sscanf(at, "[%llu ,%llu", &from, &to) == 2 && from <= to && to <= c->size &&
             to - from == (uint64_t)t.count * lk_width(t.dtype), c->path, "ends before the values, or misdescribes those, of ", name);
    return t.data += from, t; }
LK double lk_at(const lk_tensor *t, int64_t n) { /* one value, counted row-major; of F16 and BF16 use the bytes */
    union { double f64; float f32; int64_t i64; int32_t i32; } x; uint64_t width = lk_width(t->dtype);
    lk_check(width > 2, t->dtype, "C has no such number", ""), memcpy(&x, t->data + (uint64_t)n * width, width);
    return *t->dtype == 'F' ? (width == 8 ? x.f64 : x.f32) : width == 8 ? (double)x.i64 : x.i32; }
LK lk_dump lk_begin(const char *path) {
    lk_dump d; memset(&d, 0, sizeof d), snprintf(d.path, sizeof d.path, "%s", path), snprintf(d.part, sizeof d.part, "%s.part", d.path);
    d.f = strcmp(path, "-") ? fopen(d.part, "wb") : stdout;
    return lk_check(d.f && (d.f == stdout || !fseek(d.f, 8 + sizeof d.header, SEEK_SET)), path, "cannot be written", ""), d; }
LK void lk_put(lk_dump *d, const char *name, const char *type, int rank, const int64_t *shape, const void *values, int reversed) {
    char axes[200] = ""; uint64_t size = lk_width(type), from = d->used; int at = 0, room = (int)sizeof d->header - d->n;
    for (int a = 0; a < rank && a < 8; size *= (uint64_t)shape[a++])
        at += snprintf(axes + at, 24, a ? ",%lld" : "%lld", (long long)shape[reversed ? rank - 1 - a : a]);
    d->n += d->f == stdout ? (printf("%s%c%s%c%s%c", name, 0, type, 0, axes, 0), 0) : snprintf(d->header + d->n, (size_t)room, "%c\"%s\":{\"dtype\":\"%s\",\"shape\":[%s],"
        "\"data_offsets\":[%llu,%llu]}", d->n ? ',' : '{', name, type, axes, (unsigned long long)from, (unsigned long long)(d->used += size));
    lk_check(lk_width(type) && d->n < (int)sizeof d->header && fwrite(values, 1, size, d->f) == size, name, "cannot be written as ", type); }
LK void lk_end(lk_dump *d) { /* the header has a fixed size, filled with blanks */
    uint64_t size = sizeof d->header; memset(d->header + d->n, ' ', size - (uint64_t)d->n), d->header[d->n] = '}';
    lk_check(d->f == stdout ? !fflush(stdout) : d->n && !fseek(d->f, 0, SEEK_SET) && fwrite(&size, 8, 1, d->f) && fwrite(d->header, size, 1, d->f) &&
             !fclose(d->f) && (!rename(d->part, d->path) || (remove(d->path), !rename(d->part, d->path))), d->path, "cannot be written", ""); }
