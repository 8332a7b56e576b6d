_svc() {
  local text word head= at count=0 words
  COMPREPLY=() words=()
  # bash ends a word at a colon and at an equals sign: tag:lab and --on=lab are one each.
  for (( at = 1; at <= COMP_CWORD; at++ )); do
    word=${COMP_WORDS[at]}
    if [[ ( $word == [:=]* || $head ) && $count -gt 0 ]]; then words[count-1]+=$word; else words[count++]=$word; fi
    if [[ $word == *[:=] ]]; then head=1; else head=; fi
  done
  word=${words[count-1]}
  # What stands before the last of them is there already.
  head=${word%"${word##*[:=]}"}
  while IFS=$'\t' read -r text _; do COMPREPLY+=("${text#"$head"}"); done \
    < <(svc complete "${words[@]}" 2>/dev/null)
}
complete -o default -F _svc svc
