# packaging/: recipes for other package managers parse, and agree with the version, targets and packages of the project.
. tests/check.sh
version=$(sed -n 's/^#define IG_VERSION_[A-Z]* *//p' include/ingot/base.h | paste -sd.)

# Every version number of the project in a recipe is this one.
agrees() {
    local found
    found=$(grep -oE '(ingot[-_:]|libingot0_|python3-ingot_|version = "|version=")[0-9]+\.[0-9]+\.[0-9]+' "$1" | grep -oE '[0-9]+\.[0-9]+\.[0-9]+' | sort -u)
    echo "found: $found"
    [ "$found" = "$version" ]
}
for file in packaging/ingot.rb packaging/conda/meta.yaml packaging/Containerfile; do
    check "$file: the version" agrees $file
done

# Targets that the recipes make are in the Makefile.
targets() {
    local target
    for target in $(cat packaging/ingot.rb packaging/conda/meta.yaml packaging/Containerfile | grep -v '^ *#' | tr -d '",' |
        grep -oE '(^|[^a-z.-])make( [a-z]+)+' | sed 's/.*make//' | tr ' ' '\n' | sort -u); do
        echo "$target"
        grep -qE "^$target:" Makefile || return 1
    done
    [ -n "${target:-}" ]
}
check 'the Makefile has what the recipes make' targets

# The formula, with stand-ins for Homebrew: its class body and install run.
formula() {
    ruby -wc packaging/ingot.rb && ruby - "$version" <<'RUBY'
class Formula
  FIELDS = {}
  def self.method_missing(name, *arguments, &block) = FIELDS[name] = block || arguments.first
  def self.respond_to_missing?(*) = true
  def self.test(&block) = FIELDS[:test] = block
  def prefix = "/prefix"
  def system(*words) = FIELDS[:system] = words
end
load "packaging/ingot.rb"
Ingot.new.install
fields = Formula::FIELDS
missing = %i[desc homepage url sha256 license test] - fields.keys
abort "missing: #{missing}" unless missing.empty?
abort "desc" unless fields[:desc].length <= 80 && fields[:desc] !~ /\.\z|\A(An?|The) /
abort "sha256" unless fields[:sha256] =~ /\A\h{64}\z/
abort "url" unless fields[:url].end_with?("/ingot-#{ARGV[0]}.tar.gz")
abort "install" unless fields[:system] == %w[make install PREFIX=/prefix]
RUBY
}
# The conda recipe as YAML, with its templates replaced.
conda() {
    ruby -ryaml - "$version" <<'RUBY'
text = File.read("packaging/conda/meta.yaml")
text = text.gsub(/\{%.*?%\}/, "").gsub(/\{\{ version \}\}/, ARGV[0]).gsub(/\{\{ compiler\("c"\) \}\}/, "cc")
recipe = YAML.safe_load(text)
missing = %w[package source build requirements test about] - recipe.keys
abort "missing: #{missing}" unless missing.empty?
abort "package" unless recipe["package"] == { "name" => "ingot", "version" => ARGV[0] }
abort "templates are left" if text.include?("{{")
top = File.expand_path(recipe["source"]["path"], "packaging/conda")
abort "source" unless top == Dir.pwd
abort "license" unless File.file?(File.join(top, recipe["about"]["license_file"]))
needed = File.read("pyproject.toml")[/requires-python = "(.*)"/, 1]
abort "python" unless %w[host run].all? { |key| recipe["requirements"][key].include?("python #{needed}") }
RUBY
}
if command -v ruby >/dev/null; then
    check 'packaging/ingot.rb is a formula' formula
    check 'packaging/conda/meta.yaml is a recipe' conda
else
    skip 'packaging/ingot.rb and meta.yaml' 'ruby is not there'
fi

# The Containerfile: known instructions, images with registry and tag, packages that make deb writes.
containerfile() {
    python3 - <<'PYTHON'
import re
known = {"FROM", "RUN", "COPY", "WORKDIR", "LABEL", "USER", "ENTRYPOINT", "CMD", "ENV", "ARG"}
with open("packaging/Containerfile") as file:
    text = re.sub(r"^#.*\n", "", file.read(), flags=re.M)
lines = [line for line in text.replace("\\\n", " ").splitlines() if line.strip()]
words = [line.split() for line in lines]
assert not {w[0] for w in words} - known, words
images = [w[1] for w in words if w[0] == "FROM"]
assert images and all(re.fullmatch(r"[\w.]+/\w+/\w+:[\w.-]+", image) for image in images), images
assert words[0][0] == "FROM" and words[-2][0] == "ENTRYPOINT"
assert any(w[0] == "USER" and w[1] != "root" for w in words)
stages = {w[3] for w in words if w[0] == "FROM" and len(w) > 3}
assert all(m in stages for m in re.findall(r"--from=(\w+)", text))
for line in lines:
    if "apt-get install" in line:
        assert "--no-install-recommends" in line and "rm -rf /var/lib/apt/lists/*" in line, line
with open("tools/package/deb") as file:
    made = file.read()
for package in re.findall(r"/tmp/deb/([\w-]+?)\d?_", text):
    assert re.search(rf"\b{package}\b", made), package
PYTHON
}
check 'packaging/Containerfile' containerfile
finish
