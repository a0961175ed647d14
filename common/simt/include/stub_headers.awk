# stub_headers.awk — writes the headers of stub_headers.txt into the folder `out`.
/^#/ || NF == 0 { next }
{
    header = $1
    kind = $2
    text = $0
    sub(/^[^ ]+ +[^ ]+ +/, "", text)
    folder = out "/" header
    sub("/[^/]*$", "", folder)
    if (!(folder in made)) {
        if (system("mkdir -p '" folder "'") != 0) exit 1
        made[folder] = 1
    }
    file = out "/" header
    if (kind == "is")
        printf "/* %s — part of %s here. */\n#include \"%s\"\n", header, text, text >file
    else if (kind == "no")
        printf "/* %s — not in this backend. */\n#error \"the CPU backend has no %s\"\n", header, text >file
    else {
        printf "stub_headers.txt: %s: `is` or `no`, not `%s`\n", header, kind >"/dev/stderr"
        exit 1
    }
    close(file)
}
