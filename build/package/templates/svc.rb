# Not tried: no Homebrew was available; only its addresses and sums were checked.
class Svc < Formula
  desc "Operate a desktop-automation host from afar"
  homepage "https://example.org/svc"
  version "{{version}}"
  license "MIT"

  on_macos do
    on_arm do
      url "{{darwin_arm64_url}}"
      sha256 "{{darwin_arm64_sha256}}"
    end
    on_intel do
      url "{{darwin_x64_url}}"
      sha256 "{{darwin_x64_sha256}}"
    end
  end

  on_linux do
    on_arm do
      url "{{linux_arm64_url}}"
      sha256 "{{linux_arm64_sha256}}"
    end
    on_intel do
      url "{{linux_x64_url}}"
      sha256 "{{linux_x64_sha256}}"
    end
  end

  def install
    bin.install "svc"
    man1.install Dir["man/man1/*.1"]
    bash_completion.install "completions/svc.bash" => "svc"
    zsh_completion.install "completions/svc.zsh" => "_svc"
    fish_completion.install "completions/svc.fish"
  end

  service do
    run [opt_bin/"svc", "serve"]
    keep_alive true
  end

  test do
    assert_match version.to_s, shell_output("#{bin}/svc --version")
  end
end
