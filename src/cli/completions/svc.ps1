Register-ArgumentCompleter -Native -CommandName svc -ScriptBlock {
  param($word, $ast, $position)
  $before = $ast.CommandElements | Where-Object { $_.Extent.StartOffset -lt $position }
  $words = @($before | Select-Object -Skip 1 | ForEach-Object { "$_" })
  if ($word -eq '') { $words += ' ' }
  svc complete @words 2>$null | ForEach-Object {
    $text, $description = $_ -split "`t", 2
    if (-not $description) { $description = $text }
    [System.Management.Automation.CompletionResult]::new($text, $text, 'ParameterValue', $description)
  }
}
