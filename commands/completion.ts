/**
 * Not an operation: the script is for the shell that runs svc, and no other surface has a use for it.
 */
import * as v from "valibot";
import { scripts } from "../src/cli/completion";
import { writeOut } from "../src/cli/output";
import { subcommand } from "../src/cli/subcommand";
import { field } from "../src/core/fields";

export default subcommand({
  describe: "Print a shell completion script",
  desk: "ignores",
  input: v.strictObject({
    shell: field(v.picklist(["bash", "zsh", "fish", "powershell"]), "The shell that runs the script"),
  }),
  positionals: ["shell"],
  async run({ shell }) {
    writeOut(scripts[shell]);
    return 0;
  },
  examples: [
    ["source <(svc completion bash)", "This shell; add to ~/.bashrc for all"],
    ["svc completion zsh > ~/.zfunc/_svc", "For zsh, in a folder of its fpath"],
    ["svc completion fish > ~/.config/fish/completions/svc.fish", "For fish"],
    ["svc completion powershell >> $PROFILE", "For PowerShell"],
  ],
});
