#!/usr/bin/env bash
# The first hour on a machine with a device, in parts of at most eight minutes: bash session.sh [PART]...
# Parts, in this order where none is named: look tests kernels ladder sanitize forward packed backward model.
# Each writes row by row into reports/PART.json, so that what a crash or the end of the loan cuts off costs one row.
# Needs a driver; for the comparisons also a Python with torch ($PYTHON, else peers/bin/python, else python3).
set -u
cd "$(dirname "$(readlink -f "$0")")"
mkdir -p reports
parts=("$@")
[ $# -gt 0 ] || parts=(look tests kernels ladder sanitize forward packed backward model)

for program in locus-bench-cuda locus-tests-cuda; do
    [ -x "$program" ] || { xz -dk "$program.xz" && chmod +x "$program"; } || exit 3
done
python=${PYTHON:-}
[ -n "$python" ] || { [ -x peers/bin/python ] && python=peers/bin/python || python=python3; }

bench() {
    local part=$1
    shift
    echo "== $part, $(date -u +%H:%M:%S)"
    timeout 600 ./locus-bench-cuda "$@" --report "reports/$part.json" >"reports/$part.txt" 2>"reports/$part.log"
    echo "   status $?"
    tail -n 40 "reports/$part.txt"
}
against() {
    local part=$1
    shift
    # cuBLAS lies beside a torch that came from PyPI.
    LD_LIBRARY_PATH=$("$python" -c 'import glob, sysconfig; print(":".join(glob.glob(sysconfig.get_path("purelib") + "/nvidia/*/lib")))' \
        2>/dev/null):${LD_LIBRARY_PATH:-} bench "$part" --against torch --only peers --python "$python" "$@"
}

for part in "${parts[@]}"; do
    case $part in
        look)
            nvidia-smi
            ldd ./locus-bench-cuda
            ./locus-bench-cuda --resources >reports/resources.txt
            ;;
        tests) bench tests --only tests -j 6 --limit 120 ;;
        kernels) bench kernels --only kernels ;;
        ladder) bench ladder --only ladder ;;
        sanitize) bench sanitize --only sanitizer --sanitize --tests packed ;;
        forward) against forward --rows forward --tokens 8192 512 ;;
        packed) against packed --rows packed ;;
        backward) against backward --rows backward ;;
        model) against model --rows model ;;
        *) echo "session.sh: there is no part \"$part\"" >&2 && exit 2 ;;
    esac
done
