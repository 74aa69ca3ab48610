class Pte < Formula
  desc "Inspect, verify, edit and convert ExecuTorch's .pte and .ptd files"
  homepage "{repository}"
  version "{version}"
  license any_of: ["Apache-2.0", "MIT"]

  on_macos do
    on_arm do
      url "{repository}/releases/download/v{version}/pte-aarch64-apple-darwin.tar.gz"
      sha256 "{sha256:pte-aarch64-apple-darwin.tar.gz}"
    end
    on_intel do
      url "{repository}/releases/download/v{version}/pte-x86_64-apple-darwin.tar.gz"
      sha256 "{sha256:pte-x86_64-apple-darwin.tar.gz}"
    end
  end

  on_linux do
    on_arm do
      url "{repository}/releases/download/v{version}/pte-aarch64-unknown-linux-musl.tar.gz"
      sha256 "{sha256:pte-aarch64-unknown-linux-musl.tar.gz}"
    end
    on_intel do
      url "{repository}/releases/download/v{version}/pte-x86_64-unknown-linux-musl.tar.gz"
      sha256 "{sha256:pte-x86_64-unknown-linux-musl.tar.gz}"
    end
  end

  def install
    bin.install "pte"
    man1.install Dir["man/*.1"]
    bash_completion.install "completions/pte.bash" => "pte"
    fish_completion.install "completions/pte.fish"
    zsh_completion.install "completions/pte.zsh" => "_pte"
  end

  test do
    assert_match version.to_s, shell_output("#{bin}/pte --version")
  end
end
