#compdef svc
_svc() {
  local -a found
  local text description
  while IFS=$'\t' read -r text description; do
    found+=("${text//:/\\:}${description:+:$description}")
  done < <(svc complete "${(@)words[2,CURRENT]}" 2>/dev/null)
  if (( $#found )); then _describe svc found; else _files; fi
}
if [ "$funcstack[1]" = "_svc" ]; then _svc "$@"; else compdef _svc svc; fi
