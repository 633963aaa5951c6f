#!/bin/sh
# What the shell offers for a command line that is begun: as bash asks for it, with its own splitting of words.
# ctest: tsan=soak
. "$(dirname "$0")/lib.sh"
command -v bash >/dev/null || skip "no bash"
mkdir bin && ln -s "$LEAT" bin/leat
export PATH="$PWD/bin:$PATH"
"$LEAT" completion bash >script || fail "no script"

# offers WANTED WORD...: for the last of the words. Bash splits them at "=", too.
offers() {
    wanted=$1
    shift
    got=$(bash -c '. ./script
compopt() { :; } # there is no line that is edited
complete -p leat >/dev/null || exit
COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
_leat leat "${@: -1}" "${@: -2:1}"
printf "%s\n" "${COMPREPLY[@]}" | awk "!seen[\$0]++" | paste -sd " "' bash "$@") # bash shows each once
    [ "$got" = "$wanted" ] || fail "'$*' offers '$got' instead of '$wanted'"
}
offers 'run retry release' leat r
offers '--memory' leat run --mem
offers '--keep-inputs --keep-done --keep-failed' leat watch --keep
offers '' leat check --for
offers 'auto cpu cuda' leat run -b ''
offers 'cpu cuda' leat run --backend = c
offers 'cuda' leat check --backend cu
offers 'pearson' leat run --pipeline p
offers 'auto off' leat run --spread ''
offers 'threshold=' leat run -s thr
offers 'auto rows columns' leat run -s series =
offers 'rows' leat run -s series = r
offers 'missing= missing_value=' leat run -s missing
offers 'pairwise drop reject' leat run -s missing = # of several pipelines
offers 'max_iter=' leat run --set max
offers '' leat run ./
offers 'dem' leat generate d
offers 'bash' leat completion b

# zsh has the words whole.
[ "$("$LEAT" --complete run --backend=c)" = "--backend=cpu
--backend=cuda" ] || fail "zsh: $("$LEAT" --complete run --backend=c)"
[ "$("$LEAT" --complete run -s series=r)" = series=rows ] || fail "zsh: $("$LEAT" --complete run -s series=r)"
[ "$("$LEAT" --complete run --set=series=r)" = --set=series=rows ] || fail "zsh: $("$LEAT" --complete run --set=series=r)"
"$LEAT" completion zsh | head -n 1 | grep -qx '#compdef leat' || fail "no script for zsh"
if command -v zsh >/dev/null; then
    "$LEAT" completion zsh >_leat && zsh -n _leat || fail "zsh does not read its script"
fi
expect 2 "$LEAT" completion fish
says "'fish' is not bash or zsh"
expect 2 "$LEAT" completion
echo "commands, options, their values, pipelines, parameters"
