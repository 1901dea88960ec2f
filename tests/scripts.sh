# shellcheck shell=sh
# The Lua scripts of the nodes, for tests of them:  . tests/scripts.sh

# print_scripts HEADER: a line "macro SHA-1 text" for each script in the header, as the compiler sees it; "-" for a SHA-1 that it has not.
# Where the text has a line feed, a form feed stands.
print_scripts() {
    printed=$(mktemp -d) || return 1
    {
        printf '#include <stdio.h>\n#include "%s"\n' "$1"
        echo 'static void show(const char *at)
{
    for (; *at; at++) putchar(*at == 10 ? 12 : *at);
    putchar(10);
}
int main(void)
{'
        sed -n 's/^#define \([A-Z_]*\)_SCRIPT .*/\1/p' "$1" | while read -r macro; do
            sha1='"-"'
            ! grep -q "^#define ${macro}_SHA1 " "$1" || sha1=${macro}_SHA1
            echo "    show(\"${macro}_SCRIPT \" $sha1 \" \" ${macro}_SCRIPT);"
        done
        echo '    return 0;
}'
    } >"$printed/print.c"
    ${CC:-cc} -I. -o "$printed/print" "$printed/print.c" && "$printed/print"
    print_status=$?
    rm -rf "$printed"
    return $print_status
}

# script_text TEXT: as print_scripts has printed it, with its line feeds.
script_text() { printf '%s' "$1" | tr '\f' '\n'; }

# As tools/scripts lists them.
headers_with_scripts() { sed -n "s/^    '\(.*\.h\)' *=> .*/\1/p" tools/scripts; }

print_all_scripts() {
    for header in $(headers_with_scripts); do print_scripts "$header" || return 1; done
}
