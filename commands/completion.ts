import { command } from "../src/cli/command";
import { scripts } from "../src/cli/completion";

const SHELLS = ["bash", "zsh", "fish", "powershell"] as const;

export default command({
  builder: (argv) =>
    argv
      .positional("shell", { choices: SHELLS, demandOption: true, describe: "Whose script to print" })
      .example("source <($0 completion bash)", "For this shell; in ~/.bashrc for all")
      .example("$0 completion zsh > ~/.zfunc/_svc", "For zsh, in a folder of its fpath")
      .example("$0 completion fish > ~/.config/fish/completions/svc.fish", "For fish")
      .example("$0 completion powershell >> $PROFILE", "For PowerShell"),
  async handler(flags) {
    process.stdout.write(scripts[flags.shell]);
    return 0;
  },
});
