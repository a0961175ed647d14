# graph.awk — from the records that common/graph gathers to FOLDER/OP.dot for each exercise whose kernels run, and a summary of
# launches and bytes on standard output.
#
# An array is an edge: from the kernel that wrote it last to each kernel that reads it, from a plain name if no kernel wrote it, and
# to a plain name if it is a result. Arrays of less than a 16th of the largest one's bytes are drawn in grey, and not counted.

function amount(bytes) {
    return bytes >= 999500000 ? sprintf("%.2f GB", bytes / 1e9) : bytes >= 999500 ? sprintf("%.2f MB", bytes / 1e6) : \
        bytes >= 1000 ? sprintf("%.1f KB", bytes / 1e3) : bytes " bytes"
}
function short(kernel) { # without parameters and template arguments
    sub(/ \[with .*/, "", kernel)
    sub(/[<(].*/, "", kernel)
    sub(/^.* /, "", kernel)
    return kernel
}
function times(grid,   part) {
    split(grid, part, ",")
    return part[1] * part[2] * part[3]
}
function quoted(text) {
    gsub(/\\/, "\\\\", text)
    gsub(/"/, "\\\"", text)
    gsub(/\n/, "\\n", text)
    return "\"" text "\""
}
function many(count, word) { return count " " word (count == 1 ? "" : word ~ /ch$/ ? "es" : "s") }

function clear(   i) {
    for (i = 1; i <= kernels; i++) name_of[i] = launches_of[i] = shape_of[i] = bytes_of[i] = ""
    for (i in size) delete size[i]
    for (i in loaded) delete loaded[i]
    for (i in stored) delete stored[i]
    for (i in seen) delete seen[i]
    for (i in input) delete input[i]
    kernels = arrays = notes = 0
    part = ""
}

# ---- one side: the exercise, or the op in parts ----

function out(text) { body = body text "\n" }
function say(text) { said = said text "\n" }
function edge(from, to, label, is_small) {
    out("    " from " -> " to " [label=" quoted(label) (is_small ? " class=small color=\"#cccccc\" fontcolor=\"#666666\"" : "") "]")
}
function is_result(a) { return side == "yours" ? a !~ /^scratch/ : a in tensor }
function draw(   i, k, a, largest, total, launches, id, writer, read, text) {
    if (!side) return
    sides++
    largest = total = launches = 0
    for (i = 1; i <= arrays; i++) {
        if (size[array[i]] > largest) largest = size[array[i]]
        if (side == "yours") tensor[array[i]] = 1
    }
    for (i = 1; i <= arrays; i++) small[array[i]] = size[array[i]] * 16 < largest
    for (k = 1; k <= kernels; k++) {
        for (i = 1; i <= arrays; i++) if (!small[array[i]]) bytes_of[k] += loaded[k, array[i]] + stored[k, array[i]]
        total += bytes_of[k]
        launches += launches_of[k]
    }
    if (side == "yours") { own_total = total; own_launches = launches }
    text = kernels ? many(launches, "launch") ", " amount(total) : "not drawn"
    if (side == "parts" && kernels && own_total && !notes) text = text sprintf(", %.2f times the bytes", total / own_total)
    say(sprintf("  %-66s %s", side == "yours" ? op ", " type (sizes ? ", " sizes : "") : "    in parts", text))
    out("  subgraph cluster_" side " {\n    label=" quoted((side == "yours" ? op : "in parts") ": " text))
    for (i = 1; i <= notes; i++) {
        out("    n_" side "_" i " [shape=plaintext class=note label=" quoted(note[i]) "]")
        say("      " note[i])
    }
    for (k = 1; k <= kernels; k++) {
        out("    " side k " [shape=box style=filled class=kernel label=" quoted(name_of[k] "\n" many(launches_of[k], "launch") ", " shape_of[k] "\n" \
            amount(bytes_of[k])) "]")
        say(sprintf("      %-62s %s, %s", name_of[k], many(launches_of[k], "launch"), amount(bytes_of[k])))
    }
    for (i = 1; i <= arrays; i++) draw_array(array[i], side "_" i)
    out("  }")
    side = ""
}
function draw_array(a, id,   k, writer, from_outside, readers) {
    for (k = 1; k <= kernels; k++) {
        if (loaded[k, a] && (writer || !stored[k, a] || input[a])) {
            if (writer) {
                readers++
                edge(side writer, side k, a ":" (is_result(a) ? "" : " write " amount(stored[writer, a]) ",") " read " amount(loaded[k, a]), small[a])
            } else {
                if (!from_outside++) out("    in_" id " [shape=plaintext class=array label=" quoted(a "\n" amount(size[a])) "]")
                edge("in_" id, side k, "read " amount(loaded[k, a]), small[a])
            }
        }
        if (stored[k, a]) writer = k
    }
    if (!writer || (readers && !is_result(a))) return
    out("    out_" id " [shape=plaintext class=array label=" quoted(a "\n" amount(size[a])) "]")
    edge(side writer, "out_" id, "write " amount(stored[writer, a]) \
        (loaded[writer, a] && !input[a] ? ", read again " amount(loaded[writer, a]) : ""), small[a])
}

# ---- one exercise: a file, if its kernels run ----

function finish(   file) {
    draw()
    if (!op) return
    file = folder "/" op ".dot"
    if (own_launches) {
        print "digraph " op " {\n  bgcolor=\"white\" fontname=\"sans-serif\" fontsize=12 color=\"#cccccc\"\n" \
            "  node [fontname=\"sans-serif\" fontsize=11 color=\"#888888\" fillcolor=\"#cfe2f3\"]\n" \
            "  edge [fontname=\"sans-serif\" fontsize=10 color=\"#888888\" arrowsize=0.6]\n" body "}" >file
        close(file)
    }
    printf "%s", said
    body = said = op = ""
    own_launches = own_total = 0
    for (a in tensor) delete tensor[a]
    for (a in written) delete written[a]
}

$1 == "exercise" { finish(); clear(); op = $2; type = $3; sizes = $4 }
$1 == "side" { draw(); clear(); side = $2 }
$1 == "note" { note[++notes] = $2 }
$1 == "part" { part = $2; base = "" }
$1 == "array" && !($2 in size) { array[++arrays] = $2; size[$2] = $3 }
$1 == "launch" {
    base = short($3) "|" $4 "|" $5 "|" part
    if (!(base in seen)) {
        seen[base] = ++kernels
        name_of[kernels] = short($3) (part == "given" ? " (given)" : part ? " (" part ")" : "")
        sub(/_[^ ]*\)$/, ")", name_of[kernels])
        shape_of[kernels] = many(times($4), "block") " x " many(times($5), "thread")
    }
    launches_of[seen[base]]++
}
$1 == "access" {
    k = seen[base]
    if ($4 && !(($3, side) in written)) input[$3] = input[$3] || !$5
    loaded[k, $3] += $4 + $6
    stored[k, $3] += $5 + $6
    if ($5) written[$3, side] = 1
}
END { finish() }
