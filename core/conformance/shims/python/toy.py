"""A toy port: p2c[b,h,i,j] = k[b,h,j] . q_r[h, index[i][j]], by plain loops.
usage: toy.py CASE_FOLDER [DUMP_FILE] [--slip | --copy]     --slip makes a mistake, --copy only copies the inputs
Without a file the dump goes to standard output as frames; nothing is written for a case of another term."""
import sys
import locus_kit as kit

def p2c(k, q_r, index, slip):
    queries, flat = len(index), [row for line in index for row in line]
    return [[[[sum(a * b for a, b in zip(keys[j], rows[flat[j * queries + i] if slip else index[i][j]]))
               for j in range(len(keys))] for i in range(queries)]
             for keys, rows in zip(sample, q_r)] for sample in k]

def main(folder, target=None, *, slip, copy):
    given = kit.case(folder).inputs
    if copy: stages = kit.read(f"{folder}/inputs.safetensors")
    elif not {"layer.0.k", "layer.0.q_r", "relative.index"} <= given.keys(): return
    else: stages = {"layer.0.p2c": p2c(given["layer.0.k"], given["layer.0.q_r"], given["relative.index"], slip)}
    if target is None: kit.frames(sys.stdout.buffer, stages)
    else: kit.dump(target, stages)

if __name__ == "__main__":
    files = [argument for argument in sys.argv[1:] if not argument.startswith("--")]
    if not files: sys.exit(__doc__)
    try: main(*files[:2], slip="--slip" in sys.argv, copy="--copy" in sys.argv)
    except (kit.KitError, OSError) as error: sys.exit(f"toy: {error}")
