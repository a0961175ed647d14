#!/bin/sh
# index.sh OPS INCLUDE — write the headers that list the ops of the folder OPS; see module.mk. Unchanged files are not
# written.
set -eu
ops=$1 include=$2
mkdir -p "$include/ops" "$include/common/contracts"

keep() { # keep FILE: standard input becomes FILE, if it differs; several makes may do so at once
    new=$1.$$
    cat >"$new"
    if cmp -s "$new" "$1"; then rm "$new"; touch "$1"; else mv "$new" "$1"; fi
}

names() { for op in "$ops"/*/op.c; do basename "$(dirname "$op")"; done | LC_ALL=C sort; }

names | sed 's/.*/OP(&)/' | keep "$include/ops/index.h"
{
    echo '#ifndef LAUNCHERS_ONLY'
    names | sed 's|.*|#include "ops/&/contract.h"|'
    echo '#endif'
    for name in $(names); do
        for type in f32 f16 bf16; do
            ! grep -q "\<${name}_$type(" "$ops/$name/contract.h" || echo "LAUNCHER($name, $type)"
        done
    done
} | keep "$include/ops/launchers.h"
for contract in "$ops"/*/contract.h; do
    name=$(basename "$(dirname "$contract")")
    echo "#include \"ops/$name/contract.h\"" | keep "$include/common/contracts/$name.h"
done
echo '#include "ops/types.h"' | keep "$include/common/contracts/types.h"
