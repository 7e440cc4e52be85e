# bash completion for tidemark. All that it knows it asks tidemark for, which reads its own --help.

_tidemark() {
    local words=() starts=() i word kind line prefix

    # bash takes words apart at = and :, which options and names of functions contain.
    for ((i = 1; i <= COMP_CWORD; i++)); do
        word=${COMP_WORDS[i]}
        if ((${#words[@]})) && [[ $word == [=:]* || ${COMP_WORDS[i - 1]} == *[=:] ]]; then
            prefix=${words[-1]}
            words[-1]+=$word
            [[ $word == [=:]* ]] && prefix+=$word
        else
            prefix=
            words+=("$word")
            starts+=("$i")
        fi
    done

    COMPREPLY=()
    while IFS= read -r line; do
        if [[ -z $kind ]]; then
            kind=$line
            continue
        fi
        line=${line%%$'\t'*}
        printf -v line %q "${line:${#prefix}}"
        COMPREPLY+=("${line//\\=/=}")
    done < <("${COMP_WORDS[0]}" __complete "${words[@]}" 2>/dev/null)

    case $kind in
    program*)
        i=${starts[${kind#program }]}
        if declare -F _command_offset >/dev/null; then
            _command_offset "$i"
        elif ((i == COMP_CWORD)); then
            mapfile -t COMPREPLY < <(compgen -c -- "${COMP_WORDS[COMP_CWORD]}")
        fi
        ;;
    words) compopt +o default +o bashdefault 2>/dev/null ;;
    esac
}

# With nothing offered, bash completes names of files.
complete -o bashdefault -o default -F _tidemark tidemark
