# shellcheck shell=sh disable=SC2034
# tap.sh — sourced by the shell tests: check DESCRIPTION COMMAND... prints a TAP line; finish prints the plan.
tap_count=0
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

check() {
    tap_text=$1
    shift
    tap_count=$((tap_count + 1))
    if "$@" >"$scratch/check.log" 2>&1; then
        echo "ok $tap_count - $tap_text"
    else
        echo "not ok $tap_count - $tap_text"
        sed 's/^/# /' "$scratch/check.log"
    fi
}

skip() { # skip DESCRIPTION WHY
    tap_count=$((tap_count + 1))
    echo "ok $tap_count - $1 # SKIP $2"
}

fails() {                       # the command must fail; that it cannot be run is no failure of its own
    "$@"
    tap_got=$?
    [ $tap_got != 0 ] && [ $tap_got -lt 126 ]
}
exits() {                       # exits STATUS COMMAND...: it must end with this status
    tap_status=$1
    shift
    "$@"
    tap_got=$?
    [ "$tap_got" = "$tap_status" ] || { echo "exit status $tap_got, expected $tap_status"; return 1; }
}
says() {                        # says TEXT COMMAND...: its output must hold TEXT
    tap_wanted=$1
    shift
    "$@" >"$scratch/says.log" 2>&1
    grep -qF -- "$tap_wanted" "$scratch/says.log" || { echo "no '$tap_wanted' in:"; cat "$scratch/says.log"; return 1; }
}

finish() { echo "1..$tap_count"; }
