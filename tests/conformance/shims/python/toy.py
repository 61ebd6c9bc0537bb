"""A toy port: p2c[b,h,i,j] = k[b,h,j] . q_r[h, index[i][j]], by plain loops.
usage: toy.py CASE_FOLDER DUMP_FILE|- [--slip | --copy]     --slip makes a mistake, --copy only copies the inputs"""
import sys
import locus_kit as kit

def p2c(k, q_r, index, slip):
    return [[[[sum(a * b for a, b in zip(keys[j], rows[index[j][i] if slip else index[i][j]]))
               for j in range(len(keys))] for i in range(len(keys))]
             for keys, rows in zip(sample, q_r)] for sample in k]

def main(folder, target, options):
    case = kit.case(folder)
    if "--copy" in options:
        stages = kit.read(f"{folder}/inputs.safetensors")
    else:
        given = case.inputs
        for name in ("layer.0.k", "layer.0.q_r", "relative.index"):
            if name not in given: raise kit.KitError(f"{folder}: the inputs hold no {name}")
        stages = {"layer.0.p2c": p2c(given["layer.0.k"], given["layer.0.q_r"], given["relative.index"], "--slip" in options)}
    if target == "-": kit.frames(sys.stdout.buffer, stages)
    else: kit.dump(target, stages)

if __name__ == "__main__":
    if len(sys.argv) < 3: sys.exit(__doc__)
    try: main(sys.argv[1], sys.argv[2], sys.argv[3:])
    except (kit.KitError, OSError) as error: sys.exit(f"toy: {error}")
