#!/bin/sh
# Installs frostline from a release, without Rust: takes the archive for this machine, compares its checksum, and unpacks it.
#
#   sh install.sh [--from FOLDER_OR_URL] [--prefix FOLDER]
#
# --from is a folder or an address with archives and SHA256SUMS [default: $FROSTLINE_FROM, else the folder of this script].
# --prefix gets bin/frostline, manual pages and completions [default: $FROSTLINE_PREFIX, else ~/.local].
set -eu

fail() {
  echo "error: $1" >&2
  exit 1
}

from=${FROSTLINE_FROM:-$(dirname "$0")}
prefix=${FROSTLINE_PREFIX:-${HOME:+$HOME/.local}}
while [ $# -gt 0 ]; do
  case $1 in
    --from | --prefix) [ $# -gt 1 ] || fail "$1 needs a value; see the first lines of this script" ;;
  esac
  case $1 in
    --from) from=$2 && shift 2 ;;
    --prefix) prefix=$2 && shift 2 ;;
    -h | --help) sed -n '2,7s/^# \{0,1\}//p' "$0" && exit 0 ;;
    *) fail "unknown argument $1; the arguments are --from FOLDER_OR_URL and --prefix FOLDER" ;;
  esac
done
[ -n "$prefix" ] || fail "HOME is not set; name a folder with --prefix"

from_source="install Rust and run \`cargo install --path crates/frostline --locked\` in the sources"
system=$(uname -s) machine=$(uname -m)
case $system in
  Linux) ;;
  MINGW* | MSYS* | CYGWIN* | Windows*) fail "this is Windows; unpack the archive that ends with .zip, and start frostline.exe" ;;
  *) fail "there is no archive for $system; $from_source" ;;
esac
case $machine in
  x86_64 | amd64) triple=x86_64-unknown-linux-gnu ;;
  aarch64 | arm64) triple=aarch64-unknown-linux-gnu ;;
  *) fail "there is no archive for Linux on $machine; $from_source" ;;
esac
# The programs need glibc 2.17; systems with musl have none.
libc=$(getconf GNU_LIBC_VERSION 2>/dev/null) || fail "this system has no glibc, which the archives need; $from_source"
version=${libc#glibc }
major=${version%%.*} minor=${version#*.}
minor=${minor%%.*}
[ "$major" -gt 2 ] || { [ "$major" -eq 2 ] && [ "$minor" -ge 17 ]; } ||
  fail "this system has $libc, but the archives need 2.17 or newer; $from_source"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM

# get NAME: brings a file of the release into the working folder.
get() {
  case $from in
    https://* | http://localhost[:/]* | http://127.0.0.1[:/]*)
      if command -v curl >/dev/null; then
        curl --fail --silent --show-error --location --output "$work/$1" "${from%/}/$1"
      elif command -v wget >/dev/null; then
        wget --quiet --output-document="$work/$1" "${from%/}/$1"
      else
        fail "neither curl nor wget is here; download the release and name its folder with --from"
      fi || fail "${from%/}/$1 cannot be downloaded"
      ;;
    http://*) fail "$from is not encrypted; use https, or download the release and name its folder with --from" ;;
    *)
      [ -f "$from/$1" ] || fail "$from has no $1; name the folder or the address of a release with --from"
      cp "$from/$1" "$work/$1"
      ;;
  esac
}

get SHA256SUMS
archive=$(sed -n "s/^[0-9a-f]\{64\}  \(frostline-[^ /]*-$triple\.tar\.gz\)\$/\1/p" "$work/SHA256SUMS")
case $archive in
  '') fail "this release has no archive for $triple; its SHA256SUMS lists none" ;;
  *'
'*) fail "this release has several archives for $triple; keep one of them:
$archive" ;;
esac
get "$archive"
wanted=$(sed -n "s/^\([0-9a-f]\{64\}\)  $archive\$/\1/p" "$work/SHA256SUMS")
if command -v sha256sum >/dev/null; then
  found=$(sha256sum "$work/$archive")
elif command -v shasum >/dev/null; then
  found=$(shasum -a 256 "$work/$archive")
else
  fail "neither sha256sum nor shasum is here, so the archive cannot be checked"
fi
found=${found%% *}
[ "$found" = "$wanted" ] || fail "$archive is damaged: its SHA-256 is $found, but SHA256SUMS has $wanted; download it again"

tar -xzf "$work/$archive" -C "$work"
unpacked=$work/${archive%.tar.gz}
"$unpacked/frostline" --version >"$work/version" || fail "the program in $archive does not start on this machine"

# place FILE FOLDER: gives a file its place at once, so that a running program keeps its own.
place() {
  mkdir -p "$2"
  cp "$1" "$2/.$(basename "$1").$$" && mv -f "$2/.$(basename "$1").$$" "$2/$(basename "$1")"
}
for page in "$unpacked"/man/*.1; do
  place "$page" "$prefix/share/man/man1"
done
mv "$unpacked/completions/frostline.bash" "$unpacked/completions/frostline"
place "$unpacked/completions/frostline" "$prefix/share/bash-completion/completions"
place "$unpacked/completions/_frostline" "$prefix/share/zsh/site-functions"
place "$unpacked/completions/frostline.fish" "$prefix/share/fish/vendor_completions.d"
place "$unpacked/frostline" "$prefix/bin"
echo "installed $(sed 1q "$work/version") as $prefix/bin/frostline"
case :$PATH: in
  *":$prefix/bin:"*) ;;
  *) echo "$prefix/bin is not on the search path; add it: export PATH=\"$prefix/bin:\$PATH\"" ;;
esac
