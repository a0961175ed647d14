# table.awk — joins what bench.cu printed, checked and fast, into one table.
NR == FNR { accesses[$1] = $2; cpu[$1] = $3; one[$1] = $4; two[$1] = $5; order[++n] = $1; next }
{ fast_cpu[$1] = $3; fast_one[$1] = $4; fast_two[$1] = $5 }
END {
    print "The CPU backend itself, on a matrix of 1024 x 1024 floats. Not GPU time."
    printf "%-24s %10s %11s %11s %9s %9s %9s\n", "", "accesses", "checked", "fast", "fast /", "2 cores", "2 cores"
    printf "%-24s %10s %11s %11s %9s %9s %9s\n", "kernel", "millions", "M/s a core", "M/s a core", "checked", "checked", "fast"
    for (i = 1; i <= n; i++) {
        k = order[i]
        printf "%-24s %10.2f %11.1f %11.1f %8.1fx %8.2fx %8.2fx\n", k, accesses[k] / 1e6, accesses[k] / cpu[k] / 1e6,
            accesses[k] / fast_cpu[k] / 1e6, cpu[k] / fast_cpu[k], one[k] / two[k], fast_one[k] / fast_two[k]
    }
}
