# fish completion for tidemark. All that it knows it asks tidemark for, which reads its own --help.

function __tidemark_complete
    set -l words (commandline -opc) (commandline -ct)
    set -l lines (command $words[1] __complete $words[2..-1] 2>/dev/null)
    switch "$lines[1]"
        case words
            printf '%s\n' $lines[2..-1]
        case files
            __fish_complete_path (commandline -ct)
        case 'program *'
            set -l first (math (string replace 'program ' '' -- $lines[1]) + 2)
            complete -C (string join ' ' -- $words[$first..-1])
    end
end

complete -c tidemark -f -a '(__tidemark_complete)'
