# shellcheck shell=sh
# What tools/faults-beside-sanitizer reads in the output of compute-sanitizer and of programs. The logs here have its form.
. tools/tests/tap.sh

logs=$scratch/logs
mkdir "$logs" "$scratch/out"
printf '"gpu": "Some GPU", "date": "2026-11-22"' >"$logs/about"
faults=common/simt/tests/faults
line() { grep -n "// $2" "$faults/$1.cu" | cut -d: -f1; } # line PROGRAM MARK

cat >"$logs/bounds_global_write_after.memcheck" <<END
========= COMPUTE-SANITIZER
========= Invalid __global__ write of size 4 bytes
=========     at scale(float *, float, int)+0x90 in /somewhere/bounds_global_write_after.cu:$(line bounds_global_write_after fault)
=========     by thread (232,0,0) in block (3,0,0)
=========     Access to 0x7f0000000fa0 is out of bounds
=========     and is 1 bytes after the nearest allocation at 0x7f0000000000 of size 4,000 bytes
=========     Saved host backtrace up to driver entry point at kernel launch time
=========         Host Frame: main in /somewhere/bounds_global_write_after.cu:13 [0x9a1] in bounds_global_write_after
=========
========= Program hit cudaErrorLaunchFailure (error 719) due to "unspecified launch failure" on CUDA API call to cudaFree.
=========     Saved host backtrace up to driver entry point at error
=========         Host Frame: main in /somewhere/bounds_global_write_after.cu:15 [0x9c1] in bounds_global_write_after
=========
========= Leaked 4,000 bytes at 0x7f0000000000
=========     Saved host backtrace up to driver entry point at allocation time
=========         Host Frame: main in /somewhere/bounds_global_write_after.cu:12 [0x981] in bounds_global_write_after
=========
========= LEAK SUMMARY: 4,000 bytes leaked in 1 allocations
========= ERROR SUMMARY: 3 errors
exit status 0
END
sed '/Invalid/,/^=========$/d' "$logs/bounds_global_write_after.memcheck" >"$logs/bounds_global_write_after.initcheck"
cat >"$logs/race_missing_syncthreads.racecheck" <<END
========= COMPUTE-SANITIZER
========= Error: Race reported between Write access at reverse_squares(int *)+0x110 in /somewhere/race_missing_syncthreads.cu:$(line race_missing_syncthreads 'fault, other line')
=========     and Read access at reverse_squares(int *)+0x150 in /somewhere/race_missing_syncthreads.cu:$(line race_missing_syncthreads 'fault: ') [256 hazards]
=========
========= RACECHECK SUMMARY: 1 hazard displayed (1 error, 0 warnings)
exit status 0
END
cat >"$logs/copy_kind.memcheck" <<END
========= COMPUTE-SANITIZER
========= Program hit cudaErrorInvalidValue (error 1) due to "invalid argument" on CUDA API call to cudaMemcpy.
=========     Saved host backtrace up to driver entry point at error
=========         Host Frame: main in /somewhere/copy_kind.cu:$(line copy_kind 'fault: ') [0x9c1] in copy_kind
=========
========= ERROR SUMMARY: 1 error
exit status 0
END
cat >"$logs/deadlock_flag_never_set.synccheck" <<END
========= COMPUTE-SANITIZER
exit status 124
END
printf 'no error\nexit status 0\n' >"$logs/race_histogram.alone"
printf 'PASSED\nexit status 0\n' >"$logs/scan.program"
printf 'FAILED\nexit status 1\n' >"$logs/streams.program"
tools/faults-beside-sanitizer --collect "$logs" "$scratch/out" >"$scratch/said"

found() { # found PROGRAM BY TEXT: the line of this program and tool has the text
    grep "\"program\": \"$1\", \"by\": \"$2\"" "$scratch/out/faults.some-gpu.jsonl" >"$scratch/found"
    says "$3" cat "$scratch/found"
}
check "a finding at the line comes before its consequences" found bounds_global_write_after memcheck \
    "\"what\": \"Invalid __global__ write of size 4 bytes\", \"line\": $(line bounds_global_write_after fault), \"at\": \"fault\", \"findings\": 3"
check "consequences alone are no finding" found bounds_global_write_after initcheck '"at": "consequence"'
check "a race has two lines" found race_missing_syncthreads racecheck \
    "\"what\": \"Error: Race reported between Write access\", \"line\": $(line race_missing_syncthreads 'fault: '), \"at\": \"fault\""
check "a call of the API that is the fault" found copy_kind memcheck '"at": "fault"'
check "a program that was stopped" found deadlock_flag_never_set synccheck '"at": "none", "findings": 0, "status": 124'
check "a program alone" found race_histogram alone '"what": "no error"'
check "an ordinary program that passes" says '"program": "scan", "builds": true, "status": 0' cat "$scratch/out/programs.some-gpu.jsonl"
check "an ordinary program that fails" says 'FAIL  streams: builds true, exit status 1' cat "$scratch/said"
check "the runs are counted" says '6 of ' cat "$scratch/said"
check "every result has the machine" fails grep -vq '"gpu": "Some GPU", "date": "2026-11-22"}$' "$scratch/out/faults.some-gpu.jsonl"
finish
