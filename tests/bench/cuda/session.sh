#!/usr/bin/env bash
# The first hour on a machine with a device, in parts of less than nine minutes: bash session.sh [PART]...
# Parts, in this order where none is named: look tests kernels ladder sanitize forward packed backward model others.
# Each writes row by row into reports/PART.json, so that what a crash or the end of the loan cuts off costs one row; what
# an earlier call left there is kept under the time it was written.  Where a call may take less time, or only one folder
# comes back: LIMIT=280 MINUTES=4 REPORTS=DIR bash session.sh forward.
# Needs a driver; for the comparisons also a Python with torch ($PYTHON, else peers/bin/python, else python3).
set -u
cd "$(dirname "$(readlink -f "$0")")"
limit=${LIMIT:-540}     # seconds after which a part is ended
minutes=${MINUTES:-7}   # no row of a part begins after so many
reports=${REPORTS:-reports}
known=(look tests kernels ladder sanitize forward packed backward model others)
parts=("$@")
[ $# -gt 0 ] || parts=("${known[@]}")
for part in "${parts[@]}"; do
    case " ${known[*]} " in
        *" $part "*) ;;
        *) echo "session.sh: there is no part \"$part\", expected some of ${known[*]}" >&2 && exit 2 ;;
    esac
done
mkdir -p "$reports" || exit 3

python=${PYTHON:-}
[ -n "$python" ] || { [ -x peers/bin/python ] && python=peers/bin/python || python=python3; }
# Under another name until it is whole; Python where there is no xz.
for program in locus-bench-cuda locus-tests-cuda; do
    [ -x "$program" ] && continue
    { xz -dkc "$program.xz" 2>/dev/null || "$python" -c 'import lzma, shutil, sys
shutil.copyfileobj(lzma.open(sys.argv[1]), sys.stdout.buffer)' "$program.xz"; } >"$program.new" &&
        chmod +x "$program.new" && mv "$program.new" "$program" || {
        echo "session.sh: $program.xz could not be unpacked, expected xz or a Python with lzma" >&2
        exit 3
    }
done
# cuBLAS lies beside a torch that came from PyPI.
LD_LIBRARY_PATH=$("$python" -c 'import glob, sys
print(":".join(one for path in sys.path for one in glob.glob(path + "/nvidia/*/lib")))' 2>/dev/null):${LD_LIBRARY_PATH:-}
export LD_LIBRARY_PATH

bench() {
    local part=$1 status=0 file
    shift
    echo "== $part, $(date -u +%H:%M:%S)"
    for file in "$reports/$part".{json,txt,log}; do
        [ ! -e "$file" ] || mv "$file" "${file%.*}-$(date -u -r "$file" +%H%M%S).${file##*.}"
    done
    timeout -k 10 "$limit" ./locus-bench-cuda --minutes "$minutes" "$@" --report "$reports/$part.json" \
        >"$reports/$part.txt" 2>"$reports/$part.log" || status=$?
    tail -n 40 "$reports/$part.txt"
    [ "$status" -eq 0 ] || tail -n 5 "$reports/$part.log"
    echo "   status $status"
}
against() {
    local part=$1
    shift
    bench "$part" --against torch --only peers --python "$python" "$@"
}

for part in "${parts[@]}"; do
    case $part in
        look)
            nvidia-smi
            ldd ./locus-bench-cuda
            ./locus-bench-cuda --resources >"$reports/resources.txt"
            ;;
        tests) bench tests --only tests -j 6 --limit 120 ;;
        kernels) bench kernels --only kernels encoders ;;
        ladder) bench ladder --only ladder ;;
        sanitize) bench sanitize --only sanitizer --sanitize --tests packed ;;
        # First beside those whom the goals name, who open soon; the others compile for minutes.
        forward) against forward --rows forward --tokens 8192 512 256 128 --peer disentangled-flash flashdeberta ;;
        packed) against packed --rows packed --peer disentangled-flash flashdeberta ;;
        backward) against backward --rows backward --peer disentangled-flash flashdeberta ;;
        model) against model --rows model ;;
        others) against others --rows forward packed --tokens 512 256 128 ;;
    esac
done
