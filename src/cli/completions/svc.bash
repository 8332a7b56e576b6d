_svc() {
  local text
  COMPREPLY=()
  while IFS=$'\t' read -r text _; do COMPREPLY+=("$text"); done \
    < <(svc complete "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
}
complete -o default -F _svc svc
